// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// TestHexWordHasOnlyDigits tries every byte at every place among digits.
func TestHexWordHasOnlyDigits(t *testing.T) {
	for _, digits := range []string{"00000000", "99999999", "aaaaaaaa", "ffffffff", "09afc3b7"} {
		for place := range 8 {
			for c := range 256 {
				text := []byte(digits)
				text[place] = byte(c)
				if got, want := isHexWord(word(text, 0)), nibbles[c] != notHex; got != want {
					t.Errorf("%q counts as digits: %v, want %v", text, got, want)
				}
			}
		}
	}
}

func TestHexLiteralIsHexadecimal(t *testing.T) {
	for _, text := range []string{"", "0123456789abcdef", "fedcba98", "deadbeef00ff", "a1b2c3d4e5f60718293a4b5c6d7e8f90aabb"} {
		want, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendHex(nil, []byte(text), nil); !bytes.Equal(got, want) {
			t.Errorf("%s became %x", text, got)
		}
		if run := hexPrefix([]byte(text+"-"), nil); run != (hexRun{len(text), len(text)}) {
			t.Errorf("the prefix of %s has %d bytes and %d digits", text, run.length, run.count)
		}
	}
}
