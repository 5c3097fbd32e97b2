// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// table is the page directory of a Map or a large Set: two levels of extendible hashing over pages.
// doc.go has the layout and the invariants.
type table[X, M any] struct {
	g    *Generation
	root atomic.Pointer[root[X, M]]
	n    atomic.Int64 // entries
	peak int          // maximum of n since the last rebuild; writer only
}

// root is the first level: segs[i] leads to the entries whose hash ends in the bits of i. Several
// pointers lead to a segment of lesser depth.
type root[X, M any] struct {
	segs []atomic.Pointer[segment[X, M]] // a power of two
	hash hasher
	gen  uint64
}

// segment is the second level: pages[i] leads to the entries whose hash, shifted right by depth,
// ends in the bits of i.
type segment[X, M any] struct {
	pages []atomic.Pointer[page[X, M]] // a power of two, at most maxSegment
	depth uint8
	gen   uint64
}

// hasher hashes keys with a random seed, or with the function that a test injects.
type hasher struct {
	seed     maphash.Seed
	override func(string) uint64 // set by tests
}

func (h *hasher) sum(key string) uint64 {
	if h.override != nil {
		return h.override(key)
	}
	return maphash.String(h.seed, key)
}

func (t *table[X, M]) init(g *Generation) {
	t.g = g
	t.root.Store(newRoot[X, M](g.now, hasher{seed: maphash.MakeSeed()}))
}

// minLike is the average number of entries of a page from which on the layout of a table is worth
// imitating. It has too many pages if most of its entries were deleted.
const minLike = 4

// initLike makes t an empty table of the group of g, with empty pages for those of another root,
// which has n entries and is immutable.
func (t *table[X, M]) initLike(g *Generation, from *root[X, M], n int) {
	pages := 0
	from.all(func(*page[X, M]) bool { pages++; return true })
	if n < minLike*pages {
		t.init(g)
		return
	}
	t.g, t.peak = g, n
	r := &root[X, M]{gen: g.now, hash: from.hash, segs: make([]atomic.Pointer[segment[X, M]], len(from.segs))}
	for i := range from.segs {
		s := from.segs[i].Load()
		if first := i & (1<<s.depth - 1); first < i {
			r.segs[i].Store(r.segs[first].Load())
			continue
		}
		r.segs[i].Store(s.emptyLike(g.now))
	}
	t.root.Store(r)
}

// emptyLike returns a segment of a generation with empty pages that have room for the entries of
// those of s, which are immutable.
func (s *segment[X, M]) emptyLike(gen uint64) *segment[X, M] {
	empty := &segment[X, M]{gen: gen, depth: s.depth, pages: make([]atomic.Pointer[page[X, M]], len(s.pages))}
	for j := range s.pages {
		p := s.pages[j].Load()
		if first := j & (1<<(p.depth-s.depth) - 1); first < j {
			empty.pages[j].Store(empty.pages[first].Load())
			continue
		}
		empty.pages[j].Store(newPage[X, M](gen, p.depth, int(p.live)))
	}
	return empty
}

// forkTo makes to, which is empty, a table of the group of g with the contents of t.
func (t *table[X, M]) forkTo(to *table[X, M], g *Generation) {
	to.g, to.peak = g, t.peak
	to.n.Store(t.n.Load())
	to.root.Store(t.root.Load())
}

func newRoot[X, M any](gen uint64, hash hasher) *root[X, M] {
	s := &segment[X, M]{gen: gen, pages: make([]atomic.Pointer[page[X, M]], 1)}
	s.pages[0].Store(newPage[X, M](gen, 0, 0))
	r := &root[X, M]{gen: gen, hash: hash, segs: make([]atomic.Pointer[segment[X, M]], 1)}
	r.segs[0].Store(s)
	return r
}

// find returns the slot of key, or nil. It is safe for concurrent use. Every read of the store
// calls it, so hasher.sum and the first step of page.index are inlined by hand.
func (r *root[X, M]) find(key string) *slot[X] {
	var h uint64
	if r.hash.override == nil {
		h = maphash.String(r.hash.seed, key)
	} else {
		h = r.hash.override(key)
	}
	p, tag := r.page(h), tagOf(h)
	home := p.home(tag)
	for m := match(p.word(home).Load(), tag); m != 0; m &= m - 1 {
		if s := &p.slots[home<<3+bits.TrailingZeros64(m)>>3]; s.key == key {
			return s
		}
	}
	if p.spilled.Load()>>(home&31)&1 == 0 {
		return nil
	}
	if i := p.indexSpilled(home, tag, key); i >= 0 {
		return &p.slots[i]
	}
	return nil
}

func (r *root[X, M]) page(h uint64) *page[X, M] { return r.segment(h).page(h) }

func (r *root[X, M]) segment(h uint64) *segment[X, M] {
	return r.segs[h&uint64(len(r.segs)-1)].Load()
}

