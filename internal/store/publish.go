// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"
	"sync/atomic"
)

// write is a change of one key. Its entries are complete, so that publishing it calls no function
// of the program. The zero write changes nothing.
type write struct {
	kind      writeKind
	key       string
	old, next *Entry // old is the live entry, nil if there is none
	by        *Scope // from which the change comes, nil for the program
	final     *Entry // of a deletion: the state at deletion, nil if it is unknown
	leftScope bool   // of a deletion: the object exists
	server    bool   // the key leaves the quarantine, as its newest state is known again
	unchanged bool   // an update is logged although the entry is the same; see Config.EmitUnchanged

	tombstone *tombstone // to record, if not nil
	release   []string   // keys that leave the quarantine in any case
	failed    *failure   // with which key enters the quarantine
}

// keep makes the write replace the old entry by one of the same state, which may differ in its
// version alone.
func (w *write) keep(entry *Entry) {
	if w.next = entry; *w.old != *entry {
		w.kind = silent
	}
}

// writeKind is what a write does to the entry and the log.
type writeKind int

const (
	nothing writeKind = iota
	update            // an addition, an update or, of another object under the key, a deletion and an addition
	silent            // the same state, repaired or with another version: not logged
	deletion
	unstoredDeletion // of an object that is not stored: logged alone
)

// changesEntry reports whether the write changes the entry.
func (w *write) changesEntry() bool { return w.kind != nothing && w.kind != unstoredDeletion }

// noteOverwritten records a key of the scope whose entry something other than the list has changed,
// while the scope's first list is published. c may be nil. The caller holds both locks.
func (c *Scope) noteOverwritten(key string) {
	if !c.isUnlisted() || !c.committing {
		return
	}
	if c.overwritten == nil {
		c.overwritten = make(map[string]struct{})
	}
	c.overwritten[key] = struct{}{}
}

// publish makes a write visible: first in the entries, then in the log. The caller holds both
// locks.
func (s *published) publish(w write) {
	var room [2]Change
	if w.changesEntry() {
		scopeOf(w.old).noteOverwritten(w.key)
		scopeOf(w.next).noteOverwritten(w.key)
	}
	changes := s.publishWrite(&w, room[:0])
	switch log := s.config.Log; {
	case log == nil:
	case len(changes) == 1:
		log.AppendOne(changes[0])
	case len(changes) > 1:
		log.Append(slices.Clone(changes))
	}
}

// publishWrite makes a write visible in the entries, and appends its changes to those that are to
// be logged. While the list of a scope is published in pieces (commit_scopes.go), a Snapshot has
// the pieces so far, and Get, which takes no lock, may also have a part of the next one. The caller
// holds both locks.
func (s *published) publishWrite(w *write, changes []Change) []Change {
	for _, key := range w.release {
		s.quarantine.release(key)
	}
	if w.tombstone != nil {
		s.record(w.tombstone, w.by)
	}
	if w.changesEntry() {
		s.dropSnapshot()
		s.live.Load().replace(w.key, w.old, w.next)
		if w.server {
			s.quarantine.release(w.key) // after the entry has changed: Find takes no lock
		}
	}
	if w.kind != nothing {
		if w.kind == deletion && !w.leftScope && w.by != nil {
			s.tombstones.noteDeleted(w.key, w.by, s.config.Now)
		} else {
			s.tombstones.forgetDeleted(w.key)
		}
	}
	changes = w.appendChanges(changes)
	if w.failed != nil {
		s.quarantine.add(w.key, *w.failed)
	}
	return changes
}

// appendChanges appends what is logged of a write. The caller holds the writer's lock.
func (w *write) appendChanges(changes []Change) []Change {
	if w.kind == nothing {
		if w.unchanged && !w.next.scope().isUnlisted() {
			changes = append(changes, Change{Key: w.key, Old: w.old, New: w.next})
		}
		return changes
	}
	old, next := w.observed()
	switch {
	case w.kind == silent && !w.unchanged:
	case w.kind == unstoredDeletion:
		changes = append(changes, Change{Key: w.key, Old: w.final, Final: w.final})
	case old == nil && next == nil:
	case next == nil:
		exists := w.leftScope || w.next != nil && old.sameObject(w.next.identity())
		changes = append(changes, Change{Key: w.key, Old: old, Final: w.final, LeftScope: exists})
	case old != nil && !old.sameObject(next.identity()):
		changes = append(changes, Change{Key: w.key, Old: old, LeftScope: w.leftScope}, Change{Key: w.key, New: next})
	default:
		changes = append(changes, Change{Key: w.key, Old: old, New: next})
	}
	return changes
}

