// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is a set-associative hash table in which a new entry replaces a less useful one. It is
// empty until the first entry, starts small and grows, up to its limits, while it evicts entries
// that recur.
//
// Readers take no lock. An entry is immutable, and a reader that meets a set during a change either
// finds the entry or misses it.
type table[V any] struct {
	limits  limits
	seed    maphash.Seed
	current atomic.Pointer[generation[V]] // nil before the first entry

	// A writer holds the lock of its tag's stripe. Replacing the generation takes all of them.
	stripes [stripes]sync.Mutex
	misses  atomic.Int32 // since the table grew, that a larger table would have avoided
}

// generation is a table of one size.
//
// Invariant: an entry is in the set that the upper bits of its tag select.
type generation[V any] struct {
	sets []set[V] // the length is a power of two
	// ghosts are tags of entries inserted some time ago, indexed by their upper bits. A new entry
	// whose tag is a ghost recurs. While any eviction makes the table grow, it needs no ghosts.
	ghosts []uint32
}

// limits bound a table to maxSets*ways entries and maxSets*setBytes bytes of keys.
type limits struct {
	maxSets  int // a power of two
	setBytes int // or unlimited, if keys are short
}

const unlimited = 0

// TableSize selects the maximum size of a table, as a divisor of the largest.
type TableSize int

// Large tables are for objects that are kept in memory. Small ones, a sixteenth of the size, are
// for objects of which only a few are in memory at a time.
const (
	Large TableSize = 1
	Small TableSize = 16
)

// sets returns the number of sets of a table that has large sets at size Large.
func (s TableSize) sets(large int) int { return max(large/int(s), minSets) }

const (
	minSets = 32 // at least one per stripe, so that the writers of a set share a lock
	stripes = minSets
	// growthFactor is that of tables from smallSets on. Smaller ones double, since most tables stay
	// small.
	growthFactor = 4
	// smallSets is the number of sets below which any eviction makes a table grow. Smaller tables
	// take at most 24 KiB.
	smallSets = 512
	// ghostsPerSet is the number of ghosts for each set. They take more memory than the sets.
	ghostsPerSet = 32
)

// entry is an immutable key and value.
type entry[V any] struct {
	value V
	key   string
}

func newTable[V any](l limits) *table[V] {
	return &table[V]{limits: l, seed: maphash.MakeSeed()}
}

// newGeneration returns a generation of a table with the given limits.
func newGeneration[V any](sets int, l limits) *generation[V] {
	g := &generation[V]{sets: make([]set[V], sets)}
	if sets >= min(smallSets, l.maxSets) {
		g.ghosts = make([]uint32, ghostsPerSet*sets)
	}
	return g
}

// tag returns the hash of a key. It is never 0, which marks a free slot.
func (t *table[V]) tag(key []byte) uint32 {
	return uint32(maphash.Bytes(t.seed, key)>>32) | 1
}

// upperBits returns the upper bits of a tag as a number below n, a power of two.
func upperBits(tag uint32, n int) uint32 { return tag >> (32 - uint(bits.TrailingZeros(uint(n)))) }

// set returns the set of a tag.
func (g *generation[V]) set(tag uint32) *set[V] { return &g.sets[upperBits(tag, len(g.sets))] }

// recordGhost records the ghost of a tag and reports whether it was recorded before. The caller
// must hold the stripe's lock.
func (g *generation[V]) recordGhost(tag uint32) (recurs bool) {
	if g.ghosts == nil {
		return false
	}
	ghost := &g.ghosts[upperBits(tag, len(g.ghosts))]
	recurs = *ghost == tag
	*ghost = tag
	return recurs
}

// isTooSmall reports whether the table must grow after a number of misses.
func (g *generation[V]) isTooSmall(misses int32) bool { return int(misses) > len(g.sets)/2 }

// grownSets returns the number of sets after the table has grown.
func (g *generation[V]) grownSets() int {
	if len(g.sets) < smallSets {
		return 2 * len(g.sets)
	}
	return growthFactor * len(g.sets)
}

// find returns the entry of a key, or nil.
func (t *table[V]) find(tag uint32, key []byte) *entry[V] {
	g := t.current.Load()
	if g == nil {
		return nil
	}
	return g.set(tag).find(tag, key)
}

// insert adds an entry and returns it, or the entry of the same key that another goroutine has
// inserted meanwhile.
func (t *table[V]) insert(tag uint32, e *entry[V]) *entry[V] {
	stored, grow := t.put(tag, e)
	if grow {
		t.grow()
	}
	return stored
}

// put inserts an entry like insert. It reports whether the table must grow.
func (t *table[V]) put(tag uint32, e *entry[V]) (stored *entry[V], grow bool) {
	lock := &t.stripes[upperBits(tag, stripes)]
	lock.Lock()
	defer lock.Unlock()
	g := t.generation()
	s := g.set(tag)
	if other := s.findString(tag, e.key); other != nil {
		return other, false
	}
	recurs := g.recordGhost(tag)
	evicted, evictedUsed := s.insert(tag, e, t.limits.setBytes)
	if recurs {
		s.touch(int(s.newest))
	}
	if len(g.sets) < t.limits.maxSets && (recurs || evictedUsed || evicted && len(g.sets) < smallSets) {
		grow = g.isTooSmall(t.misses.Add(1))
	}
	return e, grow
}

// generation returns the current generation. It makes the first one.
func (t *table[V]) generation() *generation[V] {
	g := t.current.Load()
	if g == nil {
		t.current.CompareAndSwap(nil, newGeneration[V](min(minSets, t.limits.maxSets), t.limits))
		g = t.current.Load()
	}
	return g
}

// grow replaces the generation with a larger one and moves the entries to it.
func (t *table[V]) grow() {
	for i := range t.stripes {
		t.stripes[i].Lock()
	}
	defer func() {
		for i := range t.stripes {
			t.stripes[i].Unlock()
		}
	}()
	old := t.current.Load()
	if !old.isTooSmall(t.misses.Load()) { // another goroutine has grown the table
		return
	}
	g := newGeneration[V](min(old.grownSets(), t.limits.maxSets), t.limits)
	for i := range old.sets {
		old.sets[i].each(func(tag uint32, e *entry[V]) {
			g.recordGhost(tag)
			g.set(tag).insert(tag, e, t.limits.setBytes)
		})
	}
	t.misses.Store(0)
	t.current.Store(g)
}
