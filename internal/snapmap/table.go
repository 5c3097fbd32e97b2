package snapmap

import (
	"hash/maphash"
	"sync/atomic"
)

// A table is the page directory under Map and big Sets: two levels of extendible
// hashing over pages. See doc.go for the drawing and the invariants.
type table[X any] struct {
	g    *Generation
	root atomic.Pointer[root[X]]
	n    atomic.Int64 // entries
	peak int          // most entries since the last rebuild; writer only
}

// A root is the first level: segs[i] has the entries whose hash ends in the bits
// of i. A segment of lesser depth stands in several places.
type root[X any] struct {
	segs []atomic.Pointer[segment[X]] // a power of two
	hash hasher
	gen  uint64
}

// A segment is the second level: pages[i] has the entries whose hash, less the
// depth bits that led here, ends in the bits of i.
type segment[X any] struct {
	pages []atomic.Pointer[page[X]] // a power of two, at most maxSegment
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

func (t *table[X]) init(g *Generation) {
	t.g = g
	t.root.Store(newRoot[X](g.now, hasher{seed: maphash.MakeSeed()}))
}

func newRoot[X any](gen uint64, hash hasher) *root[X] {
	s := &segment[X]{gen: gen, pages: make([]atomic.Pointer[page[X]], 1)}
	s.pages[0].Store(newPage[X](gen, 0, 0))
	r := &root[X]{gen: gen, hash: hash, segs: make([]atomic.Pointer[segment[X]], 1)}
	r.segs[0].Store(s)
	return r
}

// find returns the slot of key, or nil. Safe from any goroutine.
func (r *root[X]) find(key string) *slot[X] {
	h := r.hash.sum(key)
	p := r.page(h)
	if i := p.index(tagOf(h), key); i >= 0 {
		return &p.slots[i]
	}
	return nil
}

func (r *root[X]) page(h uint64) *page[X] { return r.segment(h).page(h) }

func (r *root[X]) segment(h uint64) *segment[X] {
	return r.segs[h&uint64(len(r.segs)-1)].Load()
}

func (s *segment[X]) page(h uint64) *page[X] {
	return s.pages[h>>(s.depth&63)&uint64(len(s.pages)-1)].Load()
}

// setSegment puts s into all its places.
func (r *root[X]) setSegment(h uint64, s *segment[X]) {
	step := uint64(1) << s.depth
	for i := h & (step - 1); i < uint64(len(r.segs)); i += step {
		r.segs[i].Store(s)
	}
}

// setPage puts p into all its places.
func (s *segment[X]) setPage(h uint64, p *page[X]) {
	step := uint64(1) << (p.depth - s.depth)
	for i := h >> s.depth & (step - 1); i < uint64(len(s.pages)); i += step {
		s.pages[i].Store(p)
	}
}

// all yields each page once: at the first of its places.
func (r *root[X]) all(yield func(*page[X]) bool) {
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
func (t *table[X]) path(h uint64) (*root[X], *segment[X]) {
	r := t.root.Load()
	if r.gen != t.g.now {
		r = &root[X]{gen: t.g.now, hash: r.hash, segs: clone(r.segs, 1)}
		t.root.Store(r)
	}
	s := r.segment(h)
	if s.gen != t.g.now {
		s = &segment[X]{gen: t.g.now, depth: s.depth, pages: clone(s.pages, 1)}
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
func (t *table[X]) own(h uint64, p *page[X], i int) (*page[X], int) {
	if p.gen == t.g.now {
		return p, i
	}
	key := p.slots[i].key
	p = t.rewrite(h, p, int(p.live))
	return p, p.index(tagOf(h), key)
}

// rewrite replaces the page of h by a copy without tombstones, with room for n.
func (t *table[X]) rewrite(h uint64, p *page[X], n int) *page[X] {
	_, s := t.path(h)
	p = p.copyTo(t.g.now, n)
	s.setPage(h, p)
	return p
}

// reserve returns a page of this generation and a place in it for a key with
// hash h that is not in the table: the caller writes key and value there, then
// calls publish, before anything else.
func (t *table[X]) reserve(h uint64) (*page[X], int) {
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
func (t *table[X]) makeRoom(h uint64, p *page[X]) *page[X] {
	for p.live >= maxPage && t.split(h, p) {
		p = t.root.Load().page(h)
	}
	if p.gen == t.g.now && int(p.used) < len(p.slots) {
		return p
	}
	return t.rewrite(h, p, int(p.live+1+min(p.used-p.live, p.live/8)))
}

// remove takes out the entry with hash h in slot i of page p, which own gave.
func (t *table[X]) remove(h uint64, p *page[X], i int) {
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
func (t *table[X]) pages() (pages []*page[X]) {
	t.root.Load().all(func(p *page[X]) bool {
		pages = append(pages, p)
		return true
	})
	return pages
}

// add inserts a key that is not in the table and has no value.
func (t *table[X]) add(key string) {
	h := t.root.Load().hash.sum(key)
	p, i := t.reserve(h)
	p.slots[i].key = key
	p.publish(i, tagOf(h))
}

// drop removes a key that is in the table.
func (t *table[X]) drop(key string) {
	r := t.root.Load()
	h := r.hash.sum(key)
	p := r.page(h)
	p, i := t.own(h, p, p.index(tagOf(h), key))
	t.remove(h, p, i)
}
