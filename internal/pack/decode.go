package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// ErrCorrupt is what packed bytes are that nobody has packed.
var ErrCorrupt = errors.New("corrupt")

// A packed object is its checksum (four bytes, little-endian, of what was
// packed), its length, and instructions. Instructions make the object out of a
// source, which is a sibling, a dictionary or nothing: each is a literal, that is
// bytes as they are, and behind it a copy.
//
//	token     kind in the lower three bits, length of the literal in the others,
//	          or, of an again, which literal
//	literal   in full, or in half: see hex.go
//	where     what is copied begins, as the kind says
//	length    of the copy, may be 0
//
// The cursor is where in the source what comes next is expected: it moves on by
// the length of every literal and every copy, whatever is copied. So siblings, of
// which the same bytes differ, need no addresses.
type kind byte

const (
	atCursor    kind = iota // the copy is where it is expected
	atCursorHex             // the same; the literal is packed in half
	near                    // one signed byte away from there
	nearHex
	inSource // two bytes: the address in the source
	inOutput // uvarint: how far back in the object itself
	again    // the literal of an earlier instruction, and its way from there
	farOff   // uvarint: an address in a source longer than two bytes can say

	kindBits   = 3
	maxShort   = 1<<(8-kindBits) - 1 // the length from which a uvarint follows with the rest
	headerSize = 4                   // of the checksum
)

// remembered is a literal that may come again, and how far the cursor jumped
// behind it.
type remembered struct{ start, length, shift int }

// minAgain is the length from which a literal is remembered.
const minAgain = 2

// memory are the last literals, behind which the cursor stayed where it was or
// nearly so, in a ring.
type memory struct {
	ring  [maxShort]remembered
	count int
}

// get returns the literal that so many were remembered after.
func (m *memory) get(after int) (remembered, bool) {
	if after >= min(m.count, len(m.ring)) {
		return remembered{}, false
	}
	return m.ring[(m.count-1-after)%len(m.ring)], true
}

func (m *memory) add(start, length, shift int) {
	m.ring[m.count%len(m.ring)] = remembered{start, length, shift}
	m.count++
}

// maxGrowth is how many times its packed bytes and its source an object may be:
// what makes corrupt bytes cost no more memory than that. An object that is
// beyond is stored as it is.
const maxGrowth = 256

func mayBe(length uint64, packed, source int) bool {
	return length <= maxGrowth*uint64(packed)+4*uint64(source)
}

// decoder carries out instructions. Every read is checked: data may be anything.
type decoder struct {
	data   []byte // the instructions
	next   int    // where in data the next one begins
	source []byte
	cursor int
	out    []byte // the object, as long as it will be
	done   int    // how much of it there is
	memory memory
}

// decode appends to dst the object that data makes out of the source.
func decode(dst, data, source []byte) ([]byte, error) {
	if len(data) <= headerSize {
		return nil, fmt.Errorf("%w: %d bytes are too few for a header", ErrCorrupt, len(data))
	}
	sum, data := binary.LittleEndian.Uint32(data), data[headerSize:]
	length, n := binary.Uvarint(data)
	if n <= 0 || !mayBe(length, len(data), len(source)) {
		return nil, fmt.Errorf("%w: the header says a length of %d", ErrCorrupt, length)
	}
	dst = slices.Grow(dst, int(length))
	dst = dst[:len(dst)+int(length)]
	d := decoder{data: data, next: n, source: source, out: dst[len(dst)-int(length):]}
	for d.next < len(data) {
		if !d.step() {
			return nil, fmt.Errorf("%w: the instruction before byte %d of %d cannot be carried out", ErrCorrupt, headerSize+d.next, headerSize+len(data))
		}
	}
	if d.done != len(d.out) {
		return nil, fmt.Errorf("%w: %d bytes came out and not %d", ErrCorrupt, d.done, length)
	}
	if crc32.ChecksumIEEE(d.out) != sum {
		return nil, fmt.Errorf("%w: the checksum differs", ErrCorrupt)
	}
	return dst, nil
}

// step carries out an instruction; it returns false if that cannot be.
func (d *decoder) step() bool {
	token := d.data[d.next]
	d.next++
	k, length, ok := kind(token)&(1<<kindBits-1), int(token>>kindBits), true
	if k == again {
		return d.again(length) && d.copySource()
	}
	if length == maxShort {
		length, ok = d.number()
		length += maxShort
	}
	if !ok || !d.literal(k, length) {
		return false
	}
	switch k {
	case near, nearHex:
		ok = d.near(length)
	case inSource:
		ok = d.inSource()
	case farOff:
		d.cursor, ok = d.number()
	case inOutput:
		return d.copyOutput()
	default:
		d.remember(length, 0)
	}
	return ok && d.copySource()
}

// number reads a uvarint.
func (d *decoder) number() (int, bool) {
	if d.next < len(d.data) && d.data[d.next] < 0x80 {
		d.next++
		return int(d.data[d.next-1]), true
	}
	v, n := binary.Uvarint(d.data[d.next:])
	d.next += max(n, 0)
	return int(v), n > 0 && v < 1<<32
}

func (d *decoder) literal(k kind, length int) bool {
	if k == atCursorHex || k == nearHex {
		return d.hexLiteral(length)
	}
	if length > len(d.data)-d.next || !d.write(d.data, d.next, length) {
		return false
	}
	d.next += length
	return true
}

// write appends a part of a text to the object, and moves the cursor.
func (d *decoder) write(text []byte, from, n int) bool {
	const step = 16 // bytes, which the processor copies at once
	switch to := d.out[d.done:]; {
	case n > len(to) || n > len(text)-from:
		return false
	case n <= step && len(to) >= step && len(text)-from >= step:
		*(*[step]byte)(to) = *(*[step]byte)(text[from:]) // what is too much is overwritten by what comes next
	default:
		copy(to, text[from:from+n])
	}
	d.done += n
	d.cursor += n
	return true
}

func (d *decoder) near(literal int) bool {
	if d.next == len(d.data) {
		return false
	}
	shift := int(int8(d.data[d.next]))
	d.next++
	d.remember(literal, shift)
	d.cursor += shift
	return true
}

func (d *decoder) inSource() bool {
	if len(d.data)-d.next < 2 {
		return false
	}
	d.cursor = int(binary.LittleEndian.Uint16(d.data[d.next:]))
	d.next += 2
	return true
}

func (d *decoder) remember(literal, shift int) {
	if literal >= minAgain {
		d.memory.add(d.done-literal, literal, shift)
	}
}

// again repeats the literal that so many were remembered after.
func (d *decoder) again(after int) bool {
	r, ok := d.memory.get(after)
	if !ok || !d.write(d.out[:d.done], r.start, r.length) {
		return false
	}
	d.cursor += r.shift
	return true
}

// copySource reads a length and copies as much of the source from the cursor on.
func (d *decoder) copySource() bool {
	n, ok := d.number()
	if !ok || n == 0 {
		return ok
	}
	return d.cursor >= 0 && d.cursor <= len(d.source) && d.write(d.source, d.cursor, n)
}

// copyOutput copies out of the object itself, which may overlap what comes of it.
func (d *decoder) copyOutput() bool {
	back, ok := d.number()
	n, fine := d.number()
	if !ok || !fine || back > d.done || n > len(d.out)-d.done || n > 0 && back == 0 {
		return false
	}
	for from := d.done - back; n > 0; {
		part := min(n, d.done-from)
		d.write(d.out[:d.done], from, part)
		n -= part
	}
	return true
}
