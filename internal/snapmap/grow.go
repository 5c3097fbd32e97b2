// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import "sync/atomic"

const (
	maxSegment = 256 // pointers at which a segment splits: a write after a snapshot copies a segment
	maxAliases = 4   // average pointers per page or segment above which a directory does not double
	shrinkAt   = 8   // the map is rebuilt when fewer than 1/shrinkAt of its peak entries are left
)

// split divides the page of h by the next bit of the hash. It reports false if the directory may
// not grow for it because hashes collide; then the page has to grow.
func (t *table[X, M]) split(h uint64, p *page[X, M]) bool {
	r, s := t.writablePath(h)
	if 1<<(p.depth-s.depth) == len(s.pages) {
		if s = t.grow(r, s, h); s == nil {
			return false
		}
	}
	var n [2]int
	bit := func(key string) uint64 { return r.hash.sum(key) >> p.depth & 1 }
	p.all(func(i int, _ uint64) bool { n[bit(p.slots[i].key)]++; return true })
	var half [2]*page[X, M]
	for i := range half {
		half[i] = newPage[X, M](t.g.now, p.depth+1, n[i]+int(h>>p.depth&1^uint64(i)^1))
	}
	p.all(func(i int, tag uint64) bool { half[bit(p.slots[i].key)].put(p, i, tag); return true })
	for i, q := range half {
		s.setPage(h&^(1<<p.depth)|uint64(i)<<p.depth, q)
	}
	return true
}

// grow doubles the pointers for the hashes of the segment of h, after dividing the segment in two
// if it has its maximum size. It returns the segment of h, or nil if there are too many aliases.
func (t *table[X, M]) grow(r *root[X, M], s *segment[X, M], h uint64) *segment[X, M] {
	if s.distinct()*maxAliases < len(s.pages) {
		return nil
	}
	if len(s.pages) == maxSegment {
		if r = t.growRoot(r, s); r == nil {
			return nil
		}
		s = r.divide(s, h)
	}
	s = &segment[X, M]{gen: s.gen, depth: s.depth, pages: clone(s.pages, 2)}
	r.setSegment(h, s)
	return s
}

// growRoot returns a root with a pointer for each half of s, or nil if there are too many aliases.
func (t *table[X, M]) growRoot(r *root[X, M], s *segment[X, M]) *root[X, M] {
	if 1<<s.depth < len(r.segs) {
		return r
	}
	if r.distinct()*maxAliases < len(r.segs) {
		return nil
	}
	r = &root[X, M]{gen: r.gen, hash: r.hash, segs: clone(r.segs, 2)}
	t.root.Store(r)
	return r
}

// divide replaces s by two segments, one for each value of the next bit of the hash, and returns
// the segment of h.
func (r *root[X, M]) divide(s *segment[X, M], h uint64) *segment[X, M] {
	var half [2]*segment[X, M]
	for i := range half {
		half[i] = &segment[X, M]{gen: s.gen, depth: s.depth + 1, pages: make([]atomic.Pointer[page[X, M]], len(s.pages)/2)}
	}
	for j := range s.pages {
		half[j&1].pages[j/2].Store(s.pages[j].Load())
	}
	for i, q := range half {
		r.setSegment(h&^(1<<s.depth)|uint64(i)<<s.depth, q)
	}
	return half[h>>s.depth&1]
}

// distinct returns the number of pages.
func (s *segment[X, M]) distinct() (n int) {
	for j := range s.pages {
		if j>>(s.pages[j].Load().depth-s.depth) == 0 {
			n++
		}
	}
	return n
}

// distinct returns the number of segments.
func (r *root[X, M]) distinct() (n int) {
	for i := range r.segs {
		if i>>r.segs[i].Load().depth == 0 {
			n++
		}
	}
	return n
}

// rebuild inserts the remaining entries into a new directory and swaps the root. That costs less
// than the deletions that led to it, and is simpler than merging pages one by one.
func (t *table[X, M]) rebuild() {
	old := t.root.Load()
	fresh := table[X, M]{g: t.g}
	fresh.root.Store(newRoot[X, M](t.g.now, old.hash))
	old.all(func(p *page[X, M]) bool {
		return p.all(func(i int, tag uint64) bool {
			q, _ := fresh.reserve(old.hash.sum(p.slots[i].key))
			q.put(p, i, tag)
			return true
		})
	})
	t.root.Store(fresh.root.Load())
	t.peak = fresh.peak
}
