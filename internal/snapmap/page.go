package snapmap

import (
	"math/bits"
	"sync/atomic"
)

// A slot holds one entry. X is the value: an atomic pointer in a Map, nothing in
// a Set. It comes first because a last field of size zero would be padded.
type slot[X any] struct {
	val X
	key string
}

// A page holds the entries whose hashes agree in their lowest depth bits.
//
// Invariant: slots[:used] have been written, slots[used:] never; a key is written
// once in a page's life, before its tag, so whoever has read a tag may read the key.
// Invariant: tag i is 0 (never used, or deleted) or tagOf(hash of slots[i].key).
// Invariant: only a page of the current generation is written, and only by the writer.
type page[X any] struct {
	tags  []atomic.Uint64 // eight tags a word, one tag a slot, lowest byte first
	slots []slot[X]
	gen   uint64
	depth uint8  // hash bits that the entries share, counted from the lowest
	used  uint32 // writer only
	live  uint32 // writer only: used less the deleted
}

const (
	maxPage  = 32 // entries at which a page splits, where the directory may grow
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
	slotBits = 3 // log2 of the tags in a word
)

// tagOf takes the tag from the bits that the directory uses last. A tag is at
// least 2, see match.
func tagOf(h uint64) uint64 { return max(h>>56, 2) }

// match returns a word whose bytes' high bits mark the tags in w that equal tag.
// It may also mark a tag which differs from the wanted one in the lowest bit
// only, above a true match. As tags are 2 or more such a neighbour is never 0:
// every marked slot has been published and its key may be read.
func match(w, tag uint64) uint64 {
	x := w ^ tag*lowBits
	return (x - lowBits) &^ x & highBits
}

// find returns the slot of key, or nil. Safe from any goroutine.
func (p *page[X]) find(h uint64, key string) *slot[X] {
	tag := tagOf(h)
	for i := range p.tags {
		for m := match(p.tags[i].Load(), tag); m != 0; m &= m - 1 {
			s := &p.slots[i<<slotBits+bits.TrailingZeros64(m)>>slotBits]
			if s.key == key {
				return s
			}
		}
	}
	return nil
}

// index returns the place of a slot that find returned.
func (p *page[X]) index(h uint64, key string) int {
	s := p.find(h, key)
	for i := range p.slots {
		if s == &p.slots[i] {
			return i
		}
	}
	return -1
}

// publish makes the slot that reserve gave visible to readers; its key and value
// must be complete.
func (p *page[X]) publish(i int, tag uint64) {
	w := &p.tags[i>>slotBits]
	w.Store(w.Load() | tag<<(i<<slotBits&63))
	p.used++
	p.live++
}

// retire takes the slot out of sight. Its key stays: a reader may be comparing it.
func (p *page[X]) retire(i int) {
	w := &p.tags[i>>slotBits]
	w.Store(w.Load() &^ (0xff << (i << slotBits & 63)))
	p.live--
}

// all yields the published slots and their tags.
func (p *page[X]) all(yield func(s *slot[X], tag uint64) bool) bool {
	for i := range p.tags {
		w := p.tags[i].Load()
		for j := i << slotBits; w != 0; j, w = j+1, w>>8 {
			if tag := w & 0xff; tag != 0 && !yield(&p.slots[j], tag) {
				return false
			}
		}
	}
	return true
}

// put copies a slot into a page that nobody else can see yet.
func (p *page[X]) put(s *slot[X], tag uint64) {
	i := int(p.used)
	p.slots[i] = *s
	p.publish(i, tag)
}

// copyTo returns a page of generation gen with the live entries of p and room for n.
func (p *page[X]) copyTo(gen uint64, n int) *page[X] {
	c := newPage[X](gen, p.depth, n)
	p.all(func(s *slot[X], tag uint64) bool { c.put(s, tag); return true })
	return c
}

// newPage returns an empty page with room for at least n entries. Header, tags
// and slots are one allocation; the steps fill Go's size classes to the brim for
// slots of 24 bytes, so that a page which has just outgrown a step wastes little.
func newPage[X any](gen uint64, depth uint8, n int) *page[X] {
	var p *page[X]
	switch {
	case n == 0:
		p = new(page[X])
	case n <= 3:
		b := new(struct {
			page[X]
			t [1]atomic.Uint64
			s [3]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= 7:
		b := new(struct {
			page[X]
			t [1]atomic.Uint64
			s [7]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= 11:
		b := new(struct {
			page[X]
			t [2]atomic.Uint64
			s [11]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= 15:
		b := new(struct {
			page[X]
			t [2]atomic.Uint64
			s [15]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= 20:
		b := new(struct {
			page[X]
			t [3]atomic.Uint64
			s [20]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= 25:
		b := new(struct {
			page[X]
			t [4]atomic.Uint64
			s [25]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	case n <= maxPage:
		b := new(struct {
			page[X]
			t [maxPage / 8]atomic.Uint64
			s [maxPage]slot[X]
		})
		p, b.tags, b.slots = &b.page, b.t[:], b.s[:]
	default: // hashes that agree too much: a page may grow without bound
		n = (n + n/4 + 7) &^ 7
		p = &page[X]{tags: make([]atomic.Uint64, n/8), slots: make([]slot[X], n)}
	}
	p.gen, p.depth = gen, depth
	return p
}
