package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kinformer/kinformer/internal/snapmap"
)

// IndexFunc returns the values under which an index finds an object. It must
// depend on the object alone. The slice it returns is neither kept nor changed.
type IndexFunc[V any] func(V) ([]string, error)

// indexSet is which indexes there are. It is immutable; adding an index makes a
// new set, in which the old indexes keep their positions.
type indexSet[V any] struct {
	names     []string
	functions []IndexFunc[V]
	positions map[string]int
}

func newIndexSet[V any](indexers map[string]IndexFunc[V]) *indexSet[V] {
	return (&indexSet[V]{}).with(indexers)
}

// with returns the set with more indexes behind its own.
func (set *indexSet[V]) with(indexers map[string]IndexFunc[V]) *indexSet[V] {
	more := &indexSet[V]{
		names:     slices.Clone(set.names),
		functions: slices.Clone(set.functions),
		positions: make(map[string]int, len(set.names)+len(indexers)),
	}
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		more.names = append(more.names, name)
		more.functions = append(more.functions, indexers[name])
	}
	for i, name := range more.names {
		more.positions[name] = i
	}
	return more
}

// valuesOf returns an object's values under every index, which ask finds out one by
// one, or nil where there is no index. A failure or panic costs the object its entry
// in that index and is reported. known, what a former state of the object had, is
// returned again if nothing has changed, and never written to.
func (set *indexSet[V]) valuesOf(key string, valuesAt func(i int) ([]string, error), known [][]string, report func(string, error)) [][]string {
	indexed, own := known, false
	if len(known) != len(set.functions) {
		indexed, own = make([][]string, len(set.functions)), true
		copy(indexed, known)
	}
	for i := range set.functions {
		values := set.call(i, key, valuesAt, report)
		if slices.Equal(values, indexed[i]) {
			continue
		}
		if !own {
			indexed, own = slices.Clone(known), true
		}
		indexed[i] = normalize(values)
	}
	return indexed
}

func (set *indexSet[V]) call(i int, key string, valuesAt func(i int) ([]string, error), report func(string, error)) []string {
	values, err := guard(func() ([]string, error) { return valuesAt(i) })
	if err != nil {
		report(key, fmt.Errorf("index %q: %w", set.names[i], err))
		return nil
	}
	return values
}

// tidy returns a copy of what an index function returned, which may be a shared
// slice: sorted, and each value once.
func normalize(values []string) []string {
	values = slices.Clone(values)
	if len(values) > 1 {
		slices.Sort(values)
		values = slices.Compact(values)
	}
	return values
}

// indexes are the indexes of one state: for each, the set of keys under each
// value. A value without keys is not there.
type indexes[V any] struct {
	set    *indexSet[V]
	pages  *snapmap.Generation
	values []*postings
}

// postings is one index: the keys under each value.
type postings = snapmap.Map[snapmap.Set, struct{}]

func newIndexes[V any](set *indexSet[V], pages *snapmap.Generation) *indexes[V] {
	ix := &indexes[V]{set: set, pages: pages}
	for range set.names {
		ix.values = append(ix.values, snapmap.NewMap[snapmap.Set, struct{}](pages))
	}
	return ix
}

// move takes a key from where old, its former entry, put it to where entry does.
// Either may be nil.
func (ix *indexes[V]) move(key string, old, entry *Entry[V]) {
	from, to := old.byIndex(), entry.byIndex()
	for i, keys := range ix.values {
		was, is := at(from, i), at(to, i)
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

// at returns an entry's values under the index at position i, which may have
// been added after the entry was made.
func at(indexed [][]string, i int) []string {
	if i < len(indexed) {
		return indexed[i]
	}
	return nil
}

func (ix *indexes[V]) add(keys *postings, value, key string) {
	old := keys.Get(value)
	set := old
	if set == nil {
		set = snapmap.NewSet(ix.pages)
	}
	if set = set.Add(key); set != old {
		keys.Set(value, set)
	}
}

func (ix *indexes[V]) remove(keys *postings, value, key string) {
	old := keys.Get(value)
	if old == nil {
		return
	}
	switch set := old.Remove(key); {
	case set.Len() == 0:
		keys.Delete(value)
	case set != old:
		keys.Set(value, set)
	}
}

// AddIndexers adds indexes to a store that may be in use. Existing objects are
// indexed when it returns. A name that is taken is an error, and changes nothing.
func (s *Store[V]) AddIndexers(indexers map[string]IndexFunc[V]) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	live := s.live.Load()
	for name := range indexers {
		if _, taken := live.indexes.set.positions[name]; taken {
			return fmt.Errorf("index %q exists already", name)
		}
	}
	next := s.reindexed(live, live.indexes.set.with(indexers))
	s.mu.Lock()
	defer s.mu.Unlock()
	next.version, next.writes = live.version, live.writes+1 // no entry is shared
	s.publish(next)
	return nil
}

// Indexers returns the index functions by name: a copy.
func (s *Store[V]) Indexers() map[string]IndexFunc[V] {
	set := s.live.Load().indexes.set
	indexers := make(map[string]IndexFunc[V], len(set.names))
	for i, name := range set.names {
		indexers[name] = set.functions[i]
	}
	return indexers
}

// reindexed returns a copy of a state with the indexes of set, which begins with
// the state's own. The writer's lock is held.
func (s *Store[V]) reindexed(from *state[V], set *indexSet[V]) *state[V] {
	to := newState(set)
	for key, item := range from.entries.All() {
		var entry Entry[V]
		entry.fromMap(item)
		if entry.lacksIndexOf(set) {
			if value, ok := s.Load(key, &entry); ok {
				s.addIndexValues(set, key, value, &entry)
			}
		}
		to.entries.Put(key, entry.mapItem())
		to.indexes.move(key, nil, &entry)
	}
	return to
}

// lacks tells whether an entry was made before an index of the set was added.
func (e *Entry[V]) lacksIndexOf(set *indexSet[V]) bool {
	return len(e.byIndex()) < len(set.names)
}

// giveValues gives an entry that nobody else has the values that it lacks of a longer
// set.
func (s *Store[V]) addIndexValues(set *indexSet[V], key string, value V, entry *Entry[V]) {
	indexed := slices.Clone(entry.byIndex())
	valuesAt := func(i int) ([]string, error) { return set.functions[i](value) }
	for i := len(indexed); i < len(set.functions); i++ {
		indexed = append(indexed, normalize(set.call(i, key, valuesAt, s.config.Report)))
	}
	entry.indexed = s.interner.intern(indexed, nil)
}
