package store

import (
	"math/rand/v2"
	"runtime"
	"slices"
)

// List returns all values, in no order.
func (v *snapshotData[V]) List() []V { return v.Select(nil) }

// ByIndex returns the values that an index finds under a value, in no order. An
// index that there is not is an error.
func (v *snapshotData[V]) ByIndex(name, value string) ([]V, error) {
	return v.SelectByIndex(name, value, nil)
}

// Select returns the values whose labels match, in no order; with nil all. Of packed
// entries it decodes only those that do. The labels that matches is given are not to
// be changed.
func (v *snapshotData[V]) Select(matches func(labels map[string]string) bool) []V {
	selected := newSelection(v, matches, v.entries.Len())
	for key, item := range v.entries.All() {
		selected.add(key, item.Value)
	}
	v.yieldAfterLongRead()
	return selected.values
}

// SelectByKey is Select of what has a key that is accepted.
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

// SelectByIndex is Select of what an index finds under a value.
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
		if f := v.entries.Get(key); f != nil {
			selected.add(key, f)
		}
	}
	return selected.values, nil
}

// scanShare: to go through all entries takes less time than to look up one in so many
// of them.
const scanShare = 3

// scan offers what the index at position i has under a value. Entries of equal index
// values mostly have one meta, one after the other.
func (v *snapshotData[V]) scan(selected *selection[V], i int, value string) {
	var last *indexValues
	found := false
	for key, item := range v.entries.All() {
		if m := item.Meta.indexed; m != last {
			last, found = m, m != nil && slices.Contains(at(m.byIndex, i), value)
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
	matches func(labels map[string]string) bool // nil: all do
	values  []V
}

// newSelection returns an empty one. It has room for n, if all match that are offered.
func newSelection[V any](from *snapshotData[V], matches func(labels map[string]string) bool, n int) selection[V] {
	s := selection[V]{store: from.store, matches: matches}
	if matches == nil {
		s.values = make([]V, 0, n)
	}
	return s
}

func (s *selection[V]) add(key string, f *valueRef) {
	if value, ok := s.store.loadMatching(key, f, s.matches); ok {
		s.values = append(s.values, value)
	}
}

// giveWay lets others have the processor after some long reads. Readers that never wait
// for anything would keep it for ten milliseconds at a time, and each of the goroutines
// that a change goes through would wait for all of them; after every long read it would be
// the readers who wait. So they do it the oftener, the more of them are waiting to have it
// back: however many there are, a change waits for about as many reads.
func (v *snapshotData[V]) yieldAfterLongRead() {
	if v.entries.Len() < longRead {
		return
	}
	waiting := &v.store.yielding
	if chance := max(waiting.Load(), yieldNum); rand.N(yieldDen) < chance { //nolint:gosec // no secret
		waiting.Add(1)
		runtime.Gosched()
		waiting.Add(-1)
	}
}

const (
	longRead = 1000 // entries from which on a list takes many times what giving way does
	// Where few wait, a reader gives way after so many reads in always. These are measured:
	// ten readers, and eighty, list about as often as client-go's, whose writer hardly writes.
	yieldNum int32 = 11
	yieldDen int32 = 320
)
