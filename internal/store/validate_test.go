package store

import (
	"fmt"
	"slices"
)

// Validate checks the structure: every entry is under exactly the index values
// that it remembers, every index value has keys, and every key an entry. It is
// for tests, and takes time in proportion to the store.
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
					return fmt.Errorf("index %q: %q is not found under %q", name, key, value)
				}
			}
		}
		have := 0
		for value, item := range snapshot.indexes[i].All() {
			set := item.Value
			if set.Len() == 0 {
				return fmt.Errorf("index %q: value %q has no key", name, value)
			}
			have += set.Len()
		}
		if have != want {
			return fmt.Errorf("index %q: holds %d keys, the entries make %d", name, have, want)
		}
	}
	if keys := snapshot.Keys(); len(keys) != snapshot.Len() || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(keys) {
		return fmt.Errorf("%d keys, %d entries, or a key twice", len(keys), snapshot.Len())
	}
	return nil
}
