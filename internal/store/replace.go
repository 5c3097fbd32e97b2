package store

import (
	"fmt"
	"iter"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// replacement is a new state that is built beside the live one and swapped for it at Commit.
// Unchanged entries are shared with the live state. A replacement is used by one goroutine, but for
// Needs, and does not hold the writer's lock before Commit.
type replacement[V any] struct {
	store           *Store[V]
	next            *state[V]
	maker           maker
	made            []string            // keys of the entries made for this state, in list order
	compareContents bool                // see CompareContents
	repeats         bool                // an entry was replaced or removed, so made may hold a key twice
	writes          uint64              // state.writes of the live state at Begin
	known           []Entry[V]          // entries that Needs has returned; belongs to its goroutine
	rejected        map[string]failure  // keys whose latest state could not be stored, and why
	unkeyed         int                 // number of items that could not be stored and have no key
	recovered       map[string]struct{} // quarantined keys that have a good state now
}

// Begin implements feed.Sink.
func (s *Store[V]) Begin() feed.Replacement { return s.begin(s.config.Report) }

// begin starts a replacement that reports errors by report.
func (s *Store[V]) begin(report func(key string, err error)) *replacement[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live.Load()
	return &replacement[V]{store: s, next: newState(live.indexes.set), maker: maker{report: report}, writes: live.writes}
}

// CompareContents implements feed.Replacement.
func (r *replacement[V]) CompareContents() { r.compareContents = true }

// Needs implements feed.Replacement. An object whose version the store has needs no contents: Needs
// returns the live entry. One that will be packed is not decoded in advance.
func (r *replacement[V]) Needs(item feed.Item) (need feed.Need, known any) {
	s := r.store
	if !r.compareContents && s.itemKeys() {
		var entry Entry[V]
		if s.hasVersion(item, &entry) {
			return feed.NeedsIdentity, r.keep(entry)
		}
	}
	if s.config.Packer != nil {
		return feed.NeedsBytes, nil
	}
	return feed.NeedsObject, nil
}

// knownChunk is the number of entries that share an allocation.
const knownChunk = 64

// keep returns a copy of an entry on the heap.
func (r *replacement[V]) keep(entry Entry[V]) *Entry[V] {
	if len(r.known) == cap(r.known) {
		r.known = make([]Entry[V], 0, knownChunk)
	}
	r.known = append(r.known, entry)
	return &r.known[len(r.known)-1]
}

// Add implements feed.Replacement. If the store has this version of the object, it keeps the live
// entry: it does not decode or transform the item, and emits no event. After CompareContents it
// decodes the item, and keeps the live entry only if the contents are equal.
func (r *replacement[V]) Add(item feed.Item) {
	s, itemKey := r.store, item.Key
	if known, ok := item.Known.(*Entry[V]); ok {
		r.accept(itemKey, itemKey, known, r.keptIsGood(itemKey))
		return
	}
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
		err = s.makeEntry(&pair.next, &r.maker, item, value, old)
	}
	if err != nil {
		r.reject(item, old != nil, err)
		return
	}
	if known && s.equal(old.ref, pair.next.ref) {
		r.accept(itemKey, key, old, quarantined)
		return
	}
	r.accept(itemKey, key, &pair.next, quarantined)
	r.made = append(r.made, key)
}

// keptIsGood reports whether a quarantined key has a good state now that its live entry is kept: the
// state that could not be stored was a later one, which the server no longer has. An entry that
// could not be read since Needs is not good.
func (r *replacement[V]) keptIsGood(key string) bool {
	f, quarantined := r.store.quarantine.failed(key)
	return quarantined && !f.unreadable
}

// accept adds an entry: the live one, or one made for this state. itemKey is the item's own key,
// which differs from key if a transform has renamed the object.
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

// reject records that an object's latest state could not be stored. Commit determines which good
// state it keeps, if the store holds one.
func (r *replacement[V]) reject(item feed.Item, held bool, err error) {
	if item.Key == "" {
		r.unkeyed++
	} else {
		if r.rejected == nil {
			r.rejected = make(map[string]failure)
		}
		r.rejected[item.Key] = failure{version: item.ResourceVersion, err: err}
	}
	r.maker.report(item.Key, &feed.EffectError{Effect: effectOf(held), Err: err})
}

// Remove implements feed.Replacement.
func (r *replacement[V]) Remove(item feed.Item) {
	key, _, _ := r.store.keyOf(item) // on error, key is the item's own, which may not exist here
	delete(r.rejected, item.Key)
	delete(r.rejected, key)
	var entry Entry[V]
	if before := entry.fromMap(r.next.entries.Item(key)); before != nil {
		r.next.entries.Delete(key)
		r.next.indexes.move(key, before, nil)
		r.repeats = true
	}
}

