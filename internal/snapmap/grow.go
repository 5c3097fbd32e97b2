package snapmap

import "sync/atomic"

const (
	maxSegment = 256 // pages of a segment, at which it splits: what a write after a snapshot copies
	sparse     = 4   // a directory doubles only while one in so many of its places is another page
	shrinkAt   = 8   // rebuild when so few of the most entries there were are left: one in shrinkAt
)

// split divides the page of h by the next bit of the hash, and says false where
// the directory may not grow for it: hashes agree too much, the page has to grow.
func (t *table[X]) split(h uint64, p *page[X]) bool {
	r, s := t.path(h)
	if 1<<(p.depth-s.depth) == len(s.pages) {
		if s = t.grow(r, s, h); s == nil {
			return false
		}
	}
	var n [2]int
	bit := func(key string) uint64 { return r.hash.sum(key) >> p.depth & 1 }
	p.all(func(e *slot[X], _ uint64) bool { n[bit(e.key)]++; return true })
	var half [2]*page[X]
	for i := range half {
		half[i] = newPage[X](t.g.now, p.depth+1, n[i]+int(h>>p.depth&1^uint64(i)^1))
	}
	p.all(func(e *slot[X], tag uint64) bool { half[bit(e.key)].put(e, tag); return true })
	for i, q := range half {
		s.setPage(h&^(1<<p.depth)|uint64(i)<<p.depth, q)
	}
	return true
}

// grow gives the segment of h twice the places, by doubling it or, where it is as
// big as one may be, by dividing it in two. It returns the segment that h is in
// then, or nil where the directory would get too sparse.
func (t *table[X]) grow(r *root[X], s *segment[X], h uint64) *segment[X] {
	if s.distinct()*sparse < len(s.pages) {
		return nil
	}
	if len(s.pages) == maxSegment {
		if r = t.growRoot(r, s); r == nil {
			return nil
		}
		s = r.divide(s, h)
	}
	s = &segment[X]{gen: s.gen, depth: s.depth, pages: clone(s.pages, 2)}
	r.setSegment(h, s)
	return s
}

// growRoot returns a root with room for two halves of s, or nil.
func (t *table[X]) growRoot(r *root[X], s *segment[X]) *root[X] {
	if 1<<s.depth < len(r.segs) {
		return r
	}
	if r.distinct()*sparse < len(r.segs) {
		return nil
	}
	r = &root[X]{gen: r.gen, hash: r.hash, segs: clone(r.segs, 2)}
	t.root.Store(r)
	return r
}

// divide replaces s by two segments, one for each value of the next bit of the
// hash, and returns the one that h is in.
func (r *root[X]) divide(s *segment[X], h uint64) *segment[X] {
	var half [2]*segment[X]
	for i := range half {
		half[i] = &segment[X]{gen: s.gen, depth: s.depth + 1, pages: make([]atomic.Pointer[page[X]], len(s.pages)/2)}
	}
	for j := range s.pages {
		half[j&1].pages[j/2].Store(s.pages[j].Load())
	}
	for i, q := range half {
		r.setSegment(h&^(1<<s.depth)|uint64(i)<<s.depth, q)
	}
	return half[h>>s.depth&1]
}

func (s *segment[X]) distinct() (n int) {
	for j := range s.pages {
		if j>>(s.pages[j].Load().depth-s.depth) == 0 {
			n++
		}
	}
	return n
}

func (r *root[X]) distinct() (n int) {
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
func (t *table[X]) rebuild() {
	old := t.root.Load()
	fresh := table[X]{g: t.g}
	fresh.root.Store(newRoot[X](t.g.now, old.hash))
	old.all(func(p *page[X]) bool {
		return p.all(func(s *slot[X], tag uint64) bool {
			q, _ := fresh.reserve(old.hash.sum(s.key))
			q.put(s, tag)
			return true
		})
	})
	t.root.Store(fresh.root.Load())
	t.peak = fresh.peak
}
