// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"errors"
	"unicode"
)

// apimachinery takes hours, and gigabytes of memory, to parse a Quantity with a large negative
// exponent, and time in proportion to the square of the number of digits. Such a Quantity is
// rejected before it is parsed.
const (
	// maxQuantity is the maximum length of a Quantity.
	maxQuantity = 1000
	// maxExponent is the maximum number of digits of a negative exponent.
	maxExponent = 5
)

var errSlowQuantity = errors.New("quantity has too many digits, or too large an exponent")

// isSlowQuantity reports whether an encoded Quantity takes too long to parse.
func isSlowQuantity(b []byte) bool {
	if len(b) <= len("1e-")+maxExponent {
		return false
	}
	for i, c := range b {
		if c == '-' && i > 0 && b[i-1]|0x20 == 'e' && digits(b[i+1:]) > maxExponent {
			return true
		}
	}
	return len(b) > maxQuantity
}

// digits returns the number of digits at the beginning of b.
func digits(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// CheckQuantities returns an error if a document in JSON has a number, or a string that is one,
// which takes too long to parse as a Quantity. A Quantity is parsed with its escapes, if it has
// any, so that they need not be decoded.
func CheckQuantities(raw []byte) error {
	if hasSlowNumber(raw) {
		return errSlowQuantity
	}
	return nil
}

// hasSlowNumber looks at one byte in maxQuantity for numbers of more digits than that.
func hasSlowNumber(raw []byte) bool {
	for i := 0; ; i++ {
		n := bytes.IndexByte(raw[i:], '-')
		if n < 0 {
			break
		}
		if i += n; i > 0 && raw[i-1]|0x20 == 'e' && digits(raw[i+1:]) > maxExponent && isWholeNumber(raw, i) {
			return true
		}
	}
	for i := 0; i < len(raw); i += maxQuantity {
		n := digits(raw[i:])
		if n > 0 && n+digitsBefore(raw[:i]) > maxQuantity && beginsValue(raw[:i+1]) {
			return true
		}
		i += n
	}
	return false
}

func digitsBefore(b []byte) (n int) {
	for n < len(b) && isDigit(b[len(b)-1-n]) {
		n++
	}
	return n
}

// isWholeNumber reports whether the number whose exponent's sign is at i is a whole string or
// value, and no part of another text such as a UUID.
func isWholeNumber(raw []byte, i int) bool {
	if !beginsValue(raw[:i-1]) { // before the e
		return false
	}
	after := bytes.TrimLeftFunc(raw[i+1+digits(raw[i+1:]):], unicode.IsSpace)
	return len(after) > 0 && bytes.IndexByte([]byte(`",]}`), after[0]) >= 0
}

// beginsValue reports whether raw ends with a number at the beginning of a string or value.
// Quantity ignores spaces, those of Unicode, too.
func beginsValue(raw []byte) bool {
	before := bytes.TrimRight(raw, "0123456789.")
	if len(before) == len(raw) {
		return false
	}
	if n := len(before); n > 0 && (before[n-1] == '-' || before[n-1] == '+') {
		before = before[:n-1]
	}
	before = bytes.TrimRightFunc(before, unicode.IsSpace)
	n := len(before)
	return n > 0 && bytes.IndexByte([]byte(`":,[`), before[n-1]) >= 0 && !bytes.HasSuffix(before, []byte(`\"`))
}