// observed returns the states before and after the write that handlers receive, nil if there is
// none: they receive nothing of a scope before it is listed, and then its first list as one batch.
// A later list reaches them piece by piece, each as one batch, removals first
// (pieces.publishPiece). If an unlisted scope's entry replaces one of another scope, which they
// have received, they receive a deletion at once.
func (w *write) observed() (old, next *Entry) {
	if !scopeOf(w.old).isUnlisted() {
		old = w.old
	}
	if !scopeOf(w.next).isUnlisted() {
		next = w.next
	}
	return old, next
}

// record adds a tombstone of a state of a scope. The caller holds both locks.
func (s *published) record(t *tombstone, by *Scope) {
	s.tombstones.record(t, by, &s.scopes, max(minTombstones, s.entries.Len()))
}

// dropSnapshot drops the current snapshot before a change of the live state. The caller holds both
// locks.
func (s *published) dropSnapshot() {
	if s.current.Load() != nil {
		s.current.Store(nil)
	}
	s.live.Load().writes++
}

// setLive makes next the live state. The caller holds both locks.
func (s *published) setLive(next *state) {
	s.entries.Swap(next.entries)
	next.entries = &s.entries
	next.indexes.combinations, next.indexes.like = nil, nil
	s.live.Store(next)
	s.current.Store(nil)
}

// settle sets the version of the store, after the scopes or their versions have changed. It drops
// the tombstones that all scopes have reached, and wakes the callers that wait for a version. The
// caller holds both locks.
func (s *published) settle() {
	defer s.notify()
	known := &s.scopes
	s.tombstones.expire(known)
	if known.oldest != nil && known.oldest.reached() == s.live.Load().version {
		return
	}
	known.findOldest(s.synced.Load() != nil)
	version := ""
	if known.oldest != nil {
		version = known.oldest.reached()
	}
	s.moveVersion(version)
}

// moveVersion sets the version of the live state and of the current snapshot. The caller holds mu.
func (s *published) moveVersion(version string) {
	state := s.live.Load()
	if version == state.version {
		return
	}
	state.version = version
	if current := s.current.Load(); current != nil {
		s.current.Store(&Snapshot{current.snapshotData, version, 0})
	}
}

// markSynced is MarkSynced for a caller that holds both locks.
func (s *published) markSynced() {
	if s.synced.Load() != nil {
		return
	}
	var events uint64
	if s.config.Log != nil {
		events = s.config.Log.Appended()
	}
	s.synced.Store(&events)
	s.scopes.oldest = nil
}

// notify wakes the callers whose version is reached. The caller holds mu.
func (s *published) notify() {
	if s.waiters.n.Load() > 0 {
		s.waiters.wake(s.live.Load().version)
	}
	if s.scopeWaiters.Load() == 0 {
		return
	}
	for _, c := range s.scopes.held {
		if c.waiters.n.Load() > 0 {
			c.waiters.wake(c.reached())
		}
	}
}

// beginListing increments the listing, and records it in the scopes as that from which on they are
// listed or removed, which since selects. It does nothing if all of them have one. The caller holds
// both locks.
func (s *published) beginListing(scopes iter.Seq[*Scope], since func(*Scope) *atomic.Uint64) {
	next, begins := s.listing.Load()+1, false
	for scope := range scopes {
		begins = since(scope).CompareAndSwap(0, next) || begins
	}
	if begins {
		s.listing.Store(next)
	}
}

// beginAbsence begins the error of reads, unless why is nil, and refuses what feeds received
// before. It precedes the removal of the entries: a reader that finds none must find the error. The
// caller holds both locks.
func (s *published) beginAbsence(why error) {
	s.clears++
	for _, scope := range s.scopes.held {
		scope.cleared = true
	}
	s.absence.Store(&why)
	s.current.Store(nil)
}

// endAbsence ends the error of reads once no scope is left to be listed. The caller holds both
// locks.
func (s *published) endAbsence() {
	if s.absence.Load() == nil {
		return
	}
	for _, scope := range s.scopes.held {
		if scope.cleared {
			return
		}
	}
	s.absence.Store(nil)
	s.current.Store(nil)
}

// wakeAll wakes all callers of Await, whatever they wait for. The caller holds mu.
func (s *published) wakeAll() {
	s.waiters.wakeAll()
	for _, scope := range s.scopes.held {
		scope.waiters.wakeAll()
	}
}
