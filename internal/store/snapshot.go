package store

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Snapshot is the state of a store at one moment. It is immutable, and costs
// nothing to keep but the memory of what has changed since.
type Snapshot[V any] struct {
	*snapshotData[V]
	version string
}

// frozen is what snapshots of one state at several versions share: a bookmark
// moves the version and nothing else.
type snapshotData[V any] struct {
	store   *Store[V]
	set     *indexSet[V]
	entries snapmap.View[valueRef, entryMeta]
	indexes []snapmap.View[snapmap.Set, struct{}]

	sorting sync.Once
	sorted  []string // all keys in order, once somebody wanted them
}

// Snapshot returns the state as it is now, all of a batch or none. Taking one
// costs O(1), and nothing if there was no change since the last.
func (s *Store[V]) Snapshot() *Snapshot[V] {
	for range snapshotTries {
		if current := s.current.Load(); current != nil {
			return current
		}
		if s.mu.TryLock() {
			defer s.mu.Unlock()
			return s.snapshot()
		}
		runtime.Gosched()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot()
}

// snapshotTries is how often a reader looks whether the lock is free before it
// queues for it. The lock is never held for long, and a mutex that has a queue makes
// everybody queue: a writer beside many readers would wait until each of them has had
// its turn, and been scheduled for it.
const snapshotTries = 100

// snapshot is Snapshot for those who hold mu.
func (s *Store[V]) snapshot() *Snapshot[V] {
	if current := s.current.Load(); current != nil {
		return current
	}
	state := s.live.Load()
	frozen := &snapshotData[V]{store: s, set: state.indexes.set, entries: state.entries.View()}
	if n := len(state.indexes.values); n > 0 {
		frozen.indexes = make([]snapmap.View[snapmap.Set, struct{}], n)
		for i, keys := range state.indexes.values {
			frozen.indexes[i] = keys.View()
		}
	}
	state.pages.Advance()
	current := &Snapshot[V]{frozen, state.version}
	s.current.Store(current)
	return current
}

// Follow returns the state as it is now and a cursor that begins with the first
// change after it. The store must have a log.
func (s *Store[V]) SnapshotAndCursor() (*Snapshot[V], *eventlog.Cursor[Change[V]]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(), s.config.Log.Cursor()
}

// Progress moves the version without a change.
func (s *Store[V]) AdvanceVersion(resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.live.Load()
	version := newer(state.version, resourceVersion)
	if version == state.version {
		return
	}
	state.version = version
	if current := s.current.Load(); current != nil {
		s.current.Store(&Snapshot[V]{current.snapshotData, version})
	}
}

// ResourceVersion returns the version of the collection that the snapshot is
// consistent with.
func (v *Snapshot[V]) ResourceVersion() string { return v.version }

// Len returns the number of entries.
func (v *snapshotData[V]) Len() int { return v.entries.Len() }

// Get returns the value under key.
func (v *snapshotData[V]) Get(key string) (V, bool) {
	f := v.entries.Get(key)
	if f == nil {
		var none V
		return none, false
	}
	return v.store.load(key, f)
}

// Entry returns the entry under key, undecoded, or nil.
func (v *snapshotData[V]) Entry(key string) *Entry[V] {
	return new(Entry[V]).fromMap(v.entries.Item(key))
}

// Keys returns all keys, in no order.
func (v *snapshotData[V]) Keys() []string {
	keys := make([]string, 0, v.entries.Len())
	for key := range v.entries.All() {
		keys = append(keys, key)
	}
	return keys
}

// All iterates over all values in the order of their keys.
func (v *snapshotData[V]) All() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, key := range v.sortedKeys() {
			if value, ok := v.Get(key); ok && !yield(key, value) {
				return
			}
		}
	}
}

func (v *snapshotData[V]) sortedKeys() []string {
	v.sorting.Do(func() {
		v.sorted = v.Keys()
		slices.Sort(v.sorted)
	})
	return v.sorted
}

// IndexKeys returns the keys of what ByIndex returns.
func (v *snapshotData[V]) IndexKeys(name, value string) ([]string, error) {
	set, err := v.find(name, value)
	if err != nil || set == nil {
		return nil, err
	}
	return slices.AppendSeq(make([]string, 0, set.Len()), set.All()), nil
}

// IndexValues returns the values that an index has, in no order.
func (v *snapshotData[V]) IndexValues(name string) ([]string, error) {
	i, ok := v.set.positions[name]
	if !ok {
		return nil, noIndex(name)
	}
	values := make([]string, 0, v.indexes[i].Len())
	for value := range v.indexes[i].All() {
		values = append(values, value)
	}
	return values, nil
}

func (v *snapshotData[V]) find(name, value string) (*snapmap.Set, error) {
	i, ok := v.set.positions[name]
	if !ok {
		return nil, noIndex(name)
	}
	return v.indexes[i].Get(value), nil
}

func noIndex(name string) error { return fmt.Errorf("there is no index %q", name) }
