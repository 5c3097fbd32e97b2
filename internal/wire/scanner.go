// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "fmt"

// maxDepth is the maximum nesting depth, the same as in encoding/json.
const maxDepth = 10000

var errDepth = fmt.Errorf("nested deeper than %d levels", maxDepth)

// state is what the scanner expects next.
type state uint8

const (
	wantValue     state = iota // any value
	wantFirst                  // a value or ']'
	wantFirstName              // a member name or '}'
	wantName                   // a member name
	wantColon                  // ':'
	wantNext                   // ',' or the end of the array or object
	inString                   // the rest of a string
	inName                     // the rest of a member name
	inNumber                   // the rest of a number
)

// scanner finds the end of a JSON value, validates it, and records the positions of its members. It
// can pause at any byte and resume when more input is available. It reads no byte twice, except in
// a literal or escape that was incomplete.
type scanner struct {
	state       state
	number      numberState             // if inNumber
	escaped     bool                    // the current string contains a backslash
	i           int                     // index of the next byte
	stringStart int                     // index of the current string, after its quote
	numberAt    int                     // index of the current number
	depth       int                     // number of open arrays and objects
	outerDepth  int                     // depth of the value in its document
	objects     [maxDepth/64 + 1]uint64 // bit d is set if the open value at depth d is an object

	members members
}

// start resets s for a value of the given level, at outerDepth in its document.
func (s *scanner) start(outerDepth int, level objectLevel) {
	s.state, s.i, s.depth, s.outerDepth = wantValue, 0, 0, outerDepth
	s.members.start(level)
}

// done reports whether the value is complete.
func (s *scanner) done() bool { return s.depth == 0 && s.state == wantNext }

// scan continues in b, which begins at the value and has grown since the previous call. It returns
// true when the value is complete, and ends at s.i. A number is complete only when something
// follows.
func (s *scanner) scan(b []byte) (done bool, err error) {
	for s.i < len(b) {
		s.scanFast(b)
		if s.i == len(b) {
			break
		}
		more, err := s.step(b)
		if more || err != nil {
			return false, err
		}
		if s.done() {
			return true, nil
		}
	}
	return false, nil
}

// step reads white space, a token or a part of one. It returns true if it needs more input.
func (s *scanner) step(b []byte) (more bool, err error) {
	switch s.state {
	case inString, inName:
		return s.scanString(b)
	case inNumber:
		return s.scanNumber(b)
	}
	switch c := b[s.i]; c {
	case ' ', '\n', '\t', '\r':
		s.i++
		return false, nil
	default:
		return s.scanToken(b, c)
	}
}

// scanToken reads the token that begins with c, or the beginning of a string or number. It returns
// true if it needs more input.
func (s *scanner) scanToken(b []byte, c byte) (more bool, err error) {
	switch s.state {
	case wantValue:
		return s.scanValue(b, c)
	case wantFirst:
		if c == ']' {
			s.close(b)
			return false, nil
		}
		return s.scanValue(b, c)
	case wantFirstName:
		if c == '}' {
			s.close(b)
			return false, nil
		}
		return false, s.openName(c)
	case wantName:
		return false, s.openName(c)
	case wantColon:
		if c != ':' {
			return false, unexpected(c, "':'")
		}
		s.i, s.state = s.i+1, wantValue
		return false, nil
	}
	return false, s.scanNext(b, c)
}

// scanNext reads the token c after a value.
func (s *scanner) scanNext(b []byte, c byte) error {
	object := s.inObject()
	switch {
	case c == ',' && object:
		s.i, s.state = s.i+1, wantName
		// Servers write no white space here: save the step to the name.
		if s.i < len(b) && b[s.i] == '"' {
			s.openString(inName)
		}
	case c == ',':
		s.i, s.state = s.i+1, wantValue
	case c == '}' && object, c == ']' && !object:
		s.close(b)
	case object:
		return unexpected(c, "',' or '}'")
	default:
		return unexpected(c, "',' or ']'")
	}
	return nil
}

func (s *scanner) openName(c byte) error {
	if c != '"' {
		return unexpected(c, "a member name")
	}
	s.openString(inName)
	return nil
}

// openString enters the string that begins at s.i.
func (s *scanner) openString(in state) {
	s.i++
	s.state, s.stringStart, s.escaped = in, s.i, false
}

// scanValue reads a literal, or the beginning of another value.
func (s *scanner) scanValue(b []byte, c byte) (more bool, err error) {
	if s.members.watching(s.depth) {
		s.members.begin(s.depth, s.i)
	}
	switch c {
	case '"':
		s.openString(inString)
		return false, nil
	case '{', '[':
		return false, s.open(c == '{')
	case 't':
		return s.scanLiteral(b, "true")
	case 'f':
		return s.scanLiteral(b, "false")
	case 'n':
		return s.scanLiteral(b, "null")
	}
	if c != '-' && (c < '0' || c > '9') {
		return false, unexpected(c, "a value")
	}
	s.state, s.number, s.numberAt = inNumber, numberStart, s.i
	return false, nil
}

func (s *scanner) scanLiteral(b []byte, literal string) (more bool, err error) {
	rest := b[s.i:]
	for i := range len(literal) {
		if i == len(rest) {
			return true, nil
		}
		if rest[i] != literal[i] {
			s.i += i
			return false, unexpected(rest[i], literal)
		}
	}
	s.i += len(literal)
	s.endValue(b)
	return false, nil
}

func (s *scanner) open(object bool) error {
	if s.depth+s.outerDepth >= maxDepth {
		return errDepth
	}
	s.members.open(s.depth, object)
	s.push(object)
	s.state = wantFirst
	if object {
		s.state = wantFirstName
	}
	s.i++
	return nil
}

// push records an opened array or object.
func (s *scanner) push(object bool) {
	bit := uint64(1) << (s.depth & 63)
	if object {
		s.objects[s.depth>>6] |= bit
	} else {
		s.objects[s.depth>>6] &^= bit
	}
	s.depth++
}

// close ends the innermost array or object. The caller has checked the closing byte.
func (s *scanner) close(b []byte) {
	s.depth--
	s.i++
	s.endValue(b)
}

// endValue is called after every value.
func (s *scanner) endValue(b []byte) {
	s.state = wantNext
	if s.members.watching(s.depth) {
		s.members.end(b, s.depth, s.i)
	}
}

// inObject reports whether the innermost open value is an object.
func (s *scanner) inObject() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 != 0
}

// unexpected returns the error for an invalid byte c.
func unexpected(c byte, want string) error {
	return fmt.Errorf("unexpected %q, want %s", c, want)
}
