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

// A page holds the entries whose hashes agree in their lowest depth bits. An
// entry's place is in the word of tags that its tag picks (its home) or, where
// that was full, in the next one with room.
//
// Invariant: tag i is free (slot i was never written), dead (deleted, or there is
// no slot i) or tagOf(hash of slots[i].key).
// Invariant: a slot's key is written once in the page's life, before its tag: who
// has read a tag may read the key.
// Invariant: where an entry is not in its home, the home's bit in spilled was set
// before its tag. The bit stays set for the page's life.
// Invariant: only a page of the current generation is written, only by the writer.
//
// What a reader looks at comes first: it is one line of the CPU's cache. The notes
// are apart from the slots, so that more of these fit into the cache.
type page[X, N any] struct {
	tags    [maxPage / 8]atomic.Uint64 // eight tags a word, one tag a slot, lowest byte first
	slots   []slot[X]
	spilled atomic.Uint32 // bit i: entries whose home is word i (modulo 32) are elsewhere
	depth   uint8         // hash bits that the entries share, counted from the lowest
	notes   []N           // one a slot; the writer's, and of a frozen page anybody's
	gen     uint64
	used    uint32           // slots that are not free; writer only
	live    uint32           // entries; writer only
	wide    *[]atomic.Uint64 // the words after tags, of a page that could not split
}

const (
	free    = 0  // tag of a slot to come
	dead    = 1  // tag of a slot that was
	minTag  = 2  // lowest tag of an entry
	maxPage = 32 // entries at which a page splits, where the directory may grow

	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// tagOf takes the tag from the bits that the directory uses last.
func tagOf(h uint64) uint64 { return max(h>>56, minTag) }

// match returns a word whose bytes' high bits mark the tags in w that equal tag.
// Above a true match it may also mark a tag that differs from the wanted one in
// the lowest bit only. The neighbour of an entry's tag is an entry's tag: every
// slot marked has been published and its key may be read.
func match(w, tag uint64) uint64 {
	x := w ^ tag*lowBits
	return (x - lowBits) &^ x & highBits
}

// home returns the word at which the search for tag begins. It takes nothing but
// the tag, so that a copy of a page needs no hashes.
func (p *page[X, N]) home(tag uint64) int { return int(tag) * len(p.slots) >> 8 >> 3 }

// words returns the number of words of tags.
func (p *page[X, N]) words() int { return (len(p.slots) + 7) >> 3 }

func (p *page[X, N]) word(i int) *atomic.Uint64 {
	if i < len(p.tags) {
		return &p.tags[i]
	}
	return &(*p.wide)[i-len(p.tags)]
}

// index returns the place of key, or -1. Safe from any goroutine.
func (p *page[X, N]) index(tag uint64, key string) int {
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

// indexSpilled goes on where the entry is not in its home, in the order in which room
// looks for a place.
func (p *page[X, N]) indexSpilled(home int, tag uint64, key string) int {
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

// room returns a free place for an entry with this tag; there must be one.
func (p *page[X, N]) room(tag uint64) int {
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

// publish shows readers the slot that room gave; its key and value are complete.
func (p *page[X, N]) publish(i int, tag uint64) {
	w := p.word(i >> 3)
	w.Store(w.Load() | tag<<(i<<3&63))
	p.used++
	p.live++
}

// retire takes the slot out of sight. Its key stays: a reader may be comparing it.
func (p *page[X, N]) retire(i int) {
	w, shift := p.word(i>>3), i<<3&63
	w.Store(w.Load()&^(0xff<<shift) | dead<<shift)
	p.live--
}

// all yields the places of the published slots and their tags.
func (p *page[X, N]) all(yield func(i int, tag uint64) bool) bool {
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

// put copies slot i of another page into one that nobody else can see yet.
func (p *page[X, N]) put(from *page[X, N], i int, tag uint64) {
	j := p.room(tag)
	p.slots[j], p.notes[j] = from.slots[i], from.notes[i]
	p.publish(j, tag)
}

// copyTo returns a page of generation gen with the live entries of p and room for n.
func (p *page[X, N]) copyTo(gen uint64, n int) *page[X, N] {
	c := newPage[X, N](gen, p.depth, n)
	if p.used == p.live && len(c.slots) == len(p.slots) {
		c.fillAs(p)
		return c
	}
	p.all(func(i int, tag uint64) bool { c.put(p, i, tag); return true })
	return c
}

// fillAs makes an empty page like another of its size that has no tombstones. That one
// is not written meanwhile: only the writer writes, who calls this.
func (p *page[X, N]) fillAs(other *page[X, N]) {
	for i := range p.words() {
		p.word(i).Store(other.word(i).Load())
	}
	copy(p.slots, other.slots)
	copy(p.notes, other.notes)
	p.spilled.Store(other.spilled.Load())
	p.used, p.live = other.used, other.live
}

// newPage returns an empty page with room for at least n entries. Header, slots and
// notes are one allocation; the steps fill Go's size classes nearly to the brim for
// slots of 24 bytes, with notes of 24 and without, and are near enough to each other
// that little lies idle.
//
//nolint:funlen // an array's length is a constant: each step is the same five lines
func newPage[X, N any](gen uint64, depth uint8, n int) *page[X, N] {
	var p *page[X, N]
	switch {
	case n <= 3:
		b := new(struct {
			page[X, N]
			s [3]slot[X]
			n [3]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 5:
		b := new(struct {
			page[X, N]
			s [5]slot[X]
			n [5]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 8:
		b := new(struct {
			page[X, N]
			s [8]slot[X]
			n [8]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 12:
		b := new(struct {
			page[X, N]
			s [12]slot[X]
			n [12]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 16:
		b := new(struct {
			page[X, N]
			s [16]slot[X]
			n [16]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 18:
		b := new(struct {
			page[X, N]
			s [18]slot[X]
			n [18]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 21:
		b := new(struct {
			page[X, N]
			s [21]slot[X]
			n [21]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 24:
		b := new(struct {
			page[X, N]
			s [24]slot[X]
			n [24]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= 29:
		b := new(struct {
			page[X, N]
			s [29]slot[X]
			n [29]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	case n <= maxPage:
		b := new(struct {
			page[X, N]
			s [maxPage]slot[X]
			n [maxPage]N
		})
		p, b.slots, b.notes = &b.page, b.s[:], b.n[:]
	default:
		p = newWidePage[X, N](n)
	}
	p.gen, p.depth = gen, depth
	for i := len(p.slots); i < p.words()*8; i++ {
		w := p.word(i >> 3)
		w.Store(w.Load() | dead<<(i<<3&63))
	}
	return p
}

// newWidePage is for hashes that agree too much: such a page may grow without bound.
func newWidePage[X, N any](n int) *page[X, N] {
	n = (n + n/4 + 7) &^ 7
	wide := make([]atomic.Uint64, n/8-maxPage/8)
	return &page[X, N]{slots: make([]slot[X], n), notes: make([]N, n), wide: &wide}
}
