package pack

import (
	"encoding/binary"
	"math/bits"
)

// A product by this has good upper bits.
const mix = 0x9e3779b97f4a7c15

// index tells where in a dictionary eight bytes are, and four: of several places,
// the last. It is immutable.
type index struct {
	long, short         []uint16 // the place; 0 is none, as is the first
	longBits, shortBits int
}

func (x *index) slotLong(word uint64) uint64  { return word * mix >> (64 - x.longBits) }
func (x *index) slotShort(word uint32) uint64 { return uint64(word) * mix >> (64 - x.shortBits) }

// newIndex indexes every place of a text.
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

// placesBits is for objects of a few thousand bytes.
const placesBits = 12

// places tells where in a source that is used by few objects eight bytes are.
type places struct {
	fresh bool                    // of the source that is in use
	at    [1 << placesBits]uint32 // one more than the place; 0 is none
}

// index indexes every other place.
func (p *places) index(source []byte) {
	clear(p.at[:])
	for i := 0; i+8 <= len(source); i += 2 {
		p.at[binary.LittleEndian.Uint64(source[i:])*mix>>(64-placesBits)] = uint32(i + 1)
	}
	p.fresh = true
}

func (p *places) find(word uint64) (at int, ok bool) {
	place := p.at[word*mix>>(64-placesBits)]
	return int(place) - 1, place != 0
}

// ownBits is for what of an object is not in its dictionary.
const ownBits = 11

// own tells where in an object that is being packed six bytes are.
type own [1 << ownBits]uint16

func (o *own) slot(word uint64) *uint16 { return &o[word<<16*mix>>(64-ownBits)] }
