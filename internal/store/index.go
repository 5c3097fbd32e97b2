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

// valuesOf returns the sharedMeta of an object with an origin. It calls valuesAt for the values
// under the index at a position; if that fails or panics, the error is reported and the object has
// no values under that index. known is that of the object's previous state; it is not modified, and
// is returned if nothing has changed.
func (set *indexSet) valuesOf(key string, valuesAt func(i int) ([]string, error), origin, known *sharedMeta, report func(string, error)) *sharedMeta {
	var room [maxListed]*sharedMeta
	elements := known.elements(room[:0])
	shared := origin
	for i := range set.functions {
		values := set.call(i, key, valuesAt, report)
		if i >= len(elements) {
			shared = &sharedMeta{shared, newIndexValues(values, nil)}
			continue
		}
		element := elements[i]
		if values := newIndexValues(values, element.values); values != element.values {
			element = &sharedMeta{shared, values}
		}
		shared = element.withRest(shared)
	}
	return shared
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

// indexes holds the indexes of one state. A value without keys is removed from its index.
type indexes struct {
	set    *indexSet
	pages  *snapmap.Generation
	values []*postings // in the order of set
	// scopes has the keys of each scope by its id. It is nil if the store has the whole collection.
	scopes *postings
	// combinations has elements of entries by their contents, so that others share them. It is
	// dropped once it has maxCombinations, and as the state becomes live.
	combinations map[sharedMeta]*sharedMeta
	// like has other indexes, in the order of set, whose values will mostly have as many keys. It
	// is dropped as the state becomes live.
	like []indexView
}

const maxCombinations = 1024

// postings is one index: the set of keys under each value.
type postings = snapmap.Map[snapmap.Set, struct{}]

// indexView is a view of postings.
type indexView = snapmap.View[snapmap.Set, struct{}]

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

// move moves a key from the index values of old to those of entry. Either may be nil. It returns
// the sharedMeta of entry, with what it shares with the entries of the state.
func (ix *indexes) move(entries *entryMap, key string, old, entry *Entry) *sharedMeta {
	was, is := old.sharedMeta(), entry.sharedMeta()
	if was == is {
		return is
	}
	ix.moveScope(key, old, entry)
	var oldRoom, room [maxListed]*sharedMeta
	from, to := was.elements(oldRoom[:0]), is.elements(room[:0])
	shared := is.last()
	for i := range ix.values {
		var before, next *sharedMeta // nil if the index was added after the entry was made
		if i < len(from) {
			before = from[i]
		}
		if i < len(to) {
			next = ix.share(entries, i, to[i], shared, before)
			shared = next
		}
		ix.moveValues(i, key, before, next)
	}
	for i := len(ix.values); i < len(to); i++ {
		shared = to[i].withRest(shared)
	}
	return shared
}

// share returns an element that is equal to that of an entry under the index at position i, with a
// rest that other entries share: one that another entry has, or at least one with the values of
// another.
func (ix *indexes) share(entries *entryMap, i int, element, rest, before *sharedMeta) *sharedMeta {
	if element == before && element.rest == rest {
		return element
	}
	values := element.values
	if values != nil {
		set := ix.values[i].Get(values.list()[0])
		if set == nil {
			return element.withRest(rest)
		}
		other := entries.Item(set.AnyKey()).Meta.shared.element(i)
		if slices.Equal(other.list(), values.list()) {
			values = other.values
		}
		want := sharedMeta{rest, values}
		if want == *other {
			return other
		}
		if want == *element && before == nil { // of an entry that another state has, too
			return element
		}
	}
	return ix.combination(element, sharedMeta{rest, values})
}

// combination returns an element with the contents of want: that of another entry, or the given one
// if it has them, or else a new one.
func (ix *indexes) combination(element *sharedMeta, want sharedMeta) *sharedMeta {
	if known := ix.combinations[want]; known != nil {
		return known
	}
	if ix.combinations == nil || len(ix.combinations) >= maxCombinations {
		ix.combinations = make(map[sharedMeta]*sharedMeta)
	}
	if *element != want {
		element = &want
	}
	ix.combinations[want] = element
	return element
}

// moveValues moves a key in the index at position i from the values of an element to those of the
// next one. Either may be nil.
func (ix *indexes) moveValues(i int, key string, before, next *sharedMeta) {
	was, is := before.list(), next.list()
	if slices.Equal(was, is) {
		return
	}
	for _, value := range was {
		if !slices.Contains(is, value) {
			ix.remove(ix.values[i], value, key)
		}
	}
	for _, value := range is {
		if !slices.Contains(was, value) {
			ix.add(ix.values[i], ix.likeAt(i), value, key)
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
		ix.add(ix.scopes, indexView{}, entry.scope().id, key)
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

// likeAt returns the index that the one at position i will be like, or the zero view.
func (ix *indexes) likeAt(i int) (view indexView) {
	if i < len(ix.like) {
		view = ix.like[i]
	}
	return view
}

// trim gives up room that the values do not need.
func (ix *indexes) trim() {
	for _, keys := range ix.values {
		for _, item := range keys.All() {
			item.Value.Trim()
		}
	}
}

// add adds a key under a value, under which no entry has it yet.
func (ix *indexes) add(keys *postings, like indexView, value, key string) {
	old := keys.Get(value)
	set := old
	if set == nil {
		set = snapmap.NewSetLike(ix.pages, like.Get(value))
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
	return e.shared.indexes() < len(set.names)
}
