// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"fmt"
	"iter"
	"testing"
)

// validate checks the invariants of doc.go in the whole structure and returns the number of
// entries.
func (r *root[X, M]) validate(now uint64) (n int, err error) {
	if len(r.segs)&(len(r.segs)-1) != 0 || r.gen > now {
		return 0, fmt.Errorf("root of generation %d has %d pointers, in generation %d", r.gen, len(r.segs), now)
	}
	if len(r.segs) > 2*maxAliases*r.distinct() {
		return 0, fmt.Errorf("root has %d pointers to %d segments", len(r.segs), r.distinct())
	}
	seen := map[string]bool{}
	for i := range r.segs {
		s := r.segs[i].Load()
		if 1<<s.depth > len(r.segs) || s != r.segs[i&(1<<s.depth-1)].Load() {
			return 0, fmt.Errorf("segment %d: depth %d does not match its pointers", i, s.depth)
		}
		if i>>s.depth != 0 {
			continue
		}
		if s.gen > r.gen || len(s.pages) > maxSegment || len(s.pages)&(len(s.pages)-1) != 0 {
			return 0, fmt.Errorf("segment %d: %d pages, generation %d in a root of generation %d", i, len(s.pages), s.gen, r.gen)
		}
		if err := s.validate(&r.hash, uint64(i), seen); err != nil {
			return 0, fmt.Errorf("segment %d: %w", i, err)
		}
	}
	return len(seen), nil
}

func (s *segment[X, M]) validate(hash *hasher, prefix uint64, seen map[string]bool) error {
	for j := range s.pages {
		p := s.pages[j].Load()
		own := p.depth - s.depth
		if p.depth < s.depth || 1<<own > len(s.pages) || p != s.pages[j&(1<<own-1)].Load() {
			return fmt.Errorf("page %d: depth %d does not match its pointers in a segment of depth %d", j, p.depth, s.depth)
		}
		if j>>own != 0 {
			continue
		}
		if p.gen > s.gen {
			return fmt.Errorf("page %d: generation %d in a segment of generation %d", j, p.gen, s.gen)
		}
		if err := p.validate(hash, prefix|uint64(j)<<s.depth, seen); err != nil {
			return fmt.Errorf("page %d: %w", j, err)
		}
	}
	return nil
}

func (p *page[X, M]) validate(hash *hasher, prefix uint64, seen map[string]bool) (err error) {
	var live uint32
	p.all(func(i int, tag uint64) bool {
		s := &p.slots[i]
		h := hash.sum(s.key)
		live++
		switch {
		case seen[s.key]:
			err = fmt.Errorf("key %q is there twice", s.key)
		case tag != tagOf(h):
			err = fmt.Errorf("key %q has tag %d, want %d", s.key, tag, tagOf(h))
		case h&(1<<p.depth-1) != prefix:
			err = fmt.Errorf("key %q with hash %x is in page %x of depth %d", s.key, h, prefix, p.depth)
		case p.index(tag, s.key) < 0 || &p.slots[p.index(tag, s.key)] != s:
			err = fmt.Errorf("key %q is not found", s.key)
		}
		seen[s.key] = true
		return err == nil
	})
	if err == nil && (live != p.live || p.used < p.live || int(p.used) > len(p.slots) || p.words()*8 < len(p.slots)) {
		err = fmt.Errorf("%d entries, live is %d, used is %d, %d slots and %d tags", live, p.live, p.used, len(p.slots), p.words()*8)
	}
	return err
}

// validate fails the test if the table breaks an invariant.
func (t *table[X, M]) validate(tb testing.TB) {
	tb.Helper()
	n, err := t.root.Load().validate(t.g.now)
	if err != nil {
		tb.Fatal(err)
	}
	if int64(n) != t.n.Load() || n > t.peak {
		tb.Fatalf("%d entries, n is %d, peak is %d", n, t.n.Load(), t.peak)
	}
}

// mapReader is the common part of Map and View.
type mapReader[V any] interface {
	Get(key string) *V
	Len() int
	All() iter.Seq2[string, Item[V, struct{}]]
}

// checkMap compares a map or a view with a plain map.
func checkMap[V any](tb testing.TB, got mapReader[V], want map[string]*V) {
	tb.Helper()
	if got.Len() != len(want) {
		tb.Fatalf("Len() = %d, want %d", got.Len(), len(want))
	}
	for k, v := range want {
		if got.Get(k) != v {
			tb.Fatalf("Get(%q) = %v, want %v", k, got.Get(k), v)
		}
	}
	seen := map[string]bool{}
	for k, item := range got.All() {
		if v := item.Value; seen[k] || v == nil || want[k] != v {
			tb.Fatalf("All yields key %q with value %v, want %v; yielded before: %v", k, v, want[k], seen[k])
		}
		seen[k] = true
	}
	if len(seen) != len(want) {
		tb.Fatalf("All yields %d keys, want %d", len(seen), len(want))
	}
}

// checkSet compares a set with a plain map.
func checkSet(tb testing.TB, got *Set, want map[string]bool) {
	tb.Helper()
	if big := got.big(); big != nil {
		big.validate(tb)
	}
	if got.Len() != len(want) {
		tb.Fatalf("Len() = %d, want %d", got.Len(), len(want))
	}
	for k := range want {
		if !got.Has(k) {
			tb.Fatalf("Has(%q) = false, want true", k)
		}
	}
	seen := map[string]bool{}
	for k := range got.All() {
		if seen[k] || !want[k] {
			tb.Fatalf("All yields key %q, yielded before: %v", k, seen[k])
		}
		seen[k] = true
	}
	if len(seen) != len(want) {
		tb.Fatalf("All yields %d keys, want %d", len(seen), len(want))
	}
}
