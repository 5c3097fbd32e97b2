package store

import (
	"fmt"
	"iter"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// replacement is a new state in the making, built beside the live one and
// swapped for it at once. Entries that have not changed are shared. One goroutine
// uses it, without the writer's lock until it commits.
type replacement[V any] struct {
	store           *Store[V]
	next            *state[V]
	interner        valueInterner
	added           []string            // keys of entries made for this state, in the order of the list
	compareContents bool                // an object in a version that is known may be another state
	repeats         bool                // an entry was replaced or taken out again: fresh may have a key twice
	writes          uint64              // of the live state when this one was begun
	rejected        map[string]string   // keys whose last state could not be stored, and its version
	recovered       map[string]struct{} // keys that were quarantined and have a good state now
}

// Begin starts a new state of the whole collection.
func (s *Store[V]) Begin() feed.Replacement { return s.begin() }

func (s *Store[V]) begin() *replacement[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live.Load()
	return &replacement[V]{store: s, next: newState(live.indexes.set), writes: live.writes}
}

// Distrust says that versions do not tell whether an object has changed.
func (r *replacement[V]) CompareContents() { r.compareContents = true }

// Needs tells what is taken of an item: nothing of one that is kept by its version, and
// no object of one that is packed as it came.
func (r *replacement[V]) Needs(item feed.Item) feed.Need {
	switch s := r.store; {
	case !r.compareContents && s.config.ItemKeys && s.HasVersion(item):
		return feed.NeedsIdentity
	case s.config.Packer != nil:
		return feed.NeedsBytes
	default:
		return feed.NeedsObject
	}
}

// Add puts an item into the new state. An object in a version that the store has
// is kept as it is: not decoded, not transformed, no event. With Distrust it is, if it
// turns out to be equal.
func (r *replacement[V]) Add(item feed.Item) {
	s, itemKey := r.store, item.Key
	key, value, err := s.keyOf(item)
	item.Key = key
	_, quarantined := s.quarantine.failed(key)
	var pair entryPair[V]
	old := s.liveEntry(key, &pair.old)
	known := old != nil && s.compare(old.identity, identityOf(item.UID, item.ResourceVersion), item) == feed.Unchanged
	if known && !r.compareContents {
		r.accept(itemKey, key, old, quarantined)
		return
	}
	if err == nil {
		err = s.makeEntry(&pair.next, &r.interner, item, value, old)
	}
	if err != nil {
		r.reject(item, err)
		return
	}
	if known && s.equal(old.ref, pair.next.ref) {
		r.accept(itemKey, key, old, quarantined)
		return
	}
	r.accept(itemKey, key, &pair.next, quarantined)
	r.added = append(r.added, key)
}

// accept puts an entry in: the live one, or one made for this state, which is fresh
// then.
func (r *replacement[V]) accept(itemKey, key string, entry *Entry[V], quarantined bool) {
	delete(r.rejected, itemKey)
	delete(r.rejected, key)
	if quarantined {
		if r.recovered == nil {
			r.recovered = make(map[string]struct{})
		}
		r.recovered[key] = struct{}{}
	}
	if before := r.put(key, entry); before.Value != nil {
		r.repeats = true
	}
}

// reject remembers that an object's last state could not be stored. Which good
// state it keeps is found out at the end.
func (r *replacement[V]) reject(item feed.Item, err error) {
	if r.rejected == nil {
		r.rejected = make(map[string]string)
	}
	r.rejected[item.Key] = item.ResourceVersion
	r.store.config.Report(item.Key, err)
}

// Remove takes an object out of the new state.
func (r *replacement[V]) Remove(item feed.Item) {
	key, _, _ := r.store.keyOf(item) // with an error the best guess, which at worst is not there
	delete(r.rejected, item.Key)
	delete(r.rejected, key)
	var entry Entry[V]
	if before := entry.fromMap(r.next.entries.Item(key)); before != nil {
		r.next.entries.Delete(key)
		r.next.indexes.move(key, before, nil)
		r.repeats = true
	}
}

func (r *replacement[V]) put(key string, entry *Entry[V]) (before mapItem) {
	before = r.next.entries.Put(key, entry.mapItem())
	var room Entry[V]
	r.next.indexes.move(key, room.fromMap(before), entry)
	return before
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
		var pair entryPair[V]
		old := pair.old.fromMap(s.entries.Item(key))
		if err := s.makeEntry(&pair.next, &r.interner, item, &values[i], old); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		_, quarantined := s.quarantine.failed(key)
		r.accept(key, key, &pair.next, quarantined)
		r.added = append(r.added, key)
	}
	r.commit(resourceVersion)
	return nil
}

