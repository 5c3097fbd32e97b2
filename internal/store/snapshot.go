// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// Snapshot is the state of a store at one point in time. It is immutable. Keeping it costs only the
// memory of the entries that have changed since.
type Snapshot struct {
	*snapshotData
	version string
	listing uint64 // that of the store; of SnapshotAndCursor alone
}

// DeliveredKeys returns the keys of the entries that handlers have received, in unspecified order:
// all but those of scopes that were not listed before SnapshotAndCursor.
func (v *Snapshot) DeliveredKeys() []string {
	keys := make([]string, 0, v.entries.Len())
	for key, item := range v.entries.All() {
		if c := item.Meta.scope(); c == nil || c.wasListedAt(v.listing) {
			keys = append(keys, key)
		}
	}
	return keys
}

// snapshotData is the part of a Snapshot that does not change with the resourceVersion. Snapshots
// of one state share it: a bookmark changes only the version.
type snapshotData struct {
	codec   *valueCodec
	absence error // of the store
	set     *indexSet
	entries snapmap.View[valueRef, entryMeta]
	indexes []indexView

	sorting sync.Once
	sorted  []string // all keys in order, set by sorting
}

// ResourceVersion returns the collection's resourceVersion at the time of the snapshot.
func (v *Snapshot) ResourceVersion() string { return v.version }

// Len returns the number of entries.
func (v *snapshotData) Len() int { return v.entries.Len() }

// Get returns the value under key.
func (v *snapshotData) Get(key string) (any, bool) {
	ref := v.entries.Get(key)
	if ref == nil {
		return nil, false
	}
	return v.codec.load(key, ref)
}

// Entry returns the entry under key, or nil. It does not decode the value.
func (v *snapshotData) Entry(key string) *Entry {
	return new(Entry).fromMap(v.entries.Item(key))
}

// Keys returns all keys in unspecified order.
func (v *snapshotData) Keys() []string {
	keys := make([]string, 0, v.entries.Len())
	for key := range v.entries.All() {
		keys = append(keys, key)
	}
	return keys
}

// All returns an iterator over all values in the order of their keys.
func (v *snapshotData) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, key := range v.sortedKeys() {
			if value, ok := v.Get(key); ok && !yield(key, value) {
				return
			}
		}
	}
}

func (v *snapshotData) sortedKeys() []string {
	v.sorting.Do(func() {
		v.sorted = v.Keys()
		slices.Sort(v.sorted)
	})
	return v.sorted
}

// IndexKeys returns the keys of the entries that an index has under a value, in unspecified order.
// It returns an error if the index does not exist.
func (v *snapshotData) IndexKeys(name, value string) ([]string, error) {
	set, err := v.find(name, value)
	if err != nil || set == nil {
		return nil, err
	}
	return slices.AppendSeq(make([]string, 0, set.Len()), set.All()), nil
}

// IndexValues returns the values of an index in unspecified order. It returns an error if the index
// does not exist.
func (v *snapshotData) IndexValues(name string) ([]string, error) {
	index, err := v.index(name)
	if err != nil {
		return nil, err
	}
	values := make([]string, 0, index.Len())
	for value := range index.All() {
		values = append(values, value)
	}
	return values, nil
}

// index returns the keys under each value of an index.
func (v *snapshotData) index(name string) (index indexView, err error) {
	i := slices.Index(v.set.names, name)
	switch {
	case i < 0:
		return index, fmt.Errorf("index %q does not exist", name)
	case v.absence != nil:
		return index, v.absence
	}
	return v.indexes[i], nil
}

// find returns the keys that an index has under a value, nil if there are none.
func (v *snapshotData) find(name, value string) (*snapmap.Set, error) {
	index, err := v.index(name)
	if err != nil {
		return nil, err
	}
	return index.Get(value), nil
}

// Values receives the values that a read selects.
type Values interface {
	// Grow is called before Append if a read matches no labels. n is the number of values at most.
	Grow(n int)
	// Append is called for each value.
	Append(value any)
}

// valueSlice is Values as a slice.
type valueSlice []any

func (v *valueSlice) Grow(n int)       { *v = make([]any, 0, n) }
func (v *valueSlice) Append(value any) { *v = append(*v, value) }

// List returns all values in unspecified order.
func (v *snapshotData) List() []any {
	var values valueSlice
	v.Select(nil, &values)
	return values
}

// ByIndex returns the values that an index has under a value, in unspecified order. It returns an
// error if the index does not exist.
func (v *snapshotData) ByIndex(name, value string) ([]any, error) {
	var values valueSlice
	err := v.SelectByIndex(name, value, nil, &values)
	return values, err
}

