// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"maps"
	"slices"
	"strconv"
	"testing"
)

// TestSetsAcrossTheThreshold keeps a set at each size as it grows to a table and shrinks to a slice
// again, with and without a snapshot before each change.
func TestSetsAcrossTheThreshold(t *testing.T) {
	for _, every := range []int{1, 5, 1000} {
		g := new(Generation)
		s := NewSet(g)
		model := map[string]bool{}
		var sets []keptSet
		step := 0
		change := func(i int, in bool) {
			if step++; step%every == 0 {
				sets = append(sets, keptSet{s, maps.Clone(model)})
				g.Advance()
			}
			if k := strconv.Itoa(i); in {
				s = s.Add(g, k)
				model[k] = true
			} else {
				s = s.Remove(g, k)
				delete(model, k)
			}
			checkSet(t, s, model)
			if len(model) > 0 && !model[s.AnyKey()] {
				t.Fatalf("AnyKey() = %q, which is not in the set", s.AnyKey())
			}
		}
		for range 3 {
			for i := range 2 * maxSmall {
				change(i, true)
			}
			if s.big() == nil {
				t.Error("a large set has no table")
			}
			for i := range 2 * maxSmall {
				change(i, false)
			}
			if s.big() != nil {
				t.Error("an empty set has a table")
			}
		}
		for _, kept := range sets {
			checkSet(t, kept.set, kept.model)
		}
	}
}

// TestSmallSetReturnsItsMemory checks that a set that had many keys has no room for them later.
func TestSmallSetReturnsItsMemory(t *testing.T) {
	g := new(Generation)
	s := NewSet(g)
	for i := range maxSmall {
		s = s.Add(g, strconv.Itoa(i))
	}
	for i := range maxSmall - 1 {
		s = s.Remove(g, strconv.Itoa(i))
	}
	if got := slices.Collect(s.All()); len(got) != 1 || s.room > 3 {
		t.Errorf("the set has %q and room for %d keys, want one key and room for 3 at most", got, s.room)
	}
}

// TestChangeOfLargeSetCopiesFewKeys checks that a change after a snapshot copies a page, not the
// set.
func TestChangeOfLargeSetCopiesFewKeys(t *testing.T) {
	g := new(Generation)
	s := NewSet(g)
	const n = 100_000
	for i := range n {
		s = s.Add(g, strconv.Itoa(i))
	}
	pages := len(s.big().pages())
	g.Advance()
	before := s
	s = s.Add(g, "new").Remove(g, "0")
	old := map[*page[struct{}, struct{}]]bool{}
	for _, p := range before.big().pages() {
		old[p] = true
	}
	copied := 0
	for _, p := range s.big().pages() {
		if !old[p] {
			copied++
		}
	}
	if copied > 4 || before.Len() != n || before.Has("new") || !before.Has("0") || s.Has("0") {
		t.Errorf("two changes copied %d of %d pages, want at most 4; the snapshot has %d keys", copied, pages, before.Len())
	}
}

// TestSetLikeAnother fills sets that were made like another one, with its keys, with more and with
// few of them.
func TestSetLikeAnother(t *testing.T) {
	for _, n := range []int{0, 1, 20, maxSmall, maxSmall + 1, 3000} {
		g := new(Generation)
		other := NewSet(g)
		for i := range n {
			other = other.Add(g, strconv.Itoa(i))
		}
		g.Advance()
		for _, m := range []int{0, 1, n / 5, n, n + 1, 2 * n} {
			set, want := NewSetLike(g, other), map[string]bool{}
			for i := range m {
				set = set.Add(g, strconv.Itoa(n-i))
				want[strconv.Itoa(n-i)] = true
			}
			checkSet(t, set, want)
			set.Trim()
			checkSet(t, set, want)
			if added := set.Add(g, "another"); !added.Has("another") || added.Len() != m+1 {
				t.Errorf("%d keys after one was added to %d", added.Len(), m)
			}
		}
		if other.Len() != n {
			t.Errorf("the other set has %d keys, want %d", other.Len(), n)
		}
	}
	if set := NewSetLike(new(Generation), nil); set.Len() != 0 {
		t.Error("a set that is like none has keys")
	}
}
