// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// numberState is the state of the scanner in a JSON number, named after the input so far.
type numberState uint8

const (
	numberStart    numberState = iota // nothing
	numberMinus                       // "-"
	numberZero                        // "0"
	numberDigits                      // "12"
	numberPoint                       // "12."
	numberFraction                    // "12.3"
	numberE                           // "12e"
	numberESign                       // "12e-"
	numberExponent                    // "12e-3"
)

// maxSmallNumber is the length of a number without an exponent that every float64 can hold.
const maxSmallNumber = 300

// scanNumber continues in a number. It returns true if b ends before the number does.
func (s *scanner) scanNumber(b []byte) (more bool, err error) {
	for ; s.i < len(b); s.i++ {
		next, ok := s.number.next(b[s.i])
		if !ok && !s.number.complete() {
			return false, unexpected(b[s.i], "a digit")
		}
		if !ok {
			if s.number == numberExponent || s.i-s.numberAt > maxSmallNumber {
				s.members.largeNumber = true
			}
			s.endValue(b)
			return false, nil
		}
		s.number = next
	}
	return true, nil
}

// complete reports whether the input so far is a number.
func (n numberState) complete() bool {
	switch n {
	case numberZero, numberDigits, numberFraction, numberExponent:
		return true
	}
	return false
}

// next returns the state after c, and reports whether c continues the number.
func (n numberState) next(c byte) (numberState, bool) {
	if '0' <= c && c <= '9' {
		return n.digit(c)
	}
	switch {
	case c == '-' && n == numberStart:
		return numberMinus, true
	case c == '.' && (n == numberZero || n == numberDigits):
		return numberPoint, true
	case c|0x20 == 'e' && n != numberExponent && n.complete():
		return numberE, true
	case (c == '-' || c == '+') && n == numberE:
		return numberESign, true
	}
	return n, false
}

// digit is next for a digit.
func (n numberState) digit(c byte) (numberState, bool) {
	switch n {
	case numberStart, numberMinus:
		if c == '0' {
			return numberZero, true
		}
		return numberDigits, true
	case numberZero:
		return n, false
	case numberPoint:
		return numberFraction, true
	case numberE, numberESign:
		return numberExponent, true
	}
	return n, true
}
