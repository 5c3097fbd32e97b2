// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/process"
)

func TestMapOperations(t *testing.T) {
	m := NewMap[int, struct{}](new(Generation))
	if m.Get("a") != nil || m.Delete("a") != nil || m.Len() != 0 {
		t.Fatal("a new map is not empty")
	}
	one, two := new(1), new(2)
	if old := m.Set("a", one); old != nil {
		t.Fatalf("the first Set returned %v, want nil", old)
	}
	if old := m.Set("a", two); old != one || m.Get("a") != two || m.Len() != 1 {
		t.Fatalf("the second Set returned %v, or did not replace the value", old)
	}
	m.Set("", one)
	if m.Get("") != one {
		t.Fatal("the empty key was not found")
	}
	if old := m.Delete("a"); old != two || m.Get("a") != nil || m.Len() != 1 {
		t.Fatalf("Delete returned %v, or did not delete the key", old)
	}
}

func TestSetOfNilPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Fatal("Set did not panic")
		}
	}()
	NewMap[int, struct{}](new(Generation)).Set("a", nil)
}

func TestZeroViewIsEmpty(t *testing.T) {
	var v View[int, struct{}]
	if v.Get("a") != nil || v.Len() != 0 {
		t.Fatal("the zero View is not empty")
	}
	for k := range v.All() {
		t.Fatalf("the zero View yields %q", k)
	}
}

func TestAdvanceFreezesAllMapsAndSets(t *testing.T) {
	g := new(Generation)
	m, index, set := NewMap[int, struct{}](g), NewMap[Set, struct{}](g), NewSet(g)
	m.Set("pod", new(1))
	index.Set("node", set.Add(g, "pod"))
	entries, byNode := m.View(), index.View()
	g.Advance()
	m.Delete("pod")
	index.Set("node", index.Get("node").Remove(g, "pod"))
	if entries.Get("pod") == nil || !byNode.Get("node").Has("pod") {
		t.Fatal("a write changed a view")
	}
	if m.Len() != 0 || index.Get("node").Len() != 0 {
		t.Fatal("a write was lost")
	}
}

func TestUpdateWithoutSnapshotDoesNotAllocate(t *testing.T) {
	m := NewMap[int, struct{}](new(Generation))
	keys := newKeys(1000)
	v := new(1)
	for _, k := range keys {
		m.Set(k, v)
	}
	if n := testing.AllocsPerRun(1000, func() { m.Set(keys[7], v); m.Get(keys[8]) }); n != 0 {
		t.Fatalf("an update makes %v allocations, want 0", n)
	}
}

// TestSlotKeysNeverChange guards readers that compare a key while its page is being changed.
func TestSlotKeysNeverChange(t *testing.T) {
	m := NewMap[int, struct{}](new(Generation))
	v := new(1)
	type slotRef struct {
		p *page[atomic.Pointer[int], struct{}]
		i int
	}
	was := map[slotRef]string{}
	for round := range 3000 {
		m.Set(strconv.Itoa(round), v)
		m.Delete(strconv.Itoa(round * 7 % (round + 1)))
		for _, p := range m.t.pages() {
			for i := range p.slots {
				key := p.slots[i].key
				if k := was[slotRef{p, i}]; k != "" && k != key {
					t.Fatalf("round %d: the key of slot %d changed from %q to %q", round, i, k, key)
				}
				was[slotRef{p, i}] = key
			}
		}
	}
}

func TestDeleteAndSetDuringAll(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	const n = 5000
	for i := range n {
		m.Set(strconv.Itoa(i), new(i))
	}
	seen := map[string]bool{}
	for k, item := range m.All() {
		v := item.Value
		if seen[k] || strconv.Itoa(*v) != k {
			t.Fatalf("All yields key %q with value %d, yielded before: %v", k, *v, seen[k])
		}
		seen[k] = true
		m.Delete(k)
		m.Set("new"+k, v)
		m.Delete("new" + k)
		if *v%100 == 0 {
			g.Advance()
		}
	}
	if len(seen) != n || m.Len() != 0 {
		t.Fatalf("All yielded %d keys, want %d; %d are left", len(seen), n, m.Len())
	}
	m.t.validate(t)
}

func TestBreakOutOfAll(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	s := NewSet(g)
	for i := range 100 {
		m.Set(strconv.Itoa(i), new(i))
		s = s.Add(g, strconv.Itoa(i))
	}
	n := 0
	for range m.All() {
		n++
		break
	}
	for range m.View().All() {
		n++
		break
	}
	for range s.All() {
		n++
		break
	}
	if n != 3 {
		t.Fatalf("the loops ran %d times in all, want 3", n)
	}
}

