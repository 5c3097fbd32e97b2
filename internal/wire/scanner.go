package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxDepth is how deep values may be nested: what encoding/json allows.
const maxDepth = 10000

var errDepth = fmt.Errorf("nested deeper than %d", maxDepth)

// state is what a scanner expects next.
type state uint8

const (
	wantValue     state = iota // any value
	wantFirst                  // a value or ']'
	wantFirstName              // the name of a member or '}'
	wantName                   // the name of a member
	wantColon                  // ':'
	wantNext                   // ',' or what closes the array or object
	inString                   // a string goes on, from scanner.text
	inName                     // the same, of a member's name
	inNumber                   // a number goes on
)

// scanner finds the end of a JSON value and checks every byte of it on the way. It can be stopped at any byte and resumed when there are more:
// what it has to know is in it, no byte is looked at twice (the few of a
// literal or escape that were cut apart excepted).
//
// Beside that it notes the members that say what the object is.
type scanner struct {
	state   state
	number  numberState // if inNumber
	escaped bool        // the string begun has a backslash
	i       int         // the next byte to look at
	text    int         // where the string begun starts, behind its quote
	depth   int         // open arrays and objects
	outer   int         // how deep the value itself lies
	objects [maxDepth/64 + 1]uint64

	members members
}

// start makes s ready for a value which lies outer levels deep in its document,
// and is of the given sort.
func (s *scanner) start(outer int, sort scope) {
	s.state, s.i, s.depth, s.outer = wantValue, 0, 0, outer
	s.members.start(sort)
}

// done tells whether an array or object has been scanned to its end.
func (s *scanner) done() bool { return s.depth == 0 && s.state == wantNext }

// scan goes on in b, which begins where the value does and has grown since the
// call before. It returns true when the value is complete: it ends before s.i.
// A number is complete only when something follows it.
func (s *scanner) scan(b []byte) (done bool, err error) {
	for s.i < len(b) {
		s.sprint(b)
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

// step reads white space, a token or a part of one. It returns true if b ends
// too early for that.
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

// scanToken reads the token, or the beginning of the string or number, that
// begins with c. It returns true if b ends too early to tell.
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

// scanNext reads what may follow a value.
func (s *scanner) scanNext(b []byte, c byte) error {
	object := s.inObject()
	switch {
	case c == ',' && object:
		s.i, s.state = s.i+1, wantName
		// No white space, as servers write: save the step to the name.
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
		return unexpected(c, "the name of a member")
	}
	s.openString(inName)
	return nil
}

// openString goes into the string that begins at s.i.
func (s *scanner) openString(in state) {
	s.i++
	s.state, s.text, s.escaped = in, s.i, false
}

// scanValue reads a value that is not part of another, or begins it.
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
	s.state, s.number = inNumber, numberStart
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
	if s.depth+s.outer >= maxDepth {
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

// push remembers what is open.
func (s *scanner) push(object bool) {
	bit := uint64(1) << (s.depth & 63)
	if object {
		s.objects[s.depth>>6] |= bit
	} else {
		s.objects[s.depth>>6] &^= bit
	}
	s.depth++
}

// close ends an array or object, of which the caller has seen the right end.
func (s *scanner) close(b []byte) {
	s.depth--
	s.i++
	s.endValue(b)
}

// endValue is called behind every value.
func (s *scanner) endValue(b []byte) {
	s.state = wantNext
	if s.members.watching(s.depth) {
		s.members.end(b, s.depth, s.i)
	}
}

// inObject tells whether the innermost open value is an object.
func (s *scanner) inObject() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 != 0
}

// scanString goes on in a string. It returns true if b ends before it does.
func (s *scanner) scanString(b []byte) (more bool, err error) {
	i := s.i
	for {
		i = plainText(b, i)
		if i == len(b) {
			s.i = i
			return true, nil
		}
		switch c := b[i]; {
		case c == '"':
			s.i = i + 1
			s.endString(b, i)
			return false, nil
		case c != '\\':
			s.i = i
			return false, fmt.Errorf("control character %#x in a string", c)
		}
		s.escaped = true
		n, err := escape(b[i:])
		if n == 0 || err != nil {
			s.i = i
			return true, err
		}
		i += n
	}
}

// endString is called behind a string, of which end is the closing quote.
func (s *scanner) endString(b []byte, end int) {
	if s.state == inString {
		s.endValue(b)
		return
	}
	if s.members.watching(s.depth) {
		s.members.name(b[s.text:end], s.escaped, s.depth)
	}
	s.state = wantColon
	if s.i < len(b) && b[s.i] == ':' {
		s.i++
		s.state = wantValue
	}
}

// plainText returns the index of the first byte, from i, that is not plain text
// of a string: a quote, a backslash or a control character. It looks at eight
// bytes at a time. A byte below x borrows from the bit above it when x is taken
// off, so the lowest of the bits that come out is a hit for sure.
func plainText(b []byte, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		v := binary.LittleEndian.Uint64(b[i:])
		quote, slash := v^ones*'"', v^ones*'\\'
		hits := ((v-ones*' ')&^v | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' {
			break
		}
	}
	return i
}

var errEscape = errors.New("an escape that JSON does not know")

// escape returns the length of the escape sequence at the beginning of b, 0 if
// b ends before it does.
func escape(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, nil
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, errEscape
	}
	for i := 2; i < 6; i++ {
		if i == len(b) {
			return 0, nil
		}
		if !isHex(b[i]) {
			return 0, errEscape
		}
	}
	return 6, nil
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// unexpected is the error of a byte that cannot stand where it does.
func unexpected(c byte, expected string) error {
	return fmt.Errorf("%q where %s was expected", c, expected)
}