// put adds an entry and returns the one that it replaces.
func (r *replacement[V]) put(key string, entry *Entry[V]) (before mapItem) {
	before = r.next.entries.Put(key, entry.mapItem())
	var replaced Entry[V]
	r.next.indexes.move(key, replaced.fromMap(before), entry)
	return before
}

// Replace makes values the whole collection, regardless of their versions. On error the store is
// unchanged.
func (s *Store[V]) Replace(values []V, resourceVersion string) error {
	s.writer.Lock()
	defer s.endWrite()
	r := s.begin(s.deferReport)
	for i := range values {
		key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(values[i]) })
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		uid, version := s.config.Identity(values[i])
		item := feed.Item{Key: key, UID: uid, ResourceVersion: version}
		var pair entryPair[V]
		old := pair.old.fromMap(s.entries.Item(key))
		if err := s.makeEntry(&pair.next, &r.maker, item, &values[i], old); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		_, quarantined := s.quarantine.failed(key)
		r.accept(key, key, &pair.next, quarantined)
		r.made = append(r.made, key)
	}
	r.commit(resourceVersion)
	return nil
}

// Commit swaps in the new state, so that each snapshot shows all of it or none. It appends the
// changes to the log as one batch, deletions first. It does not fail.
func (r *replacement[V]) Commit(resourceVersion string) error {
	s := r.store
	s.writer.Lock()
	defer s.endWrite()
	r.commit(resourceVersion)
	return nil
}

// commit is Commit for a caller that holds the writer's lock.
func (r *replacement[V]) commit(resourceVersion string) {
	s, live := r.store, r.store.live.Load()
	if set := live.indexes.set; r.next.indexes.set != set { // an index was added since Begin
		r.next = s.reindexed(r.next, set)
	}
	for key := range r.rejected {
		var entry Entry[V]
		if old := entry.fromMap(live.entries.Item(key)); old != nil && r.next.entries.Get(key) == nil {
			r.put(key, old)
		}
	}
	changes, resolved := r.changes(live), r.resolved(live)

	s.mu.Lock()
	defer s.mu.Unlock()
	for key, f := range r.rejected {
		s.quarantine.add(key, f)
	}
	s.quarantine.setUnkeyed(r.unkeyed)
	r.next.version, r.next.writes = resourceVersion, live.writes+1
	s.publish(r.next)
	for _, key := range resolved { // after publish: Find takes no lock
		if _, rejected := r.rejected[key]; !rejected {
			s.quarantine.release(key)
		}
	}
	s.appendChanges(changes)
}

// appendChanges appends a replacement's changes to the log, and records where the initial state
// ends. The caller holds both locks.
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

// changes returns the replacement's changes to the live state: deletions, then additions and
// updates in list order.
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
	changes = slices.Grow(changes, len(r.made))
	for key, made := range r.candidates(live) {
		pair := new(entryPair[V])
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		if entry == nil || !s.config.EmitUnchanged && old != nil && r.sameState(old, entry, made) {
			continue
		}
		if old != nil && !old.sameObject(entry.identity) {
			old = nil // its deletion is among the changes already
		}
		changes = append(changes, Change[V]{Key: key, Old: old, New: entry, Initial: initial})
	}
	return changes
}

// sameState reports whether entry is the same state of its object as old, the live entry. made is
// whether entry was made for the replacement, and not taken from the live state.
func (r *replacement[V]) sameState(old, entry *Entry[V], made bool) bool {
	if r.compareContents { // by the object alone: an index added since Begin changes the entryMeta
		return old.ref == entry.ref
	}
	return !made && *old == *entry || old.sameVersion(entry.identity)
}

// candidates yields each key whose entry may differ from the live state once, and whether the entry
// was made for the replacement. If the live state has changed since Begin, or EmitUnchanged is set,
// these are all keys.
func (r *replacement[V]) candidates(live *state[V]) iter.Seq2[string, bool] {
	all := live.writes != r.writes || r.store.config.EmitUnchanged
	return func(yield func(key string, made bool) bool) {
		seen := make(map[string]struct{})
		for _, key := range r.made {
			if _, again := seen[key]; !again && !yield(key, true) {
				return
			}
			if all || r.repeats {
				seen[key] = struct{}{}
			}
		}
		if !all { // all other entries are shared with the live state
			return
		}
		for key := range r.next.entries.All() {
			if _, again := seen[key]; !again && !yield(key, false) {
				return
			}
		}
	}
}

// resolved returns the quarantined keys to release: all but those whose live entry the replacement
// keeps and a reader found unreadable after it was added.
func (r *replacement[V]) resolved(live *state[V]) (keys []string) {
	for _, quarantined := range r.store.quarantine.failures() {
		key := quarantined.Key
		var pair entryPair[V]
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		_, recovered := r.recovered[key]
		if recovered || entry == nil || old == nil || !r.sameState(old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}
