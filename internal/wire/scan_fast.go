// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// scanFast scans the common tokens of b: strings without escapes, integers and literals, without
// white space. It stops between two tokens at anything else, including errors and incomplete
// tokens, and at depths that members watches; step handles those. That makes it twice as fast as
// step.
//
// It is one long function because calls would dominate its cost.
func (s *scanner) scanFast(b []byte) { //nolint:funlen // one loop over the bytes
	if s.depth == 0 || s.state >= inString || s.members.watching(s.depth) {
		return
	}
	i, state, object := s.i, s.state, s.inObject()
	for i < len(b) {
		end := 0 // end of the token at i
		switch c := b[i]; {
		case c == ',':
			if state != wantNext {
				break
			}
			end, state = i+1, wantValue
			if object {
				state = wantName
			}
		case c == '"':
			quote := indexSpecial(b, i+1)
			switch {
			case quote+1 >= len(b) || b[quote] != '"':
			case state == wantValue || state == wantFirst:
				end, state = quote+1, wantNext
			case (state == wantName || state == wantFirstName) && b[quote+1] == ':':
				end, state = quote+2, wantValue
			}
		case c == '{' || c == '[':
			if state != wantValue && state != wantFirst || s.depth+s.outerDepth >= maxDepth {
				break
			}
			object = c == '{'
			s.push(object)
			end, state = i+1, wantFirst
			if object {
				state = wantFirstName
			}
		case c == '}' || c == ']':
			if !s.canClose(c, state, object) {
				break
			}
			s.depth--
			end, state, object = i+1, wantNext, s.inObject()
		case state == wantValue || state == wantFirst:
			if end = scalarEnd(b, i); end != 0 {
				state = wantNext
				s.members.largeNumber = s.members.largeNumber || end-i > maxSmallNumber
			}
		}
		if end == 0 {
			break
		}
		i = end
	}
	s.i, s.state = i, state
}

// canClose reports whether c ends the innermost array or object and the depth around it is not
// watched.
func (s *scanner) canClose(c byte, state state, object bool) bool {
	if s.depth == 1 || s.members.watching(s.depth-1) {
		return false
	}
	if object {
		return c == '}' && (state == wantNext || state == wantFirstName)
	}
	return c == ']' && (state == wantNext || state == wantFirst)
}

// scalarEnd returns the end of the integer or literal at i. It returns 0 for other values, and if
// the value may continue after b.
func scalarEnd(b []byte, i int) int {
	switch c := b[i]; {
	case c == 't':
		return literalEnd(b, i, "true")
	case c == 'f':
		return literalEnd(b, i, "false")
	case c == 'n':
		return literalEnd(b, i, "null")
	case c < '1' || c > '9':
		return 0
	}
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case '0' <= c && c <= '9':
		case c == ',' || c == '}' || c == ']':
			return i
		default:
			return 0
		}
	}
	return 0
}

// literalEnd returns the end of literal at i, or 0 if b has something else there.
func literalEnd(b []byte, i int, literal string) int {
	end := i + len(literal)
	if end > len(b) || string(b[i:end]) != literal {
		return 0
	}
	return end
}
