// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"
)

// Commit swaps in the new state, so that each snapshot shows all of it or none. It appends the
// changes to the log as one batch, deletions first. It fails if one of the newest unchanged objects
// has other contents than the store's.
func (r *Replacement[V]) Commit(resourceVersion string) error {
	if err := r.checkNewest(); err != nil {
		return err
	}
	s := r.store
	s.writer.Lock()
	defer s.endWrite()
	if r.feed != nil {
		r.commitScopes(resourceVersion)
		return nil
	}
	r.commit(resourceVersion)
	return nil
}

// commit is Commit for a caller that holds the writer's lock.
func (r *Replacement[V]) commit(resourceVersion string) {
	s, live := r.store, r.store.live.Load()
	if set := live.indexes.set; r.next.indexes.set != set { // an index was added since Begin
		r.next = s.reindexed(r.next, set)
	}
	r.keepLastGoodStates(live)
	changes, resolved := r.changes(live), r.resolved(live, func(*Scope) bool { return true })

	r.changed = changes

	s.mu.Lock()
	defer s.mu.Unlock()
	for key, f := range r.rejected {
		if !f.skipped() {
			s.quarantine.add(key, f)
		}
	}
	r.next.version, r.next.writes = resourceVersion, live.writes+1
	if r.byProgram {
		r.next.version = live.version
	} else {
		s.quarantine.setUnkeyed(nil, r.unkeyed)
	}
	s.publish(r.next)
	s.recountScopes()
	if r.byProgram {
		resolved = nil
	}
	for _, key := range resolved { // after publish: Find takes no lock
		if f, rejected := r.rejected[key]; !rejected || f.skipped() {
			s.quarantine.release(key)
		}
	}
	s.appendChanges(changes, r.byProgram)
	for i := range changes { // after publish, see keepHot
		s.leaveHot(changes[i].Old)
	}
	for _, old := range r.repaired {
		s.leaveHot(old)
	}
}

// keepLastGoodStates adds the live entries of objects whose newest state could not be stored or is
// ignored. An entry of another object under the same key is not added: that object was deleted.
func (r *Replacement[V]) keepLastGoodStates(live *state[V]) {
	var renamed map[uint64]string // keys of the live entries by UID
	for key, f := range r.rejected {
		item := live.entries.Item(key)
		if item.Meta.uid != f.uid && f.uid != 0 && r.store.renames.Load() {
			if renamed == nil {
				renamed = keysByUID(live.entries)
			}
			if stored, exists := renamed[f.uid]; exists {
				key, item = stored, live.entries.Item(stored)
			}
		}
		var entry Entry[V]
		old := entry.fromMap(item)
		if old != nil && old.sameObject(identity{uid: f.uid}) && r.next.entries.Get(key) == nil {
			if f.skipped() || f.scope != nil { // the states of other scopes are compared with the entry
				old.forgetVersion(identity{f.uid, versionOf(f.version)})
			}
			if f.skipped() {
				r.record(key, liveState)
			}
			r.maker.scope = f.scope
			r.put(key, r.inScope(old))
		}
	}
}

func keysByUID(entries *entryMap) map[uint64]string {
	keys := make(map[uint64]string, entries.Len())
	for key, item := range entries.All() {
		keys[item.Meta.uid] = key
	}
	return keys
}

// appendChanges appends a replacement's changes to the log, and records where the initial state
// ends, unless it is a write of the program. The caller holds both locks.
func (s *Store[V]) appendChanges(changes []Change[V], byProgram bool) {
	var events uint64
	if s.config.Log != nil {
		s.config.Log.Append(changes)
		events = s.config.Log.Appended()
	}
	if s.synced.Load() == nil && !byProgram {
		s.synced.Store(&events)
	}
}

// changes returns the replacement's changes to the live state: deletions, then additions and
// updates in list order.
func (r *Replacement[V]) changes(live *state[V]) []Change[V] {
	s := r.store
	if s.config.Log == nil {
		return nil
	}
	var changes []Change[V]
	initial := s.synced.Load() == nil && !r.byProgram
	for key, item := range live.entries.All() {
		var pair entryPair[V]
		old, entry := pair.old.fromMap(item), pair.next.fromMap(r.next.entries.Item(key))
		if entry == nil || *old != *entry && !old.sameObject(entry.identity) {
			gone := *old
			changes = append(changes, Change[V]{Key: key, Old: &gone, Initial: initial, LeftScope: r.isRefused(key, &gone)})
		}
	}
	changes = slices.Grow(changes, len(r.made))
	for key, made := range r.candidates(live) {
		pair := new(entryPair[V])
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		if entry == nil || !s.config.EmitUnchanged && old != nil && r.sameState(key, old, entry, made) {
			if old != nil && entry != nil && old.ref != entry.ref {
				r.repaired = append(r.repaired, old)
			}
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
// whether entry was made for the replacement, and not taken from the live state. Entries are
// compared by their objects: an index added since Begin changes the entryMeta.
func (r *Replacement[V]) sameState(key string, old, entry *Entry[V], made bool) bool {
	if r.compareContents || !made && old.ref == entry.ref {
		return old.ref == entry.ref
	}
	return old.sameVersion(entry.identity) && r.store.isRepair(key, old, entry)
}

// candidates yields each key whose entry may differ from the live state once, and whether the entry
// was made for the replacement. If the live state has changed since Begin, or EmitUnchanged is set,
// these are all keys.
func (r *Replacement[V]) candidates(live *state[V]) iter.Seq2[string, bool] {
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

// resolved returns the quarantined keys to release, of those that failed in scopes that match: all
// but those whose live entry the replacement keeps and a reader found unreadable after it was
// added.
func (r *Replacement[V]) resolved(live *state[V], matches func(*Scope) bool) (keys []string) {
	for _, quarantined := range r.store.quarantine.failures() {
		key := quarantined.Key
		if f, failed := r.store.quarantine.failed(key); failed && !matches(f.scope) {
			continue
		}
		var pair entryPair[V]
		old, entry := pair.old.fromMap(live.entries.Item(key)), pair.next.fromMap(r.next.entries.Item(key))
		_, recovered := r.recovered[key]
		if recovered || entry == nil || old == nil || !r.sameState(key, old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}
