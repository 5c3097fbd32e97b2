// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// Snapshot is the state of a store at one point in time. It is immutable. Keeping it costs only the
// memory of the entries that have changed since.
type Snapshot[V any] struct {
	*snapshotData[V]
	version string
}

// snapshotData is the part of a Snapshot that does not change with the resourceVersion. Snapshots
// of one state share it: a bookmark changes only the version.
type snapshotData[V any] struct {
	store   *Store[V]
	set     *indexSet[V]
	entries snapmap.View[valueRef, entryMeta]
	indexes []snapmap.View[snapmap.Set, struct{}]

	sorting sync.Once
	sorted  []string // all keys in order, set by sorting
}

// Snapshot returns the current state, with all changes of a batch or none. It takes O(1), since
// package snapmap captures a map in O(1), and returns the previous snapshot if nothing has changed.
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

// snapshotTries is how often a reader tries to take the lock before it blocks on it. The lock is
// held briefly, but once goroutines are queued on a mutex each further one queues, too: a writer
// beside many readers would wait until every reader was scheduled and had its turn.
const snapshotTries = 100

// snapshot is Snapshot for a caller that holds mu.
func (s *Store[V]) snapshot() *Snapshot[V] {
	if current := s.current.Load(); current != nil {
		return current
	}
	state := s.live.Load()
	data := &snapshotData[V]{store: s, set: state.indexes.set, entries: state.entries.View()}
	if n := len(state.indexes.values); n > 0 {
		data.indexes = make([]snapmap.View[snapmap.Set, struct{}], n)
		for i, keys := range state.indexes.values {
			data.indexes[i] = keys.View()
		}
	}
	state.pages.Advance()
	current := &Snapshot[V]{data, state.version}
	s.current.Store(current)
	return current
}

// SnapshotAndCursor returns the current state and a cursor that starts at the first change after
// it. The store must have a log.
func (s *Store[V]) SnapshotAndCursor() (*Snapshot[V], *eventlog.Cursor[Change[V]]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(), s.config.Log.Cursor()
}

// ResourceVersion returns the collection's resourceVersion at the time of the snapshot.
func (v *Snapshot[V]) ResourceVersion() string { return v.version }

// Len returns the number of entries.
func (v *snapshotData[V]) Len() int { return v.entries.Len() }

// Get returns the value under key.
func (v *snapshotData[V]) Get(key string) (V, bool) {
	ref := v.entries.Get(key)
	if ref == nil {
		var none V
		return none, false
	}
	return v.store.load(key, ref, false)
}

// Entry returns the entry under key, or nil. It does not decode the value.
func (v *snapshotData[V]) Entry(key string) *Entry[V] {
	return new(Entry[V]).fromMap(v.entries.Item(key))
}

// Keys returns all keys in unspecified order.
func (v *snapshotData[V]) Keys() []string {
	keys := make([]string, 0, v.entries.Len())
	for key := range v.entries.All() {
		keys = append(keys, key)
	}
	return keys
}

// AnyKey returns the key of one entry or, if there is none, of one object that could not be stored.
// It returns "" if there is neither.
func (v *snapshotData[V]) AnyKey() string {
	for key := range v.entries.All() {
		return key
	}
	for _, failed := range v.store.QuarantinedKeys(1) {
		return failed.Key
	}
	return ""
}

// All returns an iterator over all values in the order of their keys.
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

// IndexKeys returns the keys of the entries that an index has under a value, in unspecified order.
// It returns an error if the index does not exist.
func (v *snapshotData[V]) IndexKeys(name, value string) ([]string, error) {
	set, err := v.find(name, value)
	if err != nil || set == nil {
		return nil, err
	}
	return slices.AppendSeq(make([]string, 0, set.Len()), set.All()), nil
}

// IndexValues returns the values of an index in unspecified order. It returns an error if the index
// does not exist.
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

func noIndex(name string) error { return fmt.Errorf("index %q does not exist", name) }
