// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// ErrCorrupt reports that the input was not produced by Pack, or was modified since.
var ErrCorrupt = errors.New("corrupt packed object")

// ErrUnsupported is wrapped by the error of a packer of values that cannot pack a value because of
// its type.
var ErrUnsupported = errors.New("objects of this type cannot be packed")

// A packed object consists of the checksum of the unpacked bytes (four bytes, little-endian), their
// length (uvarint), the place of the excerpt (one or two uvarints: see header), and instructions.
// Instructions assemble the object from a source, which is a base, a dictionary or empty. Each is a
// literal followed by a copy:
//
//	token     opcode in the lower three bits; in the upper five the length of the literal,
//	          or, for repeat, the age of a recent literal
//	literal   raw, or as hexadecimal digits: see hex.go
//	address   where the copy begins; its encoding depends on the opcode
//	length    of the copy, may be 0
//
// The cursor is the expected address of the next copy. Each literal and each copy advances it by
// its length, whatever the copy is from. So an object that is aligned with its base needs no
// addresses.
type opcode byte

const (
	atCursor    opcode = iota // the copy is at the cursor
	atCursorHex               // the same, with a hexadecimal literal
	near                      // int8: offset of the copy from the cursor
	nearHex                   // the same, with a hexadecimal literal
	inSource                  // uint16: address in the source
	inOutput                  // uvarint: distance back in the object itself
	repeat                    // literal and offset of a recent instruction
	farSource                 // uvarint: address in the source, if uint16 is too small

	opcodeBits   = 3
	maxShort     = 1<<(8-opcodeBits) - 1 // token length from which a uvarint with the rest follows
	checksumSize = 4
)

// recentLiteral is a literal that may be repeated, and how far the cursor moved after it.
type recentLiteral struct{ start, length, shift int }

// minRepeat is the length from which a literal is remembered.
const minRepeat = 2

// recentLiterals is a ring of the last literals at or near the cursor.
type recentLiterals struct {
	ring  [maxShort]recentLiteral
	count int
}

// get returns a literal by the number of literals added after it.
func (l *recentLiterals) get(age int) (recentLiteral, bool) {
	if age >= min(l.count, len(l.ring)) {
		return recentLiteral{}, false
	}
	return l.ring[(l.count-1-age)%len(l.ring)], true
}

// find returns the number of literals added after one that equals want, whose bytes are in raw.
func (l *recentLiterals) find(raw []byte, want recentLiteral) (age int, ok bool) {
	text := raw[want.start : want.start+want.length]
	for at := l.count - 1; at >= max(0, l.count-len(l.ring)); at-- {
		r := &l.ring[uint(at)%maxShort]
		if r.length == want.length && r.shift == want.shift && bytes.Equal(raw[r.start:r.start+r.length], text) {
			return l.count - 1 - at, true
		}
	}
	return 0, false
}

func (l *recentLiterals) add(start, length, shift int) {
	l.ring[l.count%len(l.ring)] = recentLiteral{start, length, shift}
	l.count++
}

// maxGrowth bounds the length of an object relative to its packed bytes, and so the memory that
// corrupt bytes can claim. An object that would compress better is stored uncompressed.
const maxGrowth = 256

// plausible reports whether an object of this length may be encoded in so many bytes.
func plausible(length uint64, packed, source int) bool {
	return length <= maxGrowth*uint64(packed)+4*uint64(source)
}

// decoder executes instructions. Every read is checked, because the data may be anything.
type decoder struct {
	data   []byte // the packed object
	next   int    // offset of the next instruction in data
	source []byte
	cursor int
	out    []byte // the object, at its full length
	done   int    // bytes of out that are written
	recent recentLiterals
}

// decode appends the object that data encodes against source to dst.
func decode(dst, data, source []byte) ([]byte, error) {
	h, err := readHeader(data, len(source))
	if err != nil {
		return nil, err
	}
	var d decoder
	dst = d.start(dst, data, source, h)
	if err := d.decodeTo(math.MaxInt); err != nil {
		return nil, err
	}
	if d.done != len(d.out) {
		return nil, fmt.Errorf("%w: decoded %d of %d bytes", ErrCorrupt, d.done, h.length)
	}
	if crc32.ChecksumIEEE(d.out) != h.sum {
		return nil, fmt.Errorf("%w: checksum mismatch", ErrCorrupt)
	}
	return dst, nil
}