func (s *segment[X, M]) page(h uint64) *page[X, M] {
	return s.pages[h>>(s.depth&63)&uint64(len(s.pages)-1)].Load()
}

// setSegment stores s in all pointers for the hashes that end like h.
func (r *root[X, M]) setSegment(h uint64, s *segment[X, M]) {
	step := uint64(1) << s.depth
	for i := h & (step - 1); i < uint64(len(r.segs)); i += step {
		r.segs[i].Store(s)
	}
}

// setPage stores p in all pointers for the hashes that end like h.
func (s *segment[X, M]) setPage(h uint64, p *page[X, M]) {
	step := uint64(1) << (p.depth - s.depth)
	for i := h >> s.depth & (step - 1); i < uint64(len(s.pages)); i += step {
		s.pages[i].Store(p)
	}
}

// all yields each page once, at the first pointer to it.
func (r *root[X, M]) all(yield func(*page[X, M]) bool) {
	for i := range r.segs {
		s := r.segs[i].Load()
		if i>>s.depth != 0 {
			continue
		}
		for j := range s.pages {
			if p := s.pages[j].Load(); j>>(p.depth-s.depth) == 0 && !yield(p) {
				return
			}
		}
	}
}

// writablePath returns the root and the segment of h in the current generation. It copies older
// ones.
func (t *table[X, M]) writablePath(h uint64) (*root[X, M], *segment[X, M]) {
	r := t.root.Load()
	if r.gen != t.g.now {
		r = &root[X, M]{gen: t.g.now, hash: r.hash, segs: clone(r.segs, 1)}
		t.root.Store(r)
	}
	s := r.segment(h)
	if s.gen != t.g.now {
		s = &segment[X, M]{gen: t.g.now, depth: s.depth, pages: clone(s.pages, 1)}
		r.setSegment(h, s)
	}
	return r, s
}

// clone returns a directory repeated the given number of times. It need not load atomically: only
// the writer stores into the original, and the writer is the caller.
func clone[T any](dir []T, times int) []T {
	c := make([]T, len(dir)*times)
	for i := range times {
		copy(c[i*len(dir):], dir)
	}
	return c
}

// writable returns the page and the slot of an entry in the current generation. It copies an older
// page.
func (t *table[X, M]) writable(h uint64, p *page[X, M], i int) (*page[X, M], int) {
	if p.gen == t.g.now {
		return p, i
	}
	key := p.slots[i].key
	p = t.rewrite(h, p, int(p.live))
	return p, p.index(tagOf(h), key)
}

// rewrite replaces the page of h by a copy without dead slots and with room for n entries.
func (t *table[X, M]) rewrite(h uint64, p *page[X, M], n int) *page[X, M] {
	_, s := t.writablePath(h)
	p = p.copyTo(t.g.now, n)
	s.setPage(h, p)
	return p
}

// reserve returns a page of the current generation and a free slot for a new key with hash h. The
// caller must set key and value and then call publish, before any other change.
func (t *table[X, M]) reserve(h uint64) (*page[X, M], int) {
	p := t.root.Load().page(h)
	if p.gen != t.g.now || int(p.used) == len(p.slots) {
		p = t.makeRoom(h, p)
	}
	n := int(t.n.Add(1))
	t.peak = max(t.peak, n)
	return p, p.freeSlot(tagOf(h))
}

// makeRoom splits the page of h until another entry fits, or rewrites it. A page with dead slots
// gets some extra room, or each new entry would cost a rewrite.
func (t *table[X, M]) makeRoom(h uint64, p *page[X, M]) *page[X, M] {
	for p.live >= maxPage && t.split(h, p) {
		p = t.root.Load().page(h)
	}
	if p.gen == t.g.now && int(p.used) < len(p.slots) {
		return p
	}
	return t.rewrite(h, p, int(p.live+1+min(p.used-p.live, p.live/8)))
}

// remove deletes the entry with hash h in slot i of page p, which writable returned.
func (t *table[X, M]) remove(h uint64, p *page[X, M], i int) {
	p.retire(i)
	n := int(t.n.Add(-1))
	switch {
	case n < t.peak/shrinkAt && t.peak > maxPage:
		t.rebuild()
	case p.live < p.used/2:
		t.rewrite(h, p, int(p.live))
	}
}

// pages returns the current pages. Later writes may replace them in the table.
func (t *table[X, M]) pages() (pages []*page[X, M]) {
	t.root.Load().all(func(p *page[X, M]) bool {
		pages = append(pages, p)
		return true
	})
	return pages
}

// add inserts a key that is not in the table and has no value.
func (t *table[X, M]) add(key string) {
	h := t.root.Load().hash.sum(key)
	p, i := t.reserve(h)
	p.slots[i].key = key
	p.publish(i, tagOf(h))
}

// drop removes a key that is in the table.
func (t *table[X, M]) drop(key string) {
	r := t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	p, i := t.writable(h, p, p.index(tagOf(h), key))
	t.remove(h, p, i)
}
