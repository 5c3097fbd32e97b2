package store

import (
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
)

// replacement is a new state in the making, built beside the live one and
// swapped for it at once. Entries that have not changed are shared.
type replacement[V any] struct {
	store      *Store[V]
	next       *state[V]
	metas      interner
	fresh      []string            // keys of entries made for this state, in the order of the list
	writes     uint64              // of the live state when this one was begun
	quarantine map[string]struct{} // keys that could not be stored
}

// Begin starts a new state of the whole collection.
func (s *Store[V]) Begin() feed.Replacement { return s.begin() }

func (s *Store[V]) begin() *replacement[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live.Load()
	return &replacement[V]{store: s, next: newState(live.indexes.set), writes: live.writes}
}

// Add puts an item into the new state. An object in a version that the store has
// is kept as it is: not decoded, not transformed, no event.
func (r *replacement[V]) Add(item feed.Item) {
	s := r.store
	key, value, err := s.keyOf(item)
	if err != nil {
		r.reject(item.Key, err)
		return
	}
	item.Key = key
	old := s.live.Load().entries.Get(key)
	if old != nil && s.compare(key, old, item) == feed.Unchanged {
		r.put(key, old, false)
		return
	}
	entry, err := s.newEntry(&r.metas, item, value, old)
	if err != nil {
		r.reject(key, err)
		if old != nil {
			r.put(key, old, false)
		}
		return
	}
	r.put(key, entry, true)
}

// Remove takes an object out of the new state.
func (r *replacement[V]) Remove(item feed.Item) {
	if key, _, err := r.store.keyOf(item); err == nil {
		r.drop(key)
	}
}

func (r *replacement[V]) put(key string, entry *Entry[V], fresh bool) {
	before := r.next.entries.Set(key, entry)
	r.next.indexes.move(key, before, entry)
	if fresh && before == nil {
		r.fresh = append(r.fresh, key)
	}
}

func (r *replacement[V]) drop(key string) {
	if before := r.next.entries.Delete(key); before != nil {
		r.next.indexes.move(key, before, nil)
	}
}

func (r *replacement[V]) reject(key string, err error) {
	if r.quarantine == nil {
		r.quarantine = make(map[string]struct{})
	}
	r.quarantine[key] = struct{}{}
	r.store.config.Report(key, err)
}

// Replace makes values the whole collection, whatever their versions: all of
// them or, on an error, nothing.
func (s *Store[V]) Replace(values []V, resourceVersion string) error {
	s.writer.Lock()
	defer s.writer.Unlock()
	r := s.begin()
	for i := range values {
		key, err := guard(func() (string, error) { return s.config.Key(values[i]) })
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		uid, version := s.config.Identity(values[i])
		item := feed.Item{Key: key, UID: uid, ResourceVersion: version}
		entry, err := s.newEntry(&r.metas, item, &values[i], s.live.Load().entries.Get(key))
		if err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		r.put(key, entry, true)
	}
	r.commit(resourceVersion)
	return nil
}

// Commit swaps the new state in: every snapshot shows all of it or none. The log
// gets the difference as one batch, deletions first.
func (r *replacement[V]) Commit(resourceVersion string) {
	s := r.store
	s.writer.Lock()
	defer s.writer.Unlock()
	r.commit(resourceVersion)
}

// commit is Commit for those who hold the writer's lock.
func (r *replacement[V]) commit(resourceVersion string) {
	s, live := r.store, r.store.live.Load()
	if set := live.indexes.set; r.next.indexes.set != set { // an index was added meanwhile
		r.next = s.reindexed(r.next, set)
	}
	changes := r.changes(live)
	s.quarantine.set(r.quarantine)

	s.mu.Lock()
	defer s.mu.Unlock()
	r.next.version, r.next.writes = resourceVersion, live.writes+1
	s.live.Store(r.next)
	s.current.Store(nil)
	s.tell(changes)
}

// tell appends a replacement's changes to the log; the first replacement's are
// the initial state. mu is held.
func (s *Store[V]) tell(changes []Change[V]) {
	first := s.filled.Load() == nil
	for i := range changes {
		changes[i].Initial = first
	}
	var events uint64
	if s.config.Log != nil {
		s.config.Log.Append(changes)
		events = s.config.Log.Appended()
	}
	if first {
		s.filled.Store(&events)
	}
}

// changes returns what the log is to hear: deletions, then additions and updates
// in the order of the list.
func (r *replacement[V]) changes(live *state[V]) []Change[V] {
	if r.store.config.Log == nil {
		return nil
	}
	var changes []Change[V]
	for key, old := range live.entries.All() {
		entry := r.next.entries.Get(key)
		if entry == nil || entry != old && !r.store.sameObject(old, entry) {
			changes = append(changes, Change[V]{Key: key, Old: old})
		}
	}
	compare := func(key string) {
		old, entry := live.entries.Get(key), r.next.entries.Get(key)
		if entry == nil || old != nil && r.store.sameVersion(old, entry) {
			return
		}
		if old != nil && !r.store.sameObject(old, entry) {
			old = nil // its deletion is told already
		}
		changes = append(changes, Change[V]{Key: key, Old: old, New: entry})
	}
	if live.writes == r.writes { // what is not fresh is shared with the live state
		for _, key := range r.fresh {
			compare(key)
		}
		return changes
	}
	for key := range r.next.entries.All() {
		compare(key)
	}
	return changes
}

// sameVersion tells whether two entries of one key are one state of one object.
func (s *Store[V]) sameVersion(a, b *Entry[V]) bool {
	if a == b {
		return true
	}
	uidA, versionA := s.identity(a)
	uidB, versionB := s.identity(b)
	return feed.SameVersion(uidA, versionA, uidB, versionB)
}
