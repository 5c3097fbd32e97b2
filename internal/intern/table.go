package intern

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is a hash table of sets of a few entries each, in which a new entry takes
// the place of one that is of less use. It starts small and grows while useful
// entries push each other out, up to limits.
//
// Readers take no lock: an entry never changes, and a reader that meets a set in
// the middle of a change finds the entry or does not.
//
// Invariant: an entry is in the set that the upper bits of its tag name.
type table[V any] struct {
	limits limits
	seed   maphash.Seed
	sets   atomic.Pointer[[]set[V]] // a power of two of them

	// Writers of a set hold the lock of its stripe; who replaces sets, all locks.
	stripes   [stripes]sync.Mutex
	displaced atomic.Int32 // useful entries that had to go, since the table grew
}

// limits bound a table: to maxSets times ways entries, and to maxSets times
// setBytes bytes of keys.
type limits struct {
	maxSets  int // a power of two
	setBytes int
}

const (
	minSets = 32 // one for each stripe: a set's writers share its lock at any size
	stripes = minSets
	growth  = 4
)

// entry is a key and what it stands for. It does not change.
type entry[V any] struct {
	value V
	key   string
}

func newTable[V any](l limits) *table[V] {
	t := &table[V]{limits: l, seed: maphash.MakeSeed()}
	sets := make([]set[V], min(minSets, l.maxSets))
	t.sets.Store(&sets)
	return t
}

// tag is the hash of a key, which is never 0: that marks a free place.
func (t *table[V]) tag(key []byte) uint32 {
	return uint32(maphash.Bytes(t.seed, key)>>32) | 1
}

// setOf returns the set of a tag among sets.
func setOf[V any](sets []set[V], tag uint32) *set[V] {
	return &sets[tag>>(32-uint(bits.TrailingZeros(uint(len(sets)))))]
}

// find returns the entry of a key, or nil.
func (t *table[V]) find(tag uint32, key []byte) *entry[V] {
	return setOf(*t.sets.Load(), tag).find(tag, key)
}

// insert puts an entry in and returns it, or the one of the same key that somebody
// else has put in meanwhile.
func (t *table[V]) insert(tag uint32, e *entry[V]) *entry[V] {
	there, grow := t.put(tag, e)
	if grow {
		t.grow()
	}
	return there
}

func (t *table[V]) put(tag uint32, e *entry[V]) (there *entry[V], grow bool) {
	lock := &t.stripes[tag>>(32-uint(bits.TrailingZeros(stripes)))]
	lock.Lock()
	defer lock.Unlock()
	sets := *t.sets.Load()
	s := setOf(sets, tag)
	if other := s.findString(tag, e.key); other != nil {
		return other, false
	}
	if s.insert(tag, e, t.limits.setBytes) {
		grow = int(t.displaced.Add(1)) > len(sets) && len(sets) < t.limits.maxSets
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
	old := *t.sets.Load()
	if int(t.displaced.Load()) <= len(old) { // somebody else was faster
		return
	}
	sets := make([]set[V], min(growth*len(old), t.limits.maxSets))
	for i := range old {
		old[i].each(func(tag uint32, e *entry[V]) { setOf(sets, tag).insert(tag, e, t.limits.setBytes) })
	}
	t.displaced.Store(0)
	t.sets.Store(&sets)
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
	sets := *t.sets.Load()
	size.Places = len(sets) * ways
	for i := range sets {
		sets[i].each(func(_ uint32, e *entry[V]) {
			size.Entries++
			size.Bytes += len(e.key)
		})
	}
	return size
}
