package pack

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

// hexPrefix returns the length of the longest prefix of text that can be a hexadecimal literal, and
// how many digits it has.
func hexPrefix(text, template []byte) (length, count int) {
	for i, c := range text {
		switch {
		case template != nil && nibbles[template[i]] == notHex:
			if template[i] != c {
				return i, count
			}
		case nibbles[c] == notHex:
			return i, count
		default:
			count++
		}
	}
	return len(text), count
}

// appendHex appends text as a hexadecimal literal. hexPrefix must cover all of text.
func appendHex(dst, text, template []byte) []byte {
	half, high := byte(0), true
	for i, c := range text {
		if template != nil && nibbles[template[i]] == notHex {
			continue
		}
		if high {
			half = nibbles[c] << 4
		} else {
			dst = append(dst, half|nibbles[c])
		}
		high = !high
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
