package pack

// What differs between siblings is, for the greater part, hexadecimal: UIDs, IDs
// of containers, digests. In half, each digit takes four bits. Where the source
// has no digit at the cursor (the dashes of a UID, the dots of an address) the
// object has the same byte, and it takes none.

// notHex is the nibble of what is no digit of a hexadecimal number in lower case.
const notHex = 0xff

// nibbles has the value of each digit.
var nibbles = func() (table [256]byte) { //nolint:gochecknoglobals // a constant that the language cannot say
	for i := range table {
		table[i] = notHex
	}
	for i, c := range []byte(digits) {
		table[c] = byte(i)
	}
	return table
}()

const digits = "0123456789abcdef"

// template returns the source at the cursor where it has a byte for each of a
// literal's, and otherwise nothing.
func template(source []byte, cursor, length int) []byte {
	if cursor < 0 || cursor > len(source)-length {
		return nil
	}
	return source[cursor : cursor+length]
}

// hexPrefix returns how much of text can be packed in half, and in how many
// digits.
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

// appendHex packs a text that hexPrefix says can be.
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
var pairs = func() (table [256][2]byte) { //nolint:gochecknoglobals // a constant that the language cannot say
	for i := range table {
		table[i] = [2]byte{digits[i>>4], digits[i&15]}
	}
	return table
}()

// hexLiteral appends a literal that is packed in half, and moves the cursor.
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