// size returns the number of pages and of pointers of the directory, and the bytes of both.
func (t *table[X, M]) size() (pages, pointers, bytes int) {
	r := t.root.Load()
	pointers = len(r.segs)
	for i := range r.segs {
		if s := r.segs[i].Load(); i>>s.depth == 0 {
			pointers += len(s.pages)
			bytes += 48
		}
	}
	for _, p := range t.pages() {
		pages++
		bytes += 112 + 24*len(p.slots)
	}
	return pages, pointers, bytes + 8*pointers
}

// TestChurnLeavesMemoryFlat replaces keys by new ones and keeps their number constant.
func TestChurnLeavesMemoryFlat(t *testing.T) {
	const live = 5_000
	m := NewMap[int, struct{}](new(Generation))
	v := new(1)
	for i := range live {
		m.Set(strconv.Itoa(i), v)
	}
	var settled float64
	for i := live; i < churnRounds; i++ {
		if m.Delete(strconv.Itoa(i-live)) == nil {
			t.Fatalf("key %d is missing", i-live)
		}
		m.Set(strconv.Itoa(i), v)
		if i == 2*live {
			settled = process.LiveHeap()
		}
	}
	m.t.validate(t)
	if now := process.LiveHeap(); now > 1.1*settled {
		t.Errorf("heap grew from %.0f to %.0f bytes", settled, now)
	}
	if _, _, bytes := m.t.size(); bytes > 60*live {
		t.Errorf("%d bytes an entry, want at most 60", bytes/live)
	}
}

func TestMemoryShrinksAfterDeletions(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, struct{}](g)
	s := NewSet(g)
	const n = shrinkKeys
	v := new(1)
	for i := range n {
		m.Set(strconv.Itoa(i), v)
		s = s.Add(g, strconv.Itoa(i))
	}
	for i := range n - 3 {
		m.Delete(strconv.Itoa(i))
		s = s.Remove(g, strconv.Itoa(i))
		if left := n - 1 - i; left == n/4 { // too many for a rebuild
			if _, _, bytes := m.t.size(); bytes > 75*left {
				t.Errorf("the last quarter takes %d bytes an entry, want at most 75", bytes/left)
			}
		}
	}
	if pages, _, bytes := m.t.size(); pages > 2 || bytes > 1000 {
		t.Errorf("3 entries take %d pages and %d bytes, want at most 2 and 1000", pages, bytes)
	}
	if s.big() != nil || s.Len() != 3 {
		t.Errorf("a set of %d keys is not small, want 3", s.Len())
	}
}

// TestMetaStaysWithItsKey updates items through splits, copies and views.
func TestMetaStaysWithItsKey(t *testing.T) {
	g := new(Generation)
	m := NewMap[int, string](g)
	const n = 2000
	for round := range 3 {
		frozen := m.View()
		g.Advance()
		for i := range n {
			k := strconv.Itoa(i)
			old := m.Put(k, Item[int, string]{new(round), fmt.Sprint(k, " in ", round)})
			if round > 0 && (*old.Value != round-1 || old.Meta != fmt.Sprint(k, " in ", round-1)) {
				t.Fatalf("Put of %q returned value %d and meta %q", k, *old.Value, old.Meta)
			}
		}
		for k, item := range frozen.All() {
			if want := fmt.Sprint(k, " in ", round-1); item.Meta != want || frozen.Item(k) != item {
				t.Fatalf("a view has %q with meta %q, want %q", k, item.Meta, want)
			}
		}
	}
	for i := range n {
		if k := strconv.Itoa(i); m.Item(k).Meta != k+" in 2" {
			t.Fatalf("%q has meta %q", k, m.Item(k).Meta)
		}
	}
	m.Delete("7")
	if item := m.Item("7"); item != (Item[int, string]{}) {
		t.Errorf("a deleted key has item %v", item)
	}
	m.Set("7", new(7))
	if item := m.Item("7"); *item.Value != 7 || item.Meta != "" {
		t.Errorf("a key that was set again has meta %q, want none", item.Meta)
	}
}

func TestSwapReplacesTheContents(t *testing.T) {
	m, next := NewMap[int, struct{}](new(Generation)), NewMap[int, struct{}](new(Generation))
	m.Set("old", new(1))
	next.Set("new", new(2))
	view := m.View()
	m.Swap(next)
	m.t.validate(t)
	if m.Get("old") != nil || *m.Get("new") != 2 || m.Len() != 1 || view.Get("old") == nil || view.Get("new") != nil {
		t.Error("Swap mixed the contents")
	}
}

