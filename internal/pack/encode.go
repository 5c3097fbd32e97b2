package pack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// encoder writes an object as instructions. It is used again and again, for one
// object at a time.
type encoder struct {
	raw    []byte
	source []byte
	out    []byte
	cursor int    // as the decoder's
	done   int    // how much of raw is written
	own    own    // of strangers
	places places // of siblings
	memory memory
}

// start begins with an object. Neither it nor the source is changed.
func (e *encoder) start(raw, source []byte) {
	e.places.fresh = false
	e.raw, e.source, e.cursor, e.done, e.memory.count = raw, source, 0, 0, 0
	e.out = binary.LittleEndian.AppendUint32(e.out[:0], crc32.ChecksumIEEE(raw))
	e.out = binary.AppendUvarint(e.out, uint64(len(raw)))
}

// minHex is how many digits in a row are worth an instruction of their own.
const minHex = 8

// copySource writes what there is before at as a literal, and behind it a copy of
// n bytes of the source.
func (e *encoder) copySource(at, address, n int) {
	shift := address - e.cursor - (at - e.done)
	far := shift != int(int8(shift))
	e.halves(at, far)
	switch {
	case far && address <= math.MaxUint16:
		e.literal(inSource, at)
		e.out = binary.LittleEndian.AppendUint16(e.out, uint16(address))
	case far:
		e.literal(farOff, at)
		e.out = binary.AppendUvarint(e.out, uint64(address))
	case !e.again(at, shift):
		e.nearby(at, shift)
	}
	e.cursor = address
	e.copied(n)
}

// copyOutput writes what there is before at as a literal, and behind it a copy of
// n bytes of the object itself, from address on.
func (e *encoder) copyOutput(at, address, n int) {
	e.halves(at, true)
	e.literal(inOutput, at)
	e.out = binary.AppendUvarint(e.out, uint64(at-address))
	e.copied(n)
}

func (e *encoder) copied(n int) {
	e.out = binary.AppendUvarint(e.out, uint64(n))
	e.done += n
	e.cursor += n
}

// finish writes what is left as a literal.
func (e *encoder) finish() {
	if e.halves(len(e.raw), false); e.done < len(e.raw) {
		e.nearby(len(e.raw), 0)
		e.copied(0)
	}
}

// whole writes raw as it is.
func (e *encoder) whole() {
	e.literal(atCursor, len(e.raw))
	e.copied(0)
}

// sound tells whether what was written can be read again: see maxGrowth.
func (e *encoder) sound() bool {
	return mayBe(uint64(len(e.raw)), len(e.out)-headerSize, len(e.source))
}

// nearby writes raw up to at as a literal behind which the cursor jumps by shift.
func (e *encoder) nearby(at, shift int) {
	k := atCursor
	if shift != 0 {
		k = near
	}
	length := at - e.done
	template := template(e.source, e.cursor, length)
	if n, count := hexPrefix(e.raw[e.done:at], template); n == length && (count+1)/2 < length {
		e.token(k+1, length)
		e.out = appendHex(e.out, e.raw[e.done:at], template)
		e.written(length)
	} else {
		e.literal(k, at)
	}
	if shift != 0 {
		e.out = append(e.out, byte(int8(shift)))
	}
	if length >= minAgain {
		e.memory.add(at-length, length, shift)
	}
}

// halves writes the digits among raw up to at that are many in a row, and what is
// before them. What is behind them is left to the next instruction, and so is a row
// of digits behind which nothing is, unless all is asked for.
func (e *encoder) halves(at int, all bool) {
	for from := e.done; at-from >= minHex; {
		template := template(e.source, e.cursor+from-e.done, at-from)
		n, count := hexPrefix(e.raw[from:at], template)
		if count < minHex {
			from += n + 1
			continue
		}
		if from > e.done {
			e.nearby(from, 0)
			e.copied(0)
		}
		if from+n == at && !all {
			return
		}
		e.nearby(from+n, 0)
		e.copied(0)
		from = e.done
	}
}

// literal writes raw up to at as it is.
func (e *encoder) literal(k kind, at int) {
	length := at - e.done
	e.token(k, length)
	e.out = append(e.out, e.raw[e.done:at]...)
	e.written(length)
}

func (e *encoder) written(length int) {
	e.done += length
	e.cursor += length
}

func (e *encoder) token(k kind, length int) {
	if length < maxShort {
		e.out = append(e.out, byte(length)<<kindBits|byte(k))
		return
	}
	e.out = append(e.out, maxShort<<kindBits|byte(k))
	e.out = binary.AppendUvarint(e.out, uint64(length-maxShort))
}

// again writes a literal that came before in the same way, if it did.
func (e *encoder) again(at, shift int) bool {
	length := at - e.done
	if length < minAgain {
		return false
	}
	text := e.raw[e.done:at]
	for after := range min(e.memory.count, len(e.memory.ring)) {
		r, _ := e.memory.get(after)
		if r.length == length && r.shift == shift && bytes.Equal(e.raw[r.start:r.start+length], text) {
			e.token(again, after)
			e.written(length)
			return true
		}
	}
	return false
}