// Select appends the values whose labels match, in unspecified order; if matches is nil, all values
// match. It does not decode packed entries that do not match if the packer can read labels. matches
// must not modify the labels.
func (v *snapshotData) Select(matches func(labels map[string]string) bool, to Values) {
	selected := newSelection(v, matches, v.entries.Len(), to)
	for key, item := range v.entries.All() {
		selected.add(key, item.Value)
	}
	v.yieldAfterLongRead()
}

// SelectByKey is like Select, for the entries whose key has accepts.
func (v *snapshotData) SelectByKey(has func(key string) bool, matches func(labels map[string]string) bool, to Values) {
	selected := selection{codec: v.codec, matches: matches, to: to}
	for key, item := range v.entries.All() {
		if has(key) {
			selected.add(key, item.Value)
		}
	}
	v.yieldAfterLongRead()
}

// SelectByIndex is like Select, for the entries that an index has under a value. It returns an
// error if the index does not exist.
func (v *snapshotData) SelectByIndex(name, value string, matches func(labels map[string]string) bool, to Values) error {
	set, err := v.find(name, value)
	if err != nil || set == nil {
		return err
	}
	selected := newSelection(v, matches, set.Len(), to)
	if set.Len()*scanShare > v.entries.Len() {
		v.scan(&selected, slices.Index(v.set.names, name), value)
		return nil
	}
	for key := range set.All() {
		if ref := v.entries.Get(key); ref != nil {
			selected.add(key, ref)
		}
	}
	return nil
}

// scanShare is the share, one in scanShare, of all entries from which on scanning every entry is
// faster than looking up the keys of the index.
const scanShare = 3

// scan selects the entries that the index at position i has under a value. Entries with equal
// values mostly share them; those that follow one another are searched once.
func (v *snapshotData) scan(selected *selection, i int, value string) {
	var last, lastElement *sharedMeta
	found := false
	for key, item := range v.entries.All() {
		if shared := item.Meta.shared; shared != last {
			last = shared
			element := shared.element(i)
			if !element.hasValuesOf(lastElement) {
				found = slices.Contains(element.list(), value)
			}
			lastElement = element
		}
		if found {
			selected.add(key, item.Value)
		}
	}
	v.yieldAfterLongRead()
}

// selection passes on the values of entries whose labels match.
type selection struct {
	codec   *valueCodec
	matches func(labels map[string]string) bool // nil matches all
	groups  map[pack.ExcerptGroup]bool          // whether the labels of packed values match; nil before the first
	to      Values
}

// newSelection returns a selection among n entries.
func newSelection(from *snapshotData, matches func(labels map[string]string) bool, n int, to Values) selection {
	if matches == nil {
		to.Grow(n)
	}
	return selection{codec: from.codec, matches: matches, to: to}
}

// add passes on the value of ref if its labels match.
func (s *selection) add(key string, ref *valueRef) {
	if s.excludes(ref) {
		return
	}
	value, ok := s.codec.load(key, ref)
	if ok && (s.matches == nil || s.matches(s.codec.config.Labels(value))) {
		s.to.Append(value)
	}
}

// excludes reports whether the value of ref need not be decoded: its labels can be read from packed
// bytes, and do not match. Those of a group are read and matched once.
func (s *selection) excludes(ref *valueRef) bool {
	if s.matches == nil || !s.codec.IsPacked() {
		return false
	}
	p := packedOf(ref)
	group := p.object.ExcerptGroup()
	if matches, known := s.groups[group]; known {
		return !matches
	}
	labels, read := s.codec.packedLabels(p)
	if !read {
		return false
	}
	matches := s.matches(labels)
	if group != (pack.ExcerptGroup{}) {
		if s.groups == nil {
			s.groups = make(map[pack.ExcerptGroup]bool)
		}
		s.groups[group] = matches
	}
	return !matches
}

// yieldAfterLongRead yields the processor after a long read, with a probability proportional to the
// number of goroutines yielding, so that a writer waits for O(1) reads.
//
// Readers that never block would keep the processor for time slices of 10 ms, and each goroutine
// that handles a change would wait for all of them. If readers yielded after every long read, they
// would in turn wait for one another.
func (v *snapshotData) yieldAfterLongRead() {
	if v.entries.Len() < longRead {
		return
	}
	yielding := &v.codec.yielding
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

// Indexes returns, by the name of each index, the number of values under which it has objects.
func (v *snapshotData) Indexes() map[string]int {
	values := make(map[string]int, len(v.indexes))
	for i, name := range v.set.names {
		values[name] = v.indexes[i].Len()
	}
	return values
}

// FindKeys returns the first keys that contain a text, in order and at most limit, and the number
// of all such keys. It sorts no more keys at a time than twice the limit.
func (v *snapshotData) FindKeys(text string, limit int) (keys []string, found int) {
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
