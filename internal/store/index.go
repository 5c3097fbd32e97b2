// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// IndexFunc returns the values under which an index finds an object. The result must depend only on
// the object. The store neither keeps nor modifies the returned slice.
type IndexFunc func(any) ([]string, error)

// indexSet lists a store's indexes. It is immutable; adding an index makes a new set, in which the
// old indexes keep their positions.
type indexSet struct {
	names     []string
	functions []IndexFunc
	errors    []*atomic.Uint64 // how often each function has failed
}

// with returns a set of the indexes of set, followed by more indexes.
func (set *indexSet) with(indexers map[string]IndexFunc) *indexSet {
	more := &indexSet{slices.Clone(set.names), slices.Clone(set.functions), slices.Clone(set.errors)}
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		more.names = append(more.names, name)
		more.functions = append(more.functions, indexers[name])
		more.errors = append(more.errors, new(atomic.Uint64))
	}
	return more
}

// valuesOf returns an object's values under each index, or nil if there are no indexes. It calls
// valuesAt for the values under the index at a position; if that fails or panics, the error is
// reported and the object has no values under that index. known holds the values of the object's
// previous state; it is not modified, and is returned if no value has changed.
func (set *indexSet) valuesOf(key string, valuesAt func(i int) ([]string, error), known [][]string, report func(string, error)) [][]string {
	byIndex, own := known, false
	if len(known) != len(set.functions) {
		byIndex, own = make([][]string, len(set.functions)), true
		copy(byIndex, known)
	}
	for i := range set.functions {
		values := set.call(i, key, valuesAt, report)
		if slices.Equal(values, byIndex[i]) {
			continue
		}
		if !own {
			byIndex, own = slices.Clone(known), true
		}
		byIndex[i] = normalize(values)
	}
	return byIndex
}

func (set *indexSet) call(i int, key string, valuesAt func(i int) ([]string, error), report func(string, error)) []string {
	values, err := feed.CatchPanic(func() ([]string, error) { return valuesAt(i) })
	if err != nil {
		set.errors[i].Add(1)
		report(key, &feed.EffectError{Effect: feed.NotIndexed, Err: fmt.Errorf("index %q: %w", set.names[i], err)})
		return nil
	}
	return values
}

// normalize returns a copy of an index function's result, sorted and without duplicates.
func normalize(values []string) []string {
	values = slices.Clone(values)
	if len(values) > 1 {
		slices.Sort(values)
		values = slices.Compact(values)
	}
	return values
}

// indexes holds the indexes of one state. A value without keys is removed from its index.
type indexes struct {
	set    *indexSet
	pages  *snapmap.Generation
	values []*postings // in the order of set
	// scopes has the keys of each scope by its id. It is nil if the store has the whole collection.
	scopes *postings
}

// postings is one index: the set of keys under each value.
type postings = snapmap.Map[snapmap.Set, struct{}]

func newIndexes(set *indexSet, pages *snapmap.Generation, scoped bool) *indexes {
	ix := &indexes{set: set, pages: pages}
	for range set.names {
		ix.values = append(ix.values, snapmap.NewMap[snapmap.Set, struct{}](pages))
	}
	if scoped {
		ix.scopes = snapmap.NewMap[snapmap.Set, struct{}](pages)
	}
	return ix
}

// move moves a key from the index values of old to those of entry. Either may be nil.
func (ix *indexes) move(key string, old, entry *Entry) {
	ix.moveScope(key, old, entry)
	from, to := old.byIndex(), entry.byIndex()
	for i, keys := range ix.values {
		was, is := valuesUnder(from, i), valuesUnder(to, i)
		if slices.Equal(was, is) {
			continue
		}
		for _, value := range was {
			if !slices.Contains(is, value) {
				ix.remove(keys, value, key)
			}
		}
		for _, value := range is {
			if !slices.Contains(was, value) {
				ix.add(keys, value, key)
			}
		}
	}
}

// moveScope moves a key from the scope of old to that of entry. Either may be nil.
func (ix *indexes) moveScope(key string, old, entry *Entry) {
	if ix.scopes == nil || old != nil && entry != nil && old.scope() == entry.scope() {
		return
	}
	if old != nil {
		ix.remove(ix.scopes, old.scope().id, key)
	}
	if entry != nil {
		ix.add(ix.scopes, entry.scope().id, key)
	}
}

// ofScope returns the keys of a scope, nil if it has none or the store has the whole collection.
func (ix *indexes) ofScope(c *Scope) *snapmap.Set {
	if ix.scopes == nil {
		return nil
	}
	return ix.scopes.Get(c.id)
}

// scopeSize returns the number of keys of a scope.
func (ix *indexes) scopeSize(c *Scope) int {
	if set := ix.ofScope(c); set != nil {
		return set.Len()
	}
	return 0
}

// valuesUnder returns an entry's values under the index at position i, or nil if the index was
// added after the entry was made.
func valuesUnder(byIndex [][]string, i int) []string {
	if i < len(byIndex) {
		return byIndex[i]
	}
	return nil
}

func (ix *indexes) add(keys *postings, value, key string) {
	old := keys.Get(value)
	set := old
	if set == nil {
		set = snapmap.NewSet(ix.pages)
	}
	if set = set.Add(ix.pages, key); set != old {
		keys.Set(value, set)
	}
}

func (ix *indexes) remove(keys *postings, value, key string) {
	old := keys.Get(value)
	if old == nil {
		return
	}
	switch set := old.Remove(ix.pages, key); {
	case set.Len() == 0:
		keys.Delete(value)
	case set != old:
		keys.Set(value, set)
	}
}

// lacksIndexOf reports whether the entry was made before an index of the set was added.
func (e *Entry) lacksIndexOf(set *indexSet) bool {
	return len(e.byIndex()) < len(set.names)
}
