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
	store    *Store[V]
	next     *state[V]
	metas    interner
	fresh    []string            // keys of entries made for this state, in the order of the list
	distrust bool                // an object in a version that is known may be another state
	repeats  bool                // an entry was replaced or taken out again: fresh may have a key twice
	writes   uint64              // of the live state when this one was begun
	rejected map[string]string   // keys whose last state could not be stored, and its version
	cured    map[string]struct{} // keys that were quarantined and have a good state now
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
func (r *replacement[V]) CompareContents() { r.distrust = true }

// Needs tells what is taken of an item: nothing of one that is kept by its version, and
// no object of one that is packed as it came.
func (r *replacement[V]) Needs(item feed.Item) feed.Need {
	switch s := r.store; {
	case !r.distrust && s.config.ItemKeys && s.HasVersion(item):
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
	s, sent := r.store, item.Key
	key, value, err := s.keyOf(item)
	item.Key = key
	_, marked := s.quarantine.failed(key)
	var both pair[V]
	old := s.fetch(key, &both.old)
	known := old != nil && s.compare(old.identity, identityOf(item.UID, item.ResourceVersion), item) == feed.Unchanged
	if known && !r.distrust {
		r.accept(sent, key, old, marked)
		return
	}
	if err == nil {
		err = s.makeEntry(&both.next, &r.metas, item, value, old)
	}
	if err != nil {
		r.reject(item, err)
		return
	}
	if known && s.equal(old.face, both.next.face) {
		r.accept(sent, key, old, marked)
		return
	}
	r.accept(sent, key, &both.next, marked)
	r.fresh = append(r.fresh, key)
}

// accept puts an entry in: the live one, or one made for this state, which is fresh
// then.
func (r *replacement[V]) accept(sent, key string, entry *Entry[V], marked bool) {
	delete(r.rejected, sent)
	delete(r.rejected, key)
	if marked {
		if r.cured == nil {
			r.cured = make(map[string]struct{})
		}
		r.cured[key] = struct{}{}
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
	if before := entry.entryOf(r.next.entries.Item(key)); before != nil {
		r.next.entries.Delete(key)
		r.next.indexes.move(key, before, nil)
		r.repeats = true
	}
}

func (r *replacement[V]) put(key string, entry *Entry[V]) (before item) {
	before = r.next.entries.Put(key, entry.item())
	var room Entry[V]
	r.next.indexes.move(key, room.entryOf(before), entry)
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
		var both pair[V]
		old := both.old.entryOf(s.entries.Item(key))
		if err := s.makeEntry(&both.next, &r.metas, item, &values[i], old); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		_, marked := s.quarantine.failed(key)
		r.accept(key, key, &both.next, marked)
		r.fresh = append(r.fresh, key)
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
		if old := room.entryOf(live.entries.Item(key)); old != nil && r.next.entries.Get(key) == nil {
			r.put(key, old)
		}
	}
	changes, settled := r.changes(live), r.settled(live)

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range settled {
		s.quarantine.release(key)
	}
	for key, version := range r.rejected {
		s.quarantine.add(key, version)
	}
	r.next.version, r.next.writes = resourceVersion, live.writes+1
	s.enliven(r.next)
	s.tell(changes)
}

// tell appends a replacement's changes to the log, and notes where the initial
// state ends. mu is held.
func (s *Store[V]) tell(changes []Change[V]) {
	var events uint64
	if s.config.Log != nil {
		s.config.Log.Append(changes)
		events = s.config.Log.Appended()
	}
	if s.filled.Load() == nil {
		s.filled.Store(&events)
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
	initial := s.filled.Load() == nil
	for key, item := range live.entries.All() {
		var both pair[V]
		old, entry := both.old.entryOf(item), both.next.entryOf(r.next.entries.Item(key))
		if entry == nil || *old != *entry && !old.sameObject(entry.identity) {
			gone := *old
			changes = append(changes, Change[V]{Key: key, Old: &gone, Initial: initial})
		}
	}
	changes = slices.Grow(changes, len(r.fresh))
	for key, fresh := range r.candidates(live) {
		both := new(pair[V])
		old, entry := both.old.entryOf(live.entries.Item(key)), both.next.entryOf(r.next.entries.Item(key))
		if entry == nil || !s.config.EmitUnchanged && old != nil && r.keeps(old, entry, fresh) {
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
func (r *replacement[V]) keeps(old, entry *Entry[V], fresh bool) bool {
	if r.distrust { // by the object alone: an index that was added meanwhile changes the note
		return old.face == entry.face
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
		for _, key := range r.fresh {
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
func (r *replacement[V]) settled(live *state[V]) (keys []string) {
	for _, key := range r.store.quarantine.all() {
		var both pair[V]
		old, entry := both.old.entryOf(live.entries.Item(key)), both.next.entryOf(r.next.entries.Item(key))
		_, cured := r.cured[key]
		if cured || entry == nil || old == nil || !r.keeps(old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}
