// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"encoding/binary"
	"math"
)

// Most of what differs between an object and its base is hexadecimal: UIDs, container IDs, digests.
// A hexadecimal literal takes four bits a digit. The bytes at the cursor in the source serve as a
// template: where the template has no digit (the dashes of a UID, the dots of an address), the
// object has the same byte, which is not written.

// notHex is the nibble of bytes that are not lower-case hexadecimal digits.
const notHex = 0xff

// nibbles has the value of each digit.
var nibbles = func() (table [256]byte) { //nolint:gochecknoglobals // constant
	for i := range table {
		table[i] = notHex
	}
	for i, c := range []byte(digits) {
		table[c] = byte(i)
	}
	return table
}()

const digits = "0123456789abcdef"

// template returns length bytes of source at the cursor, or nil if there are fewer.
func template(source []byte, cursor, length int) []byte {
	if cursor < 0 || cursor > len(source)-length {
		return nil
	}
	return source[cursor : cursor+length]
}

// hexRun is a part of an object that can be a hexadecimal literal: its length and how many digits
// it has.
type hexRun struct{ length, count int }

// hexPrefix returns the longest prefix of text that can be a hexadecimal literal.
func hexPrefix(text, template []byte) hexRun {
	count := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case hasHexWord(text, i) && (template == nil || hasHexWord(template, i)):
			i, count = i+7, count+8
		case template != nil && nibbles[template[i]] == notHex:
			if template[i] != c {
				return hexRun{i, count}
			}
		case nibbles[c] == notHex:
			return hexRun{i, count}
		default:
			count++
		}
	}
	return hexRun{len(text), count}
}

// hasHexWord reports whether eight digits begin at i.
func hasHexWord(text []byte, i int) bool { return i+8 <= len(text) && isHexWord(word(text, i)) }

// isHexWord reports whether the eight bytes of a word are digits. It computes the upper bit of each
// byte, which a sum sets if the byte reaches a limit. No sum of two bytes below 0x80 overflows.
func isHexWord(w uint64) bool {
	const ascii = 0x7f * eachByte
	w0 := w & ascii
	digit := (w0 + (0x80-'0')*eachByte) &^ (w0 + (0x7f-'9')*eachByte)
	letter := (w0 + (0x80-'a')*eachByte) &^ (w0 + (0x7f-'f')*eachByte)
	return (digit|letter)&^w|ascii == math.MaxUint64
}

// packHexWord returns the values of eight digits, two in each byte.
func packHexWord(w uint64) uint32 {
	w = w&(0x0f*eachByte) + w>>6&eachByte*9
	w = (w<<4 | w>>8) & 0x00ff_00ff_00ff_00ff
	w = (w | w>>8) & 0x0000_ffff_0000_ffff
	return uint32(w | w>>16)
}

// appendHex appends text as a hexadecimal literal. hexPrefix must cover all of text.
func appendHex(dst, text, template []byte) []byte {
	half, high := byte(0), true
	for i := 0; i < len(text); i++ {
		switch {
		case high && hasHexWord(text, i) && (template == nil || hasHexWord(template, i)):
			dst = binary.LittleEndian.AppendUint32(dst, packHexWord(word(text, i)))
			i += 7
		case template != nil && nibbles[template[i]] == notHex:
		case high:
			half, high = nibbles[text[i]]<<4, false
		default:
			dst, high = append(dst, half|nibbles[text[i]]), true
		}
	}
	if !high {
		dst = append(dst, half)
	}
	return dst
}

// pairs has both digits of each byte.
var pairs = func() (table [256][2]byte) { //nolint:gochecknoglobals // constant
	for i := range table {
		table[i] = [2]byte{digits[i>>4], digits[i&15]}
	}
	return table
}()

// hexLiteral decodes a hexadecimal literal and advances the cursor.
func (d *decoder) hexLiteral(length int) bool {
	if length > len(d.out)-d.done {
		return false
	}
	template, to := template(d.source, d.cursor, length), d.out[d.done:d.done+length]
	at, high := d.next, true
	for i := 0; i < length; i++ {
		if template != nil && nibbles[template[i]] == notHex {
			to[i] = template[i]
			continue
		}
		if at >= len(d.data) {
			return false
		}
		pair := pairs[d.data[at]]
		switch {
		case !high:
			to[i], high = pair[1], true
			at++
		case i+1 < length && (template == nil || nibbles[template[i+1]] != notHex):
			to[i], to[i+1] = pair[0], pair[1]
			i++
			at++
		default:
			to[i], high = pair[0], false
		}
	}
	if !high {
		at++
	}
	d.next = at
	d.done += length
	d.cursor += length
	return true
}
