// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"encoding/binary"
	"math/bits"
)

// hashMultiplier spreads the bits of a word into the upper bits of the product.
const hashMultiplier = 0x9e3779b97f4a7c15

// index finds the last address in a dictionary at which the same eight, or four, bytes begin. Other
// bytes may have the same hash, so the caller compares. It is immutable.
type index struct {
	long, short         []uint16 // addresses; 0 is also none
	longBits, shortBits int
}

func (x *index) slotLong(word uint64) uint64 { return word * hashMultiplier >> (64 - x.longBits) }

func (x *index) slotShort(word uint32) uint64 {
	return uint64(word) * hashMultiplier >> (64 - x.shortBits)
}

// newIndex indexes every address of text.
func newIndex(text []byte) *index {
	size := bits.Len(uint(len(text)))
	x := &index{longBits: min(max(size, 6), 15), shortBits: min(max(size, 6), 14)}
	x.long, x.short = make([]uint16, 1<<x.longBits), make([]uint16, 1<<x.shortBits)
	for i := 0; i+8 <= len(text); i++ {
		word := binary.LittleEndian.Uint64(text[i:])
		x.long[x.slotLong(word)] = uint16(i)
		x.short[x.slotShort(uint32(word))] = uint16(i)
	}
	return x
}

// baseIndexBits suits objects of a few thousand bytes.
const baseIndexBits = 12

// baseIndex finds eight bytes in a base. It is built on demand, once for the objects that
// are packed against the base in a row.
type baseIndex struct {
	valid bool                       // built for the current source
	at    [1 << baseIndexBits]uint32 // address + 1; 0 is none
}

// build indexes every other address.
func (x *baseIndex) build(source []byte) {
	clear(x.at[:])
	for i := 0; i+8 <= len(source); i += 2 {
		x.at[binary.LittleEndian.Uint64(source[i:])*hashMultiplier>>(64-baseIndexBits)] = uint32(i + 1)
	}
	x.valid = true
}

func (x *baseIndex) find(word uint64) (addr int, ok bool) {
	at := x.at[word*hashMultiplier>>(64-baseIndexBits)]
	return int(at) - 1, at != 0
}

// selfIndexBits is small: most of an object is found in the dictionary.
const selfIndexBits = 11

// selfIndex finds six bytes in the object that is being encoded.
type selfIndex [1 << selfIndexBits]uint16

func (x *selfIndex) slot(word uint64) *uint16 {
	return &x[word<<16*hashMultiplier>>(64-selfIndexBits)]
}
