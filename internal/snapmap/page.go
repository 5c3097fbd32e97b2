// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// slot holds one entry. X is the value: an atomic pointer in a Map, empty in a Set. It comes first
// because a last field of size zero would be padded.
type slot[X any] struct {
	val X
	key string
}

// page holds the entries whose hashes agree in their lowest depth bits. The tag of an entry selects
// a word of tags, its home. The entry is in a slot of its home or, if that was full, of the next
// word with room.
//
// Invariant: tag i is free (slot i was never written), dead (deleted, or slot i does not exist) or
// tagOf(hash of slots[i].key).
// Invariant: the key of a slot is written once during the life of the page, before the tag. A
// reader that has seen the tag may read the key.
// Invariant: if an entry is not in its home, the home's bit in spilled was set before the tag. The
// bit stays set for the life of the page.
// Invariant: only the writer writes to a page, and only to one of the current generation.
//
// The fields that readers use come first: they share a cache line. Metas are apart from the slots,
// so that more slots fit into the cache.
type page[X, M any] struct {
	tags    [maxPage / 8]atomic.Uint64 // eight tags a word, one a slot, lowest byte first
	slots   []slot[X]
	spilled atomic.Uint32 // bit i: entries whose home is word i (modulo 32) are in other words
	depth   uint8         // hash bits that the entries share, counted from the lowest
	metas   []M           // one a slot; read by the writer, and by readers of an immutable page
	gen     uint64
	used    uint32           // slots that are not free; writer only
	live    uint32           // entries; writer only
	wide    *[]atomic.Uint64 // words after tags, in a page that could not split
}

