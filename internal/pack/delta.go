// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// An object and its base are aligned: most of what they have in common is at the same offset or a
// few bytes away. A delta therefore searches only where they differ.

const (
	minMatch   = 6   // equal bytes that are worth a copy
	maxShift   = 6   // bytes by which a match may be shifted
	nearWindow = 80  // bytes in which an unshifted match is searched for first
	farWindow  = 256 // bytes in which a shifted match is searched for then
	minSearch  = 96  // bytes left that are worth indexing the source
)

// deltaEncode writes raw as its differences from the source. It reports false, and stops, once that
// takes more than limit bytes.
func (e *encoder) deltaEncode(limit int) bool {
	at, addr := 0, 0
	for {
		n := commonPrefix(e.raw[at:], e.source[addr:])
		e.copySource(at, addr, n)
		if len(e.out) > limit {
			return false
		}
		at, addr = at+n, addr+n
		if at == len(e.raw) {
			return true
		}
		skip, shift, ok := e.realign(at, addr)
		if !ok && len(e.raw)-at > minSearch {
			skip, shift, ok = e.search(at, addr, limit-len(e.out))
		}
		if !ok {
			e.encodeTail()
			return len(e.out) <= limit
		}
		at, addr = at+skip, addr+skip+shift
	}
}

// encodeTail writes the rest of raw. A common suffix of raw and the source becomes a copy.
func (e *encoder) encodeTail() {
	n := 0
	for n < len(e.raw)-e.done && n < len(e.source) && e.raw[len(e.raw)-1-n] == e.source[len(e.source)-1-n] {
		n++
	}
	if n >= minMatch {
		e.copySource(len(e.raw)-n, len(e.source)-n, n)
	}
	e.finish()
}

// realign returns how many bytes of raw to skip until raw and the source match again, and how far
// that match is shifted in the source.
func (e *encoder) realign(at, addr int) (skip, shift int, ok bool) {
	if skip, ok = nextMatch(e.raw[at:], e.source[addr:]); ok {
		return skip, 0, true
	}
	for d := 0; d < farWindow && at+d+8 <= len(e.raw); d += matchStep {
		if skip, shift, ok = shiftedMatch(word(e.raw, at+d), e.source, addr+d); ok {
			return d + skip, shift, true
		}
	}
	return 0, 0, false
}

// nextMatch returns how many bytes to skip until minMatch bytes of raw and source are equal.
func nextMatch(raw, source []byte) (int, bool) {
	n := min(len(raw), len(source), nearWindow+8)
	for d := 0; d+8 <= n; d += matchStep {
		if skip, ok := matchIn(word(raw, d) ^ word(source, d)); ok {
			return d + skip, true
		}
	}
	return 0, false
}

// shiftedMatch returns where in a word of raw, whose place in the source is addr, a match begins
// that is shifted in the source, and how far.
func shiftedMatch(raw uint64, source []byte, addr int) (skip, shift int, ok bool) {
	from, to := max(0, addr-maxShift), min(addr+maxShift, len(source)-8)
	if to-from == 2*maxShift && !hasPair(source[from+2:], uint16(raw>>16)) {
		return 0, 0, false
	}
	for a := from; a <= to; a++ {
		if skip, ok = matchIn(raw ^ word(source, a)); ok {
			return skip, a - addr, true
		}
	}
	return 0, 0, false
}

// hasPair reports whether two bytes occur at one of the first 2*maxShift+1 places of text.
func hasPair(text []byte, pair uint16) bool {
	const last = 2*maxShift - 7
	first, second := uint64(pair&0xff)*eachByte, uint64(pair>>8)*eachByte
	low := (word(text, 0) ^ first) | (word(text, 1) ^ second)
	high := (word(text, last) ^ first) | (word(text, last+1) ^ second)
	return hasZero(low) || hasZero(high)
}

const eachByte = 0x01_01_01_01_01_01_01_01

// hasZero reports whether a byte of a word is zero.
func hasZero(word uint64) bool { return (word-eachByte)&^word&(eachByte<<7) != 0 }

// A word of eight bytes has a match if minMatch of them in a row are equal. Words that are
// matchStep bytes apart have all matches.
const (
	matchStep = 8 - minMatch + 1
	sixBytes  = 1<<48 - 1
	inMatch   = 1<<48 - 1<<16 // the bytes of a word that belong to each of its matches
)

// matchIn returns where in a word a match begins. diff is the word XOR the other one.
func matchIn(diff uint64) (skip int, ok bool) {
	switch {
	case diff&inMatch != 0:
		return 0, false
	case diff&sixBytes == 0:
		return 0, true
	case diff>>8&sixBytes == 0:
		return 1, true
	}
	return 2, diff>>16 == 0
}

// search finds the next match anywhere in the source, after parts were inserted or removed. It
// skips less than limit bytes.
func (e *encoder) search(at, addr, limit int) (skip, shift int, ok bool) {
	if !e.baseIndex.valid {
		e.baseIndex.build(e.source)
	}
	for d := 0; d < limit && at+d+8 <= len(e.raw); d++ {
		next := word(e.raw, at+d)
		if found, ok := e.baseIndex.find(next); ok && word(e.source, found) == next {
			return d, found - addr - d, true
		}
	}
	return 0, 0, false
}

// commonPrefix returns the number of leading bytes that a and b share.
func commonPrefix(a, b []byte) int {
	const (
		short = 32  // bytes that are compared before
		block = 128 // bytes that are worth a call
	)
	n := commonWords(a[:min(short, len(a))], b[:min(short, len(b))])
	if n < short {
		return n
	}
	for n+block <= len(a) && n+block <= len(b) && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	return n + commonWords(a[n:], b[n:])
}

// commonWords is commonPrefix for few bytes.
func commonWords(a, b []byte) int {
	n := 0
	for ; n+8 <= len(a) && n+8 <= len(b); n += 8 {
		if diff := word(a, n) ^ word(b, n); diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// word returns the eight bytes of text at an offset.
func word(text []byte, at int) uint64 { return binary.LittleEndian.Uint64(text[at : at+8]) }