// TestMapLikeAnother fills maps that were made like another one, with its keys, with others and
// with few of them, in all kinds of hashes.
func TestMapLikeAnother(t *testing.T) {
	const n = 300
	for name, hash := range hashFuncs() {
		t.Run(name, func(t *testing.T) {
			other := NewMap[int, struct{}](new(Generation))
			other.t.injectHash(hash)
			for i := range n {
				other.Set(strconv.Itoa(i), new(i))
			}
			for i := range n / 3 {
				other.Delete(strconv.Itoa(3 * i))
			}
			view := other.View()
			for _, keys := range []struct{ from, to int }{{0, n}, {n / 2, 2 * n}, {n, n + 20}, {0, 0}} {
				m, want := NewMapLike(new(Generation), view), make(map[string]*int)
				m.t.validate(t)
				for i := keys.from; i < keys.to; i++ {
					want[strconv.Itoa(i)] = new(i)
					m.Set(strconv.Itoa(i), want[strconv.Itoa(i)])
				}
				m.t.validate(t)
				m.Trim()
				m.t.validate(t)
				checkMap(t, m, want)
			}
			other.t.validate(t)
			if view.Len() != other.Len() || other.Len() != n-n/3 {
				t.Errorf("the other map has %d entries, and its view %d", other.Len(), view.Len())
			}
		})
	}
}

// TestMapLikeAnotherAllocatesItsPagesOnce measures a map that is filled with the keys of another
// one, and one of a few of them, which must not keep the room.
func TestMapLikeAnotherAllocatesItsPagesOnce(t *testing.T) {
	const n = 20_000
	keys := make([]string, n)
	other := NewMap[int, struct{}](new(Generation))
	for i := range keys {
		keys[i] = strconv.Itoa(i)
		other.Set(keys[i], new(i))
	}
	pages, _, _ := other.t.size()
	value := new(1)
	allocations := testing.AllocsPerRun(1, func() {
		m := NewMapLike(new(Generation), other.View())
		for _, key := range keys {
			m.Set(key, value)
		}
	})
	if limit := float64(pages + pages/10); allocations > limit {
		t.Errorf("%v allocations for %d pages", allocations, pages)
	}
	small := NewMapLike(new(Generation), other.View())
	for _, key := range keys[:n/10] {
		small.Set(key, value)
	}
	small.Trim()
	if got, _, _ := small.t.size(); got > pages/5 {
		t.Errorf("a tenth of the entries takes %d of %d pages", got, pages)
	}
}

// TestDirectoryIsBounded checks that colliding hashes make pages grow and not the directory.
func TestDirectoryIsBounded(t *testing.T) {
	for name, hash := range hashFuncs() {
		t.Run(name, func(t *testing.T) {
			m := NewMap[int, struct{}](new(Generation))
			m.t.injectHash(hash)
			n := 1500
			if name == "uneven" { // many enough for an unbounded root to grow without end
				n = unevenKeys
			}
			v := new(1)
			for i := range n {
				m.Set(strconv.Itoa(i), v)
			}
			m.t.validate(t)
			if pages, pointers, bytes := m.t.size(); bytes > 60*n || pointers > 2*maxAliases*pages+maxSegment/2 {
				t.Errorf("%d bytes an entry, %d pointers to %d pages", bytes/n, pointers, pages)
			}
		})
	}
}

// TestMemoryPerEntry bounds the bytes an entry without its key and value.
func TestMemoryPerEntry(t *testing.T) {
	for _, c := range []struct{ n, mapBytes, setBytes int }{{1, 400, 73}, {3, 150, 60}, {100, 40, 30}, {memoryKeys, 40, 25}} {
		t.Run(fmt.Sprint(c.n), func(t *testing.T) {
			keys := newKeys(c.n)
			g := new(Generation)
			v := new(object)
			many := max(1, 10_000/c.n)
			perMap := heapPer(c.n*many, func() any {
				maps := make([]*Map[object, struct{}], many)
				for i := range maps {
					maps[i] = NewMap[object, struct{}](g)
					for _, k := range keys {
						maps[i].Set(k, v)
					}
				}
				return maps
			})
			perSet := heapPer(c.n*many, func() any {
				sets := make([]*Set, many)
				for i := range sets {
					sets[i] = NewSet(g)
					for _, k := range keys {
						sets[i].Add(g, k)
					}
				}
				return sets
			})
			if perMap > float64(c.mapBytes) || perSet > float64(c.setBytes) {
				t.Errorf("map %.1f, set %.1f bytes an entry, want at most %d and %d", perMap, perSet, c.mapBytes, c.setBytes)
			}
		})
	}
}
