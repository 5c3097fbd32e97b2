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

// memory are the last literals of two bytes or more which a copy near the cursor
// followed, in a ring.
type memory struct {
	ring  [maxShort]remembered
	count int
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
	data   []byte // what is left
	source []byte
	cursor int
	out    []byte
	begin  int // of the object in out
	end    int // of it, as its header says
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
	begin := len(dst)
	d := decoder{data: data[n:], source: source, out: slices.Grow(dst, int(length)), begin: begin, end: begin + int(length)}
	for len(d.data) > 0 {
		if !d.step() {
			return nil, fmt.Errorf("%w: the instruction %d bytes before the end cannot be carried out", ErrCorrupt, len(d.data))
		}
	}
	if len(d.out) != d.end {
		return nil, fmt.Errorf("%w: %d bytes came out and not %d", ErrCorrupt, len(d.out)-begin, length)
	}
	if crc32.ChecksumIEEE(d.out[begin:]) != sum {
		return nil, fmt.Errorf("%w: the checksum differs", ErrCorrupt)
	}
	return d.out, nil
}

// step carries out an instruction; it returns false if that cannot be.
func (d *decoder) step() bool {
	k, short := kind(d.data[0])&(1<<kindBits-1), int(d.data[0]>>kindBits)
	d.data = d.data[1:]
	if k == again {
		return d.again(short) && d.copySource()
	}
	length, ok := short, true
	if length == maxShort {
		if length, ok = d.number(); !ok {
			return false
		}
		length += maxShort
	}
	if length > d.end-len(d.out) || !d.literal(k, length) {
		return false
	}
	switch k {
	case near, nearHex:
		return d.near(length) && d.copySource()
	case inSource:
		if len(d.data) < 2 {
			return false
		}
		d.cursor = int(binary.LittleEndian.Uint16(d.data))
		d.data = d.data[2:]
	case farOff:
		if d.cursor, ok = d.number(); !ok {
			return false
		}
	case inOutput:
		return d.copyOutput()
	default:
		d.remember(length, 0)
	}
	return d.copySource()
}

func (d *decoder) number() (int, bool) {
	if len(d.data) > 0 && d.data[0] < 0x80 {
		v := int(d.data[0])
		d.data = d.data[1:]
		return v, true
	}
	v, n := binary.Uvarint(d.data)
	if n <= 0 || v > 1<<40 {
		return 0, false
	}
	d.data = d.data[n:]
	return int(v), true
}

func (d *decoder) literal(k kind, length int) bool {
	if k == atCursorHex || k == nearHex {
		return d.hexLiteral(length)
	}
	if length > len(d.data) {
		return false
	}
	d.out = append(d.out, d.data[:length]...)
	d.data = d.data[length:]
	d.cursor += length
	return true
}

func (d *decoder) near(literal int) bool {
	if len(d.data) == 0 {
		return false
	}
	shift := int(int8(d.data[0]))
	d.data = d.data[1:]
	d.remember(literal, shift)
	d.cursor += shift
	return true
}

func (d *decoder) remember(literal, shift int) {
	if literal >= 2 {
		d.memory.add(len(d.out)-literal, literal, shift)
	}
}

// again repeats the literal that so many were remembered after.
func (d *decoder) again(after int) bool {
	if after >= min(d.memory.count, len(d.memory.ring)) {
		return false
	}
	r := d.memory.ring[(d.memory.count-1-after)%len(d.memory.ring)]
	if r.length > d.end-len(d.out) {
		return false
	}
	d.out = append(d.out, d.out[r.start:r.start+r.length]...)
	d.cursor += r.length + r.shift
	return true
}

// copySource reads a length and copies as much of the source from the cursor on.
func (d *decoder) copySource() bool {
	at := d.cursor
	n, ok := d.number()
	if !ok || n > d.end-len(d.out) {
		return false
	}
	if n > 0 && (at < 0 || at > len(d.source)-n) {
		return false
	}
	if n > 0 {
		d.out = append(d.out, d.source[at:at+n]...)
	}
	d.cursor += n
	return true
}

// copyOutput copies out of the object itself, which may overlap what comes of it.
func (d *decoder) copyOutput() bool {
	back, ok := d.number()
	if !ok || back > len(d.out)-d.begin {
		return false
	}
	n, ok := d.number()
	if !ok || n > d.end-len(d.out) || n > 0 && back == 0 {
		return false
	}
	for at := len(d.out) - back; n > 0; {
		chunk := min(n, len(d.out)-at)
		d.out = append(d.out, d.out[at:at+chunk]...)
		d.cursor += chunk
		n -= chunk
	}
	return true
}
