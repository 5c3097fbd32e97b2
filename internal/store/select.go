// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
)

// List returns all values in unspecified order.
func (v *snapshotData[V]) List() []V { return v.Select(nil) }

// ByIndex returns the values that an index has under a value, in unspecified order. It returns an
// error if the index does not exist.
func (v *snapshotData[V]) ByIndex(name, value string) ([]V, error) {
	return v.SelectByIndex(name, value, nil)
}

// Select returns the values whose labels match, in unspecified order; if matches is nil, all values
// match. It does not decode packed entries that do not match if the packer can read labels. matches
// must not modify the labels.
func (v *snapshotData[V]) Select(matches func(labels map[string]string) bool) []V {
	selected := newSelection(v, matches, v.entries.Len())
	for key, item := range v.entries.All() {
		selected.add(key, item.Value)
	}
	v.yieldAfterLongRead()
	return selected.values
}

// SelectByKey is like Select, for the entries whose key has accepts.
func (v *snapshotData[V]) SelectByKey(has func(key string) bool, matches func(labels map[string]string) bool) []V {
	selected := selection[V]{store: v.store, matches: matches}
	for key, item := range v.entries.All() {
		if has(key) {
			selected.add(key, item.Value)
		}
	}
	v.yieldAfterLongRead()
	return selected.values
}

// SelectByIndex is like Select, for the entries that an index has under a value. It returns an
// error if the index does not exist.
func (v *snapshotData[V]) SelectByIndex(name, value string, matches func(labels map[string]string) bool) ([]V, error) {
	set, err := v.find(name, value)
	if err != nil || set == nil {
		return nil, err
	}
	selected := newSelection(v, matches, set.Len())
	if set.Len()*scanShare > v.entries.Len() {
		v.scan(&selected, v.set.positions[name], value)
		return selected.values, nil
	}
	for key := range set.All() {
		if ref := v.entries.Get(key); ref != nil {
			selected.add(key, ref)
		}
	}
	return selected.values, nil
}

// scanShare is the share, one in scanShare, of all entries from which on scanning every entry is
// faster than looking up the keys of the index.
const scanShare = 3

// scan selects the entries that the index at position i has under a value. Entries with equal index
// values mostly follow one another and share their sharedMeta, which is then searched once.
func (v *snapshotData[V]) scan(selected *selection[V], i int, value string) {
	var last *sharedMeta
	found := false
	for key, item := range v.entries.All() {
		if shared := item.Meta.shared; shared != last {
			last, found = shared, shared != nil && slices.Contains(at(shared.byIndex, i), value)
		}
		if found {
			selected.add(key, item.Value)
		}
	}
	v.yieldAfterLongRead()
}

// selection collects the values of entries whose labels match.
type selection[V any] struct {
	store   *Store[V]
	matches func(labels map[string]string) bool // nil matches all
	values  []V
}

// newSelection returns an empty selection, with capacity n if all values match.
func newSelection[V any](from *snapshotData[V], matches func(labels map[string]string) bool, n int) selection[V] {
	s := selection[V]{store: from.store, matches: matches}
	if matches == nil {
		s.values = make([]V, 0, n)
	}
	return s
}

// add adds the value of ref if its labels match.
func (s *selection[V]) add(key string, ref *valueRef) {
	if value, ok := s.store.loadMatching(key, ref, s.matches); ok {
		s.values = append(s.values, value)
	}
}

// yieldAfterLongRead yields the processor after a long read, with a probability proportional to the
// number of goroutines yielding, so that a writer waits for O(1) reads.
//
// Readers that never block would keep the processor for time slices of 10 ms, and each goroutine
// that handles a change would wait for all of them. If readers yielded after every long read, they
// would in turn wait for one another.
func (v *snapshotData[V]) yieldAfterLongRead() {
	if v.entries.Len() < longRead {
		return
	}
	yielding := &v.store.yielding
	if chance := max(yielding.Load(), yieldNum); rand.N(yieldDen) < chance { //nolint:gosec // no secret
		yielding.Add(1)
		runtime.Gosched()
		yielding.Add(-1)
	}
}

const (
	longRead = 1000 // entries from which on a read takes many times as long as yielding
	// With few goroutines yielding, a reader yields with probability yieldNum/yieldDen. The values
	// are measured: both 10 and 80 readers list about as often as with client-go's store, whose
	// writer then hardly makes progress.
	yieldNum int32 = 11
	yieldDen int32 = 320
)

// IndexSize describes an index.
type IndexSize struct {
	Name   string
	Values int // under which the index has objects
}

// Indexes returns the indexes of the snapshot, in the order of their names.
func (v *snapshotData[V]) Indexes() []IndexSize {
	sizes := make([]IndexSize, 0, len(v.indexes))
	for i, name := range v.set.names {
		sizes = append(sizes, IndexSize{name, v.indexes[i].Len()})
	}
	slices.SortFunc(sizes, func(a, b IndexSize) int { return strings.Compare(a.Name, b.Name) })
	return sizes
}

// FindKeys returns the first keys that contain a text, in order and at most limit, and the number
// of all such keys. It sorts no more keys at a time than twice the limit.
func (v *snapshotData[V]) FindKeys(text string, limit int) (keys []string, found int) {
	for key := range v.entries.All() {
		if !strings.Contains(key, text) {
			continue
		}
		found++
		if keys = append(keys, key); len(keys) >= 2*limit {
			keys = smallest(keys, limit)
		}
	}
	return smallest(keys, limit), found
}

// smallest sorts keys and returns the first ones, at most limit.
func smallest(keys []string, limit int) []string {
	slices.Sort(keys)
	return keys[:min(len(keys), limit)]
}
