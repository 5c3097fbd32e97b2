package wire

// sprint goes on in b through what servers write nearly always: strings without
// escapes, integers, literals, no white space, and all of it there. It stops,
// between two tokens, at anything else, which is left to step. So it knows
// neither errors nor how to be resumed, and takes half the time.
//
// It keeps away from where members are watched. It is as long as it is because
// calls would be what takes the time.
func (s *scanner) sprint(b []byte) {
	if s.depth == 0 || s.state >= inString || s.members.watching(s.depth) {
		return
	}
	i, state, object := s.i, s.state, s.inObject()
	for i < len(b) {
		end := 0 // of the token at i
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
			quote := plainText(b, i+1)
			switch {
			case quote+1 >= len(b) || b[quote] != '"':
			case state == wantValue || state == wantFirst:
				end, state = quote+1, wantNext
			case (state == wantName || state == wantFirstName) && b[quote+1] == ':':
				end, state = quote+2, wantValue
			}
		case c == '{' || c == '[':
			if state != wantValue && state != wantFirst || s.depth+s.outer >= maxDepth {
				break
			}
			object = c == '{'
			s.push(object)
			end, state = i+1, wantFirst
			if object {
				state = wantFirstName
			}
		case c == '}' || c == ']':
			if !s.mayClose(c, state, object) {
				break
			}
			s.depth--
			end, state, object = i+1, wantNext, s.inObject()
		case state == wantValue || state == wantFirst:
			if end = plainScalar(b, i); end != 0 {
				state = wantNext
			}
		}
		if end == 0 {
			break
		}
		i = end
	}
	s.i, s.state = i, state
}

// mayClose tells whether sprint may take c as the end of the innermost array or
// object: it is, and what lies around is not watched.
func (s *scanner) mayClose(c byte, state state, object bool) bool {
	if s.depth == 1 || s.members.watching(s.depth-1) {
		return false
	}
	if object {
		return c == '}' && (state == wantNext || state == wantFirstName)
	}
	return c == ']' && (state == wantNext || state == wantFirst)
}

// plainScalar returns the end of the integer or literal at i, 0 if it is another
// thing or b may end before it does.
func plainScalar(b []byte, i int) int {
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

// literalEnd returns the end of literal, 0 if it is not at i.
func literalEnd(b []byte, i int, literal string) int {
	end := i + len(literal)
	if end > len(b) || string(b[i:end]) != literal {
		return 0
	}
	return end
}