// start prepares to decode an object, and returns dst extended by its length.
func (d *decoder) start(dst, data, source []byte, h header) []byte {
	dst = slices.Grow(dst, int(h.length))
	dst = dst[:len(dst)+int(h.length)]
	d.data, d.next, d.source, d.out = data, h.instruction, source, dst[len(dst)-int(h.length):]
	return dst
}

// decodeTo executes instructions until end bytes are written, or none are left.
func (d *decoder) decodeTo(end int) error {
	for d.next < len(d.data) && d.done < end {
		if !d.step() {
			return fmt.Errorf("%w: invalid instruction before byte %d of %d", ErrCorrupt, d.next, len(d.data))
		}
	}
	return nil
}

// step executes one instruction. It reports whether the instruction is valid.
func (d *decoder) step() bool {
	token := d.data[d.next]
	d.next++
	op, length, ok := opcode(token)&(1<<opcodeBits-1), int(token>>opcodeBits), true
	if op == repeat {
		return d.repeat(length) && d.copySource()
	}
	if length == maxShort {
		length, ok = d.uvarint()
		length += maxShort
	}
	if !ok || !d.literal(op, length) {
		return false
	}
	switch op {
	case near, nearHex:
		ok = d.near(length)
	case inSource:
		ok = d.inSource()
	case farSource:
		d.cursor, ok = d.uvarint()
	case inOutput:
		return d.copyOutput()
	default:
		d.remember(length, 0)
	}
	return ok && d.copySource()
}

// uvarint reads a number. With maxShort added it still fits an int of 32 bits.
func (d *decoder) uvarint() (int, bool) {
	if d.next < len(d.data) && d.data[d.next] < 0x80 {
		d.next++
		return int(d.data[d.next-1]), true
	}
	v, n := binary.Uvarint(d.data[d.next:])
	d.next += max(n, 0)
	return int(v), n > 0 && v <= math.MaxInt32-maxShort
}

func (d *decoder) literal(op opcode, length int) bool {
	if op == atCursorHex || op == nearHex {
		return d.hexLiteral(length)
	}
	if length > len(d.data)-d.next || !d.write(d.data, d.next, length) {
		return false
	}
	d.next += length
	return true
}

// write appends n bytes of text to the object and advances the cursor.
func (d *decoder) write(text []byte, from, n int) bool {
	const block = 16 // bytes that the processor copies at once
	switch to := d.out[d.done:]; {
	case n > len(to) || n > len(text)-from:
		return false
	case n <= block && len(to) >= block && len(text)-from >= block:
		*(*[block]byte)(to) = *(*[block]byte)(text[from:]) // the next write overwrites the excess
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

// remember adds the literal that was just written to the recent ones.
func (d *decoder) remember(literal, shift int) {
	if literal >= minRepeat {
		d.recent.add(d.done-literal, literal, shift)
	}
}

// repeat writes a recent literal again.
func (d *decoder) repeat(age int) bool {
	r, ok := d.recent.get(age)
	if !ok || !d.write(d.out[:d.done], r.start, r.length) {
		return false
	}
	d.cursor += r.shift
	return true
}

// copySource reads a length and copies so many bytes of the source, beginning at the cursor.
func (d *decoder) copySource() bool {
	n, ok := d.uvarint()
	if !ok || n == 0 {
		return ok
	}
	return d.cursor >= 0 && d.cursor <= len(d.source) && d.write(d.source, d.cursor, n)
}

// copyOutput copies a part of the object itself, which may overlap the copy.
func (d *decoder) copyOutput() bool {
	back, ok := d.uvarint()
	n, okLength := d.uvarint()
	if !ok || !okLength || back > d.done || n > len(d.out)-d.done || n > 0 && back == 0 {
		return false
	}
	for from := d.done - back; n > 0; {
		part := min(n, d.done-from)
		d.write(d.out[:d.done], from, part)
		n -= part
	}
	return true
}