// Commit swaps the new state in: every snapshot shows all of it or none. The log
// gets the difference as one batch, deletions first. It does not fail.
func (r *replacement[V]) Commit(resourceVersion string) error {
	s := r.store
	s.writer.Lock()
	defer s.writer.Unlock()
	r.commit(resourceVersion)
	return nil
}

// commit is Commit for those who hold the writer's lock.
func (r *replacement[V]) commit(resourceVersion string) {
	s, live := r.store, r.store.live.Load()
	if set := live.indexes.set; r.next.indexes.set != set { // an index was added meanwhile
		r.next = s.reindexed(r.next, set)
	}
	for key := range r.rejected {
		var room Entry[V]
		if old := room.fromMap(live.entries.Item(key)); old != nil && r.next.entries.Get(key) == nil {
			r.put(key, old)
		}
	}
	changes, settled := r.changes(live), r.resolved(live)

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range settled {
		s.quarantine.release(key)
	}
	for key, version := range r.rejected {
		s.quarantine.add(key, version)
	}
	r.next.version, r.next.writes = resourceVersion, live.writes+1
	s.publish(r.next)
	s.appendChanges(changes)
}

// tell appends a replacement's changes to the log, and notes where the initial
// state ends. mu is held.
func (s *Store[V]) appendChanges(changes []Change[V]) {
	var events uint64
	if s.config.Log != nil {
		s.config.Log.Append(changes)
		events = s.config.Log.Appended()
	}
	if s.synced.Load() == nil {
		s.synced.Store(&events)
	}
}

// changes returns what the log is to hear: deletions, then additions and updates
// in the order of the list.
func (r *replacement[V]) changes(live *state[V]) []Change[V] {
	s := r.store
	if s.config.Log == nil {
		return nil
	}
	var changes []Change[V]
	initial := s.synced.Load() == nil
	for key, item := range live.entries.All() {
		var pair entryPair[V]
		old, entry := pair.old.fromMap(item), pair.next.fromMap(r.next.entries.Item(key))
		if entry == nil || *old != *entry && !old.sameObject(entry.identity) {
			gone := *old
			changes = append(changes, Change[V]{Key: key, Old: &gone, Initial: initial})
		}
	}
	changes = slices.Grow(changes, len(r.added))
	for key, fresh := range r.candidates(live) {
		pair := new(entryPair[V])
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		if entry == nil || !s.config.EmitUnchanged && old != nil && r.sameState(old, entry, fresh) {
			continue
		}
		if old != nil && !old.sameObject(entry.identity) {
			old = nil // its deletion is told already
		}
		changes = append(changes, Change[V]{Key: key, Old: old, New: entry, Initial: initial})
	}
	return changes
}

// keeps tells whether an entry of the new state, which was made for it or not, is the
// same state of its object as the live one.
func (r *replacement[V]) sameState(old, entry *Entry[V], fresh bool) bool {
	if r.compareContents { // by the object alone: an index that was added meanwhile changes the note
		return old.ref == entry.ref
	}
	return !fresh && *old == *entry || old.sameVersion(entry.identity)
}

// candidates yields the keys that may differ from the live state, each once, and
// whether an entry was made for it: those of fresh entries and, if somebody wrote to
// the live state meanwhile, or all are to be told, all others.
func (r *replacement[V]) candidates(live *state[V]) iter.Seq2[string, bool] {
	all := live.writes != r.writes || r.store.config.EmitUnchanged
	return func(yield func(key string, fresh bool) bool) {
		seen := make(map[string]struct{})
		for _, key := range r.added {
			if _, again := seen[key]; !again && !yield(key, true) {
				return
			}
			if all || r.repeats {
				seen[key] = struct{}{}
			}
		}
		if !all { // what is not fresh is shared with the live state
			return
		}
		for key := range r.next.entries.All() {
			if _, again := seen[key]; !again && !yield(key, false) {
				return
			}
		}
	}
}

// settled returns the quarantined keys that the new state has an answer to: all,
// but those it keeps as they are and a reader found corrupt only after that.
func (r *replacement[V]) resolved(live *state[V]) (keys []string) {
	for _, key := range r.store.quarantine.all() {
		var pair entryPair[V]
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		_, cured := r.recovered[key]
		if cured || entry == nil || old == nil || !r.sameState(old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}
