// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

// write is a change of one key that is decided and made, so that publishing it calls no function of
// the program. The zero write changes nothing.
type write struct {
	kind      writeKind
	key       string
	old, next *Entry // old is the live entry, nil if there is none
	final     *Entry // of a deletion: the state at deletion, nil if it is unknown
	leftScope bool   // of a deletion: the object exists
	server    bool   // what is published is a state of the server, so that the key leaves the quarantine

	tombstone *tombstone // to record, if not nil
	release   []string   // keys that leave the quarantine in any case
	failed    *failure   // with which key enters it
}

// writeKind is what a write does to the entry and the log.
type writeKind int

const (
	nothing  writeKind = iota
	update             // an addition or an update
	recreate           // another object under the same key: a deletion and an addition
	silent             // the same state, repaired or in another scope: not logged
	deletion
	unseenDeletion // of an object that is not stored: logged alone
)

// publish makes a write visible: first in the entries, then in the log. by is the scope that has
// passed it, nil for the program. The caller holds both locks.
func (s *published) publish(w write, by *Scope) {
	s.noteWritten(w.key)
	for _, key := range w.release {
		s.quarantine.release(key)
	}
	if w.tombstone != nil {
		s.record(w.tombstone, by)
	}
	if w.kind != nothing {
		s.publishEntry(w, by)
	}
	if w.failed != nil { // after the last good state has moved to the scope of the failure
		s.quarantine.add(w.key, *w.failed)
	}
}

// publishEntry changes the entry and the log, and records whether the object is known to be
// deleted. The caller holds both locks.
func (s *published) publishEntry(w write, by *Scope) {
	if w.kind != unseenDeletion {
		s.dropSnapshot()
		s.live.Load().replace(w.key, w.old, w.next)
	}
	if w.server && w.kind != unseenDeletion {
		s.quarantine.release(w.key) // after the entry has changed: Find takes no lock
	}
	if w.kind == deletion && !w.leftScope && by != nil {
		s.tombstones.noteDeleted(w.key, by, s.config.Now)
	} else {
		s.tombstones.forgetDeleted(w.key)
	}
	log := s.config.Log
	if log == nil {
		return
	}
	switch w.kind {
	case nothing, silent:
	case update:
		log.AppendOne(Change{Key: w.key, Old: w.old, New: w.next})
	case recreate:
		log.Append([]Change{{Key: w.key, Old: w.old}, {Key: w.key, New: w.next}})
	case deletion:
		log.AppendOne(Change{Key: w.key, Old: w.old, Final: w.final, LeftScope: w.leftScope})
	case unseenDeletion:
		log.AppendOne(Change{Key: w.key, Old: w.final, Final: w.final})
	}
}

// record adds a tombstone of a state of a scope. The caller holds both locks.
func (s *published) record(t *tombstone, by *Scope) {
	if s.scopes.oldest == nil {
		s.scopes.findOldest(s.synced.Load() != nil)
	}
	s.tombstones.record(t, by, &s.scopes, max(minUnseen, s.entries.Len()))
}

// dropSnapshot drops the current snapshot before a change of the live state. The caller holds both
// locks.
func (s *published) dropSnapshot() {
	if s.current.Load() != nil {
		s.current.Store(nil)
	}
	s.live.Load().writes++
}

// noteWritten tells a commit that has begun of a key whose entry, failure or tombstone may have
// changed. The caller holds the writer's lock.
func (s *published) noteWritten(key string) {
	if s.written != nil {
		s.written[key] = struct{}{}
	}
}

// swap makes next the live state. The caller holds both locks.
func (s *published) swap(next *state) {
	s.entries.Swap(next.entries)
	next.entries = &s.entries
	s.live.Store(next)
	s.current.Store(nil)
}

// settle sets the version of the store, after the scopes or their versions have changed. The caller holds both locks.
func (s *published) settle() {
	defer s.notify()
	known := &s.scopes
	if known.oldest != nil && known.oldest.reached() == s.live.Load().version {
		return
	}
	known.findOldest(s.synced.Load() != nil)
	s.tombstones.expire(known)
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
		s.current.Store(&Snapshot{current.snapshotData, version})
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

// beginAbsence begins the error of reads, unless why is nil, and refuses what feeds received
// before. It precedes the removal of the entries: a reader that finds none must find the error. The
// caller holds both locks.
func (s *published) beginAbsence(why error) {
	s.vacations++
	for _, scope := range s.scopes.held {
		scope.vacated = true
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
		if scope.vacated {
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
