// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// readString reads a string. The result aliases the document unless the string has escapes.
func (r *jsonReader) readString() ([]byte, error) {
	start, ascii := r.pos+1, true
	for i := start; i < len(r.raw); i++ {
		switch c := r.raw[i]; {
		case c == '"':
			r.pos = i + 1
			if content := r.raw[start:i]; ascii || utf8.Valid(content) {
				return content, nil
			}
			return nil, errUnsupported
		case c == '\\':
			return r.readEscaped(start - 1)
		case c < ' ':
			return nil, errUnsupported
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, errUnsupported
}

// readEscaped reads a string with escapes, whose opening quote is at start.
func (r *jsonReader) readEscaped(start int) ([]byte, error) {
	for i := start + 1; i < len(r.raw); i++ {
		switch r.raw[i] {
		case '\\':
			i++
		case '"':
			r.pos = i + 1
			var s string
			err := kjson.UnmarshalCaseSensitivePreserveInts(r.raw[start:r.pos], &s)
			return []byte(s), err
		}
	}
	return nil, errUnsupported
}

// readLiteral reads true, false or null.
func (r *jsonReader) readLiteral(literal string) error {
	end := r.pos + len(literal)
	if end > len(r.raw) || string(r.raw[r.pos:end]) != literal {
		return errUnsupported
	}
	r.pos = end
	return nil
}

// readNumber reads a number, with a fast path for short unsigned integers.
func (r *jsonReader) readNumber() (any, error) {
	start := r.pos
	for r.pos < len(r.raw) && isNumberByte(r.raw[r.pos]) {
		r.pos++
	}
	digits := r.raw[start:r.pos]
	if n := len(digits); n == 0 || n > 15 || digits[0] == '0' && n > 1 {
		return r.readOtherNumber(digits)
	}
	v := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return r.readOtherNumber(digits)
		}
		v = 10*v + int64(c-'0')
	}
	return v, nil
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// readOtherNumber decodes a number with apimachinery's decoder.
func (r *jsonReader) readOtherNumber(digits []byte) (number any, err error) {
	if len(digits) == 0 {
		return nil, errUnsupported
	}
	err = kjson.UnmarshalCaseSensitivePreserveInts(digits, &number)
	return number, err
}
