package store

import (
	"fmt"
	"slices"
)

// validate checks the structure: each entry is in the indexes under exactly the values that it
// records, each index value has keys, and each key an entry.
func (s *Store[V]) validate() error {
	s.writer.Lock()
	defer s.writer.Unlock()
	snapshot := s.Snapshot()
	for i, name := range snapshot.set.names {
		want := 0
		for key, item := range snapshot.entries.All() {
			entry := new(Entry[V]).fromMap(item)
			for _, value := range at(entry.byIndex(), i) {
				want++
				if set := snapshot.indexes[i].Get(value); set == nil || !set.Has(key) {
					return fmt.Errorf("index %q: key %q not found under %q", name, key, value)
				}
			}
		}
		have := 0
		for value, item := range snapshot.indexes[i].All() {
			set := item.Value
			if set.Len() == 0 {
				return fmt.Errorf("index %q: value %q has no keys", name, value)
			}
			have += set.Len()
		}
		if have != want {
			return fmt.Errorf("index %q: has %d keys, entries record %d", name, have, want)
		}
	}
	if keys := snapshot.Keys(); len(keys) != snapshot.Len() || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(keys) {
		return fmt.Errorf("%d keys for %d entries, or a duplicate key", len(keys), snapshot.Len())
	}
	return nil
}
