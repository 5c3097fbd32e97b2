// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// encoder writes one object at a time as instructions. It is reused.
type encoder struct {
	raw       []byte
	source    []byte
	out       []byte
	cursor    int       // the decoder's cursor
	done      int       // bytes of raw that are written
	selfIndex selfIndex // for dictEncode
	baseIndex baseIndex // for deltaEncode; kept while the base is the same
	recent    recentLiterals
}

// start begins an object. Neither raw nor source is modified. fromBase states that the excerpt is
// that of the source, a base.
func (e *encoder) start(raw, source []byte, excerpt Excerpt, fromBase bool) {
	e.raw, e.source, e.cursor, e.done, e.recent.count = raw, source, 0, 0, 0
	e.out = appendHeader(e.out[:0], header{sum: crc32.ChecksumIEEE(raw), length: uint64(len(raw)), excerpt: excerpt, fromBase: fromBase})
}

// minHex is the number of consecutive digits that are worth an instruction of their own.
const minHex = 8

// copySource writes raw up to at as a literal, followed by a copy of n bytes of the source.
func (e *encoder) copySource(at, addr, n int) {
	shift := addr - e.cursor - (at - e.done)
	far := shift != int(int8(shift))
	run := e.writeHexRuns(at, far)
	switch {
	case far && addr <= math.MaxUint16:
		e.writeLiteral(inSource, at)
		e.out = binary.LittleEndian.AppendUint16(e.out, uint16(addr))
	case far:
		e.writeLiteral(farSource, at)
		e.out = binary.AppendUvarint(e.out, uint64(addr))
	case !e.writeRepeat(at, shift):
		e.writeNear(at, shift, run)
	}
	e.cursor = addr
	e.writeCopy(n)
}

// copyOutput writes raw up to at as a literal, followed by a copy of n bytes of raw itself.
func (e *encoder) copyOutput(at, addr, n int) {
	e.writeHexRuns(at, true)
	e.writeLiteral(inOutput, at)
	e.out = binary.AppendUvarint(e.out, uint64(at-addr))
	e.writeCopy(n)
}

// writeCopy ends an instruction with the length of its copy.
func (e *encoder) writeCopy(n int) {
	e.out = binary.AppendUvarint(e.out, uint64(n))
	e.advance(n)
}

// finish writes the rest of raw as a literal.
func (e *encoder) finish() {
	if run := e.writeHexRuns(len(e.raw), false); e.done < len(e.raw) {
		e.writeNear(len(e.raw), 0, run)
		e.writeCopy(0)
	}
}

// storeRaw writes raw uncompressed.
func (e *encoder) storeRaw() {
	e.writeLiteral(atCursor, len(e.raw))
	e.writeCopy(0)
}

// decodable reports whether the decoder accepts what was written: see maxGrowth.
func (e *encoder) decodable() bool {
	return plausible(uint64(len(e.raw)), len(e.out)-checksumSize, len(e.source))
}

// writeNear writes raw up to at as a literal after which the cursor moves by shift. run is zero, or
// a run that ends at at.
func (e *encoder) writeNear(at, shift int, run hexRun) {
	op := atCursor
	if shift != 0 {
		op = near
	}
	length := at - e.done
	if run.length < length {
		run = e.hexRun(e.done, at)
	}
	if run.length == length && (run.count+1)/2 < length {
		e.writeToken(op+1, length)
		e.out = appendHex(e.out, e.raw[e.done:at], template(e.source, e.cursor, length))
		e.advance(length)
	} else {
		e.writeLiteral(op, at)
	}
	if shift != 0 {
		e.out = append(e.out, byte(int8(shift)))
	}
	if length >= minRepeat {
		e.recent.add(at-length, length, shift)
	}
}

// writeHexRuns writes the long runs of digits in raw up to at, and the bytes before them. The bytes
// after the last run are left to the next instruction, and so is a run that ends at at, which is
// returned, unless all is set.
func (e *encoder) writeHexRuns(at int, all bool) hexRun {
	for from := e.done; at-from >= minHex; {
		run := e.hexRun(from, at)
		if run.count < minHex {
			from += run.length + 1
			continue
		}
		if from > e.done {
			e.writeNear(from, 0, hexRun{})
			e.writeCopy(0)
		}
		if from+run.length == at && !all {
			return run
		}
		e.writeNear(from+run.length, 0, hexRun{}) // which may have a template although run had none
		e.writeCopy(0)
		from = e.done
	}
	return hexRun{}
}

// hexRun returns the run of digits that begins at from and ends at at or before.
func (e *encoder) hexRun(from, at int) hexRun {
	return hexPrefix(e.raw[from:at], template(e.source, e.cursor+from-e.done, at-from))
}

// writeLiteral writes raw up to at uncompressed.
func (e *encoder) writeLiteral(op opcode, at int) {
	length := at - e.done
	e.writeToken(op, length)
	e.out = append(e.out, e.raw[e.done:at]...)
	e.advance(length)
}

func (e *encoder) advance(n int) {
	e.done += n
	e.cursor += n
}

func (e *encoder) writeToken(op opcode, length int) {
	if length < maxShort {
		e.out = append(e.out, byte(length)<<opcodeBits|byte(op))
		return
	}
	e.out = append(e.out, maxShort<<opcodeBits|byte(op))
	e.out = binary.AppendUvarint(e.out, uint64(length-maxShort))
}

// writeRepeat writes raw up to at as a repetition of a recent literal with the same shift. It
// reports whether there is one.
func (e *encoder) writeRepeat(at, shift int) bool {
	length := at - e.done
	if length < minRepeat {
		return false
	}
	age, ok := e.recent.find(e.raw, recentLiteral{e.done, length, shift})
	if ok {
		e.writeToken(repeat, age)
		e.advance(length)
	}
	return ok
}
