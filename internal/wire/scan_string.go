// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// scanString continues in a string. It returns true if b ends before the string does.
func (s *scanner) scanString(b []byte) (more bool, err error) {
	i := s.i
	for {
		i = indexSpecial(b, i)
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
			return false, fmt.Errorf("control character %#x in string", c)
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

// endString is called after a string. end is the index of its closing quote.
func (s *scanner) endString(b []byte, end int) {
	if s.state == inString {
		s.endValue(b)
		return
	}
	if s.members.watching(s.depth) {
		s.members.name(b[s.stringStart:end], s.escaped, s.depth)
	}
	s.state = wantColon
	if s.i < len(b) && b[s.i] == ':' {
		s.i++
		s.state = wantValue
	}
}

// indexSpecial returns the index of the first quote, backslash or control character from i, or
// len(b). It tests eight bytes at a time. Subtracting x from a byte below x sets the byte's high
// bit and borrows from the bytes above it, so only the lowest hit is reliable.
func indexSpecial(b []byte, i int) int {
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

var errEscape = errors.New("invalid escape sequence")

// escape returns the length of the escape sequence at the beginning of b, or 0 if it is incomplete.
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
