package snapmap

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// A table is the page directory under Map and big Sets: two levels of extendible
// hashing over pages. See doc.go for the drawing and the invariants.
type table[X, N any] struct {
	g    *Generation
	root atomic.Pointer[root[X, N]]
	n    atomic.Int64 // entries
	peak int          // most entries since the last rebuild; writer only
}

// A root is the first level: segs[i] has the entries whose hash ends in the bits
// of i. A segment of lesser depth stands in several places.
type root[X, N any] struct {
	segs []atomic.Pointer[segment[X, N]] // a power of two
	hash hasher
	gen  uint64
}

// A segment is the second level: pages[i] has the entries whose hash, less the
// depth bits that led here, ends in the bits of i.
type segment[X, N any] struct {
	pages []atomic.Pointer[page[X, N]] // a power of two, at most maxSegment
	depth uint8
	gen   uint64
}

// hasher hashes keys: with a seed of its own, or as a test wants it.
type hasher struct {
	seed maphash.Seed
	test func(string) uint64
}

func (h *hasher) sum(key string) uint64 {
	if h.test != nil {
		return h.test(key)
	}
	return maphash.String(h.seed, key)
}

func (t *table[X, N]) init(g *Generation) {
	t.g = g
	t.root.Store(newRoot[X, N](g.now, hasher{seed: maphash.MakeSeed()}))
}

func newRoot[X, N any](gen uint64, hash hasher) *root[X, N] {
	s := &segment[X, N]{gen: gen, pages: make([]atomic.Pointer[page[X, N]], 1)}
	s.pages[0].Store(newPage[X, N](gen, 0, 0))
	r := &root[X, N]{gen: gen, hash: hash, segs: make([]atomic.Pointer[segment[X, N]], 1)}
	r.segs[0].Store(s)
	return r
}

// find returns the slot of key, or nil. Safe from any goroutine. It is what every
// read of the store goes through, so it has hasher.sum and page.index's first look at
// a page within itself.
func (r *root[X, N]) find(key string) *slot[X] {
	var h uint64
	if r.hash.test == nil {
		h = maphash.String(r.hash.seed, key)
	} else {
		h = r.hash.test(key)
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

func (r *root[X, N]) page(h uint64) *page[X, N] { return r.segment(h).page(h) }

func (r *root[X, N]) segment(h uint64) *segment[X, N] {
	return r.segs[h&uint64(len(r.segs)-1)].Load()
}

func (s *segment[X, N]) page(h uint64) *page[X, N] {
	return s.pages[h>>(s.depth&63)&uint64(len(s.pages)-1)].Load()
}

// setSegment puts s into all its places.
func (r *root[X, N]) setSegment(h uint64, s *segment[X, N]) {
	step := uint64(1) << s.depth
	for i := h & (step - 1); i < uint64(len(r.segs)); i += step {
		r.segs[i].Store(s)
	}
}

// setPage puts p into all its places.
func (s *segment[X, N]) setPage(h uint64, p *page[X, N]) {
	step := uint64(1) << (p.depth - s.depth)
	for i := h >> s.depth & (step - 1); i < uint64(len(s.pages)); i += step {
		s.pages[i].Store(p)
	}
}

// all yields each page once: at the first of its places.
func (r *root[X, N]) all(yield func(*page[X, N]) bool) {
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

// path returns the segment of h, writable: it and the root are of this generation.
func (t *table[X, N]) path(h uint64) (*root[X, N], *segment[X, N]) {
	r := t.root.Load()
	if r.gen != t.g.now {
		r = &root[X, N]{gen: t.g.now, hash: r.hash, segs: clone(r.segs, 1)}
		t.root.Store(r)
	}
	s := r.segment(h)
	if s.gen != t.g.now {
		s = &segment[X, N]{gen: t.g.now, depth: s.depth, pages: clone(s.pages, 1)}
		r.setSegment(h, s)
	}
	return r, s
}

// clone returns a copy of a directory, times over. The plain copy is sound: only
// the writer, who calls this, ever stores into the original.
func clone[T any](dir []T, times int) []T {
	c := make([]T, len(dir)*times)
	for i := range times {
		copy(c[i*len(dir):], dir)
	}
	return c
}

// own returns the place of a key that is in the table, in a page that may be
// written.
func (t *table[X, N]) own(h uint64, p *page[X, N], i int) (*page[X, N], int) {
	if p.gen == t.g.now {
		return p, i
	}
	key := p.slots[i].key
	p = t.rewrite(h, p, int(p.live))
	return p, p.index(tagOf(h), key)
}

// rewrite replaces the page of h by a copy without tombstones, with room for n.
func (t *table[X, N]) rewrite(h uint64, p *page[X, N], n int) *page[X, N] {
	_, s := t.path(h)
	p = p.copyTo(t.g.now, n)
	s.setPage(h, p)
	return p
}

// reserve returns a page of this generation and a place in it for a key with
// hash h that is not in the table: the caller writes key and value there, then
// calls publish, before anything else.
func (t *table[X, N]) reserve(h uint64) (*page[X, N], int) {
	p := t.root.Load().page(h)
	if p.gen != t.g.now || int(p.used) == len(p.slots) {
		p = t.makeRoom(h, p)
	}
	n := int(t.n.Add(1))
	t.peak = max(t.peak, n)
	return p, p.room(tagOf(h))
}

// makeRoom splits the page of h until an entry more fits, or rewrites it. Where
// entries come and go it leaves some room, or each new one would cost a rewrite.
func (t *table[X, N]) makeRoom(h uint64, p *page[X, N]) *page[X, N] {
	for p.live >= maxPage && t.split(h, p) {
		p = t.root.Load().page(h)
	}
	if p.gen == t.g.now && int(p.used) < len(p.slots) {
		return p
	}
	return t.rewrite(h, p, int(p.live+1+min(p.used-p.live, p.live/8)))
}

// remove takes out the entry with hash h in slot i of page p, which own gave.
func (t *table[X, N]) remove(h uint64, p *page[X, N], i int) {
	p.retire(i)
	n := int(t.n.Add(-1))
	switch {
	case n < t.peak/shrinkAt && t.peak > maxPage:
		t.rebuild()
	case p.live < p.used/2:
		t.rewrite(h, p, int(p.live))
	}
}

// pages returns the pages as they are. Later writes may replace them; those in
// the slice stay complete.
func (t *table[X, N]) pages() (pages []*page[X, N]) {
	t.root.Load().all(func(p *page[X, N]) bool {
		pages = append(pages, p)
		return true
	})
	return pages
}

// add inserts a key that is not in the table and has no value.
func (t *table[X, N]) add(key string) {
	h := t.root.Load().hash.sum(key)
	p, i := t.reserve(h)
	p.slots[i].key = key
	p.publish(i, tagOf(h))
}

// drop removes a key that is in the table.
func (t *table[X, N]) drop(key string) {
	r := t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	p, i := t.own(h, p, p.index(tagOf(h), key))
	t.remove(h, p, i)
}