const (
	free    = 0  // tag of a slot that was never written
	dead    = 1  // tag of a slot whose entry was deleted
	minTag  = 2  // lowest tag of an entry
	maxPage = 32 // entries at which a page splits, if the directory may grow

	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// tagOf returns the highest bits of a hash, which the directory uses last.
func tagOf(h uint64) uint64 { return max(h>>56, minTag) }

// match returns a word in which the high bit of each byte marks a tag in w that equals tag. Above a
// true match it may also mark a tag that differs only in the lowest bit. If tag belongs to an
// entry, so does that one: every marked slot was published and its key may be read.
func match(w, tag uint64) uint64 {
	x := w ^ tag*lowBits
	return (x - lowBits) &^ x & highBits
}

// home returns the word at which the search for tag begins. It depends on the tag alone, so that
// copying a page needs no hashes.
func (p *page[X, M]) home(tag uint64) int { return int(tag) * len(p.slots) >> 8 >> 3 }

// words returns the number of words of tags.
func (p *page[X, M]) words() int { return (len(p.slots) + 7) >> 3 }

func (p *page[X, M]) word(i int) *atomic.Uint64 {
	if i < len(p.tags) {
		return &p.tags[i]
	}
	return &(*p.wide)[i-len(p.tags)]
}

// index returns the slot of key, or -1. It is safe for concurrent use.
func (p *page[X, M]) index(tag uint64, key string) int {
	home := p.home(tag)
	for m := match(p.word(home).Load(), tag); m != 0; m &= m - 1 {
		if j := home<<3 + bits.TrailingZeros64(m)>>3; p.slots[j].key == key {
			return j
		}
	}
	if p.spilled.Load()>>(home&31)&1 == 0 {
		return -1
	}
	return p.indexSpilled(home, tag, key)
}

// indexSpilled searches the words after home, in the order in which freeSlot does.
func (p *page[X, M]) indexSpilled(home int, tag uint64, key string) int {
	words := p.words()
	for i := home + 1; ; i++ {
		if i >= words {
			i = 0
		}
		if i == home {
			return -1
		}
		for m := match(p.word(i).Load(), tag); m != 0; m &= m - 1 {
			if j := i<<3 + bits.TrailingZeros64(m)>>3; p.slots[j].key == key {
				return j
			}
		}
	}
}

// freeSlot returns a free slot for an entry with this tag. There must be one.
func (p *page[X, M]) freeSlot(tag uint64) int {
	home := p.home(tag)
	for i := home; ; {
		if m := match(p.word(i).Load(), free); m != 0 {
			return i<<3 + bits.TrailingZeros64(m)>>3
		}
		p.spilled.Store(p.spilled.Load() | 1<<(home&31))
		if i++; i == p.words() {
			i = 0
		}
	}
}

// publish makes slot i, which freeSlot returned, visible to readers. Its key and value must be set.
func (p *page[X, M]) publish(i int, tag uint64) {
	w := p.word(i >> 3)
	w.Store(w.Load() | tag<<(i<<3&63))
	p.used++
	p.live++
}

// retire hides slot i from readers. Its key stays, because a reader may be comparing it.
func (p *page[X, M]) retire(i int) {
	w, shift := p.word(i>>3), i<<3&63
	w.Store(w.Load()&^(0xff<<shift) | dead<<shift)
	p.live--
}

// all yields the published slots and their tags. It reports whether yield always returned true.
func (p *page[X, M]) all(yield func(i int, tag uint64) bool) bool {
	for i := range p.words() {
		w := p.word(i).Load()
		for j := i << 3; w != 0; j, w = j+1, w>>8 {
			if tag := w & 0xff; tag >= minTag && !yield(j, tag) {
				return false
			}
		}
	}
	return true
}

// put copies slot i of another page into p, which readers cannot see yet.
func (p *page[X, M]) put(from *page[X, M], i int, tag uint64) {
	j := p.freeSlot(tag)
	p.slots[j], p.metas[j] = from.slots[i], from.metas[i]
	p.publish(j, tag)
}

// copyTo returns a page of generation gen with the entries of p and room for n.
func (p *page[X, M]) copyTo(gen uint64, n int) *page[X, M] {
	c := newPage[X, M](gen, p.depth, n)
	if p.used == p.live && len(c.slots) == len(p.slots) {
		c.copyFrom(p)
		return c
	}
	p.all(func(i int, tag uint64) bool { c.put(p, i, tag); return true })
	return c
}

// copyFrom makes p, an empty page, equal to a page of the same size without dead slots. That page
// does not change meanwhile: only the writer changes pages, and the writer is the caller.
func (p *page[X, M]) copyFrom(other *page[X, M]) {
	for i := range p.words() {
		p.word(i).Store(other.word(i).Load())
	}
	copy(p.slots, other.slots)
	copy(p.metas, other.metas)
	p.spilled.Store(other.spilled.Load())
	p.used, p.live = other.used, other.live
}

// newPage returns an empty page with room for at least n entries. The sizes nearly fill Go's size
// classes for slots of 24 bytes, without metas and with metas of 24 bytes, and are close enough to
// each other to leave little room unused.
func newPage[X, M any](gen uint64, depth uint8, n int) *page[X, M] {
	var p *page[X, M]
	switch {
	case n <= 3:
		p = allocPage[X, M, [3]slot[X], [3]M]()
	case n <= 5:
		p = allocPage[X, M, [5]slot[X], [5]M]()
	case n <= 8:
		p = allocPage[X, M, [8]slot[X], [8]M]()
	case n <= 12:
		p = allocPage[X, M, [12]slot[X], [12]M]()
	case n <= 16:
		p = allocPage[X, M, [16]slot[X], [16]M]()
	case n <= 18:
		p = allocPage[X, M, [18]slot[X], [18]M]()
	case n <= 21:
		p = allocPage[X, M, [21]slot[X], [21]M]()
	case n <= 24:
		p = allocPage[X, M, [24]slot[X], [24]M]()
	case n <= 29:
		p = allocPage[X, M, [29]slot[X], [29]M]()
	case n <= maxPage:
		p = allocPage[X, M, [maxPage]slot[X], [maxPage]M]()
	default:
		p = newWidePage[X, M](n)
	}
	p.gen, p.depth = gen, depth
	for i := len(p.slots); i < p.words()*8; i++ {
		w := p.word(i >> 3)
		w.Store(w.Load() | dead<<(i<<3&63))
	}
	return p
}

// arrayOf lists the array types of the sizes of newPage.
type arrayOf[E any] interface {
	[3]E | [5]E | [8]E | [12]E | [16]E | [18]E | [21]E | [24]E | [29]E | [maxPage]E
}

// allocPage allocates a page, its slots S and its metas N at once. S and N have the same length.
func allocPage[X, M any, S arrayOf[slot[X]], N arrayOf[M]]() *page[X, M] {
	b := new(struct {
		page  page[X, M]
		slots S
		metas N
	})
	b.page.slots = unsafe.Slice(&b.slots[0], len(b.slots))
	b.page.metas = unsafe.Slice(&b.metas[0], len(b.metas))
	return &b.page
}

// newWidePage returns a page for colliding hashes, which may grow without bound.
func newWidePage[X, M any](n int) *page[X, M] {
	n = (n + n/4 + 7) &^ 7
	wide := make([]atomic.Uint64, n/8-maxPage/8)
	return &page[X, M]{slots: make([]slot[X], n), metas: make([]M, n), wide: &wide}
}
