package intern

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is a hash table of sets of a few entries each, in which a new entry takes
// the place of one that is of less use. It starts small and grows while it forgets
// what comes again, up to limits.
//
// Readers take no lock: an entry never changes, and a reader that meets a set in
// the middle of a change finds the entry or does not.
type table[V any] struct {
	limits  limits
	seed    maphash.Seed
	current atomic.Pointer[generation[V]]

	// Writers hold the lock of their tag's stripe; who replaces the generation, all
	// of them.
	stripes [stripes]sync.Mutex
	misses  atomic.Int32 // what would have been found in a larger table, since it grew
}

// generation is a table of one size.
//
// Invariant: an entry is in the set that the upper bits of its tag name.
type generation[V any] struct {
	sets []set[V] // a power of two of them
	// ghosts are tags of what was put in some time ago, each at the place that its
	// upper bits name. What is put in and has its tag here comes again.
	ghosts []uint32
}

// limits bound a table: to maxSets times ways entries, and to maxSets times
// setBytes bytes of keys.
type limits struct {
	maxSets  int // a power of two
	setBytes int // unlimited: the keys are short enough
}

const unlimited = 0

// Room is how much a table may hold, as a part of what an ample one may.
type TableSize int

// The tables of objects that are kept are ample. Scarce ones are for objects of which
// few are there at a time: a sixteenth, since who keeps the others in little memory
// does not want the most of it for tables.
const (
	Large TableSize = 1
	Small TableSize = 16
)

// of returns how many sets a table has room for that has so many if it is ample.
func (r TableSize) sets(sets int) int { return max(sets/int(r), minSets) }

const (
	minSets      = 32 // one for each stripe: a set's writers share its lock at any size
	stripes      = minSets
	growthFactor = 4
	// smallSets is up to where a table grows for anything: it takes some 100 KiB.
	smallSets = 512
	// ghostsPerSet is how many more things than a table holds it can tell to be
	// coming again, so that it grows. They take as much memory as the sets.
	ghostsPerSet = 32
)

// entry is a key and what it stands for. It does not change.
type entry[V any] struct {
	value V
	key   string
}

func newTable[V any](l limits) *table[V] {
	t := &table[V]{limits: l, seed: maphash.MakeSeed()}
	t.current.Store(newGeneration[V](min(minSets, l.maxSets)))
	return t
}

func newGeneration[V any](sets int) *generation[V] {
	return &generation[V]{sets: make([]set[V], sets), ghosts: make([]uint32, ghostsPerSet*sets)}
}

// tag is the hash of a key, which is never 0: that marks a free place.
func (t *table[V]) tag(key []byte) uint32 {
	return uint32(maphash.Bytes(t.seed, key)>>32) | 1
}

// upper returns the upper bits of a tag that are a number below n, a power of two.
func upperBits(tag uint32, n int) uint32 { return tag >> (32 - uint(bits.TrailingZeros(uint(n)))) }

// set returns the set of a tag.
func (g *generation[V]) set(tag uint32) *set[V] { return &g.sets[upperBits(tag, len(g.sets))] }

// haunt leaves the ghost of a tag, and tells whether it was there already. The
// caller holds the stripe's lock.
func (g *generation[V]) recordGhost(tag uint32) (recurring bool) {
	ghost := &g.ghosts[upperBits(tag, len(g.ghosts))]
	recurring = *ghost == tag
	*ghost = tag
	return recurring
}

// isTight tells whether there should be more sets, after so much was missed.
func (g *generation[V]) isTooSmall(missed int32) bool { return int(missed) > len(g.sets)/2 }

// find returns the entry of a key, or nil.
func (t *table[V]) find(tag uint32, key []byte) *entry[V] {
	return t.current.Load().set(tag).find(tag, key)
}

// insert puts an entry in and returns it, or the one of the same key that somebody
// else has put in meanwhile.
func (t *table[V]) insert(tag uint32, e *entry[V]) *entry[V] {
	existing, grow := t.put(tag, e)
	if grow {
		t.grow()
	}
	return existing
}

func (t *table[V]) put(tag uint32, e *entry[V]) (existing *entry[V], grow bool) {
	lock := &t.stripes[upperBits(tag, stripes)]
	lock.Lock()
	defer lock.Unlock()
	g := t.current.Load()
	s := g.set(tag)
	if other := s.findString(tag, e.key); other != nil {
		return other, false
	}
	recurring := g.recordGhost(tag)
	evicted, usefulEvicted := s.insert(tag, e, t.limits.setBytes)
	if recurring {
		s.touch(int(s.newest))
	}
	if len(g.sets) < t.limits.maxSets && (recurring || usefulEvicted || evicted && len(g.sets) < smallSets) {
		grow = g.isTooSmall(t.misses.Add(1))
	}
	return e, grow
}

// grow makes room for more sets, and moves what is there.
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
	if !old.isTooSmall(t.misses.Load()) { // somebody else was faster
		return
	}
	g := newGeneration[V](min(growthFactor*len(old.sets), t.limits.maxSets))
	for i := range old.sets {
		old.sets[i].each(func(tag uint32, e *entry[V]) {
			g.recordGhost(tag)
			g.set(tag).insert(tag, e, t.limits.setBytes)
		})
	}
	t.misses.Store(0)
	t.current.Store(g)
}

// Size is how much a table holds.
type Size struct {
	Places  int // for entries
	Entries int
	Bytes   int // of their keys
}

func (a Size) plus(b Size) Size {
	return Size{a.Places + b.Places, a.Entries + b.Entries, a.Bytes + b.Bytes}
}

// size walks over the whole table.
func (t *table[V]) size() (size Size) {
	sets := t.current.Load().sets
	size.Places = len(sets) * ways
	for i := range sets {
		sets[i].each(func(_ uint32, e *entry[V]) {
			size.Entries++
			size.Bytes += len(e.key)
		})
	}
	return size
}
