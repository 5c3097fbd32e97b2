package snapmap

import "sync/atomic"

const (
	maxSegment = 256 // pages of a segment, at which it splits: what a write after a snapshot copies
	sparse     = 4   // a directory doubles only while one in so many of its places is another page
	shrinkAt   = 8   // rebuild when so few of the most entries there were are left: one in shrinkAt
)

// split divides the page of h by the next bit of the hash, and says false where
// the directory may not grow for it: hashes agree too much, the page has to grow.
func (t *table[X, N]) split(h uint64, p *page[X, N]) bool {
	r, s := t.path(h)
	if 1<<(p.depth-s.depth) == len(s.pages) {
		if s = t.grow(r, s, h); s == nil {
			return false
		}
	}
	var n [2]int
	bit := func(key string) uint64 { return r.hash.sum(key) >> p.depth & 1 }
	p.all(func(i int, _ uint64) bool { n[bit(p.slots[i].key)]++; return true })
	var half [2]*page[X, N]
	for i := range half {
		half[i] = newPage[X, N](t.g.now, p.depth+1, n[i]+int(h>>p.depth&1^uint64(i)^1))
	}
	p.all(func(i int, tag uint64) bool { half[bit(p.slots[i].key)].put(p, i, tag); return true })
	for i, q := range half {
		s.setPage(h&^(1<<p.depth)|uint64(i)<<p.depth, q)
	}
	return true
}

// grow gives the segment of h twice the places, by doubling it or, where it is as
// big as one may be, by dividing it in two. It returns the segment that h is in
// then, or nil where the directory would get too sparse.
func (t *table[X, N]) grow(r *root[X, N], s *segment[X, N], h uint64) *segment[X, N] {
	if s.distinct()*sparse < len(s.pages) {
		return nil
	}
	if len(s.pages) == maxSegment {
		if r = t.growRoot(r, s); r == nil {
			return nil
		}
		s = r.divide(s, h)
	}
	s = &segment[X, N]{gen: s.gen, depth: s.depth, pages: clone(s.pages, 2)}
	r.setSegment(h, s)
	return s
}

// growRoot returns a root with room for two halves of s, or nil.
func (t *table[X, N]) growRoot(r *root[X, N], s *segment[X, N]) *root[X, N] {
	if 1<<s.depth < len(r.segs) {
		return r
	}
	if r.distinct()*sparse < len(r.segs) {
		return nil
	}
	r = &root[X, N]{gen: r.gen, hash: r.hash, segs: clone(r.segs, 2)}
	t.root.Store(r)
	return r
}

// divide replaces s by two segments, one for each value of the next bit of the
// hash, and returns the one that h is in.
func (r *root[X, N]) divide(s *segment[X, N], h uint64) *segment[X, N] {
	var half [2]*segment[X, N]
	for i := range half {
		half[i] = &segment[X, N]{gen: s.gen, depth: s.depth + 1, pages: make([]atomic.Pointer[page[X, N]], len(s.pages)/2)}
	}
	for j := range s.pages {
		half[j&1].pages[j/2].Store(s.pages[j].Load())
	}
	for i, q := range half {
		r.setSegment(h&^(1<<s.depth)|uint64(i)<<s.depth, q)
	}
	return half[h>>s.depth&1]
}

func (s *segment[X, N]) distinct() (n int) {
	for j := range s.pages {
		if j>>(s.pages[j].Load().depth-s.depth) == 0 {
			n++
		}
	}
	return n
}

func (r *root[X, N]) distinct() (n int) {
	for i := range r.segs {
		if i>>r.segs[i].Load().depth == 0 {
			n++
		}
	}
	return n
}

// rebuild makes the directory fit what is left of the entries, aside, and swaps
// the root. Pages do not merge one by one: this costs less than the deletions
// which led to it, and keeps growing the only thing a directory does.
func (t *table[X, N]) rebuild() {
	old := t.root.Load()
	fresh := table[X, N]{g: t.g}
	fresh.root.Store(newRoot[X, N](t.g.now, old.hash))
	old.all(func(p *page[X, N]) bool {
		return p.all(func(i int, tag uint64) bool {
			q, _ := fresh.reserve(old.hash.sum(p.slots[i].key))
			q.put(p, i, tag)
			return true
		})
	})
	t.root.Store(fresh.root.Load())
	t.peak = fresh.peak
}
