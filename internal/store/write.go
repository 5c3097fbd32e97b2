// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// write is a change of one key that is decided and made, so that publishing it calls no function of
// the program. The zero write changes nothing.
type write[V any] struct {
	kind      writeKind
	key       string
	old, next *Entry[V] // old is the live entry, nil if there is none
	final     *Entry[V] // of a deletion: the state at deletion, nil if it is unknown
	leftScope bool      // of a deletion: the object exists
	server    bool      // what is published is a state of the server, so that the key leaves the quarantine

	stays     bool          // the object of the live entry exists: its deletion waits no more, and does not follow
	tombstone *tombstone[V] // to record, if not nil
	waits     string        // of a deletion: the version that scopes must reach, if the object may have moved to them
	release   []string      // keys that leave the quarantine in any case
	failed    *failure      // with which key enters it
}

// writeKind is what a write does to the entry and the log.
type writeKind int

const (
	nothing  writeKind = iota
	update             // an addition or an update
	recreate           // another object under the same key: a deletion and an addition
	silent             // the same state, repaired or in another scope: not logged
	remove             // a deletion
	unseen             // a deletion of an object that is not stored: logged alone
)

// publish makes a write visible: first in the entries, then in the log. by is the scope that has
// passed it, nil for the program. The caller holds both locks.
func (s *Store[V]) publish(w write[V], by *Scope) {
	s.noteWritten(w.key)
	for _, key := range w.release {
		s.quarantine.release(key)
	}
	if w.stays {
		s.tombstones.cancel(w.key)
	}
	if w.tombstone != nil {
		s.record(w.tombstone, by)
	}
	if w.kind == remove && w.waits != "" && s.scopes.mayHaveMovedTo(by, w.key, w.waits) != nil {
		s.deferDeletion(by, w.key, w.old, w.final, w.waits)
		return
	}
	if w.kind != nothing {
		s.publishEntry(s.live.Load(), w, by)
	}
	if w.failed != nil { // after the last good state has moved to the scope of the failure
		s.quarantine.add(w.key, *w.failed)
	}
}

// publishEntry changes the entry and the log. The caller holds both locks.
func (s *Store[V]) publishEntry(live *state[V], w write[V], by *Scope) {
	if w.kind != unseen {
		s.dropSnapshot(live)
		s.replaceIn(live, w.key, w.old, w.next)
	}
	if w.server && w.kind != unseen {
		s.quarantine.release(w.key) // after the entry has changed: Find takes no lock
	}
	s.noteKey(w, by)
	log := s.config.Log
	if log == nil {
		return
	}
	switch w.kind {
	case nothing, silent:
	case update:
		log.AppendOne(Change[V]{Key: w.key, Old: w.old, New: w.next})
	case recreate:
		log.Append([]Change[V]{{Key: w.key, Old: w.old}, {Key: w.key, New: w.next}})
	case remove:
		log.AppendOne(Change[V]{Key: w.key, Old: w.old, Final: w.final, LeftScope: w.leftScope})
	case unseen:
		log.AppendOne(Change[V]{Key: w.key, Old: w.final, Final: w.final})
	}
}

// noteKey records whether the object of a key is known to be deleted. The caller holds both locks.
func (s *Store[V]) noteKey(w write[V], by *Scope) {
	switch {
	case w.kind == remove && !w.leftScope && by != nil:
		s.noteDeleted(w.key, by)
	case w.kind != nothing:
		s.tombstones.forgetDeleted(w.key)
	}
}

// Put adds or replaces a value, regardless of its version. The next list of a scope that may hold it,
// and lacks it, removes it; see claim.
func (s *Store[V]) Put(value V) error {
	key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	uid, version := s.config.Identity(value)
	pair := new(entryPair[V])
	old := pair.old.fromMap(s.entries.Item(key))
	s.maker.claim, s.maker.keepsDecoded = s.claimOf(uid, old), false // the caller may modify the value
	if err := s.makeEntry(&pair.next, &s.maker, feed.Item{Key: key, UID: uid, ResourceVersion: version, Omitted: s.isFed()}, &value, old); err != nil {
		return err
	}
	w := write[V]{kind: update, key: key, old: old, next: &pair.next, server: !s.isFed()}
	if old != nil && !old.sameObject(pair.next.identity()) {
		w.kind = recreate
	}
	s.publishOwn(w, version)
	return nil
}

// claimOf returns the claim of a value that the program writes in place of old, which may be nil.
func (s *Store[V]) claimOf(uid string, old *Entry[V]) claim {
	switch {
	case !s.config.Scoped:
		return claim{}
	case old != nil && old.scope() != nil && !old.scope().removed:
		return claim{scope: old.scope(), written: true}
	}
	return claim{written: true, hasUID: uid != "", hash: scope.HashOf(uid)}
}

// isOf reports whether a live entry, which may be nil, is one of a scope. One that none of the store's
// scopes may hold is one of any.
func (s *Store[V]) isOf(c *Scope, key string, e *Entry[V]) bool {
	switch {
	case e == nil:
		return false
	case c.whole || e.scope() != nil:
		return e.scope() == c.mark()
	}
	m := e.common().claim
	return m.mayBeIn(c, key) || !slices.ContainsFunc(s.scopes.held, func(other *Scope) bool { return m.mayBeIn(other, key) })
}

// publishOwn publishes a write of the program. A store without a feed is then at the written version.
// The caller holds the writer's lock.
func (s *Store[V]) publishOwn(w write[V], version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish(w, nil)
	if !s.isFed() {
		s.moveVersion(newer(s.live.Load().version, version))
	}
}

// Remove deletes the entry under the value's key, if any.
func (s *Store[V]) Remove(value V) error {
	key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(value) })
	if err != nil {
		return err
	}
	s.writer.Lock()
	defer s.endWrite()
	if old := new(Entry[V]).fromMap(s.entries.Item(key)); old != nil {
		_, version := s.config.Identity(value)
		s.publishOwn(write[V]{kind: remove, key: key, old: old, server: !s.isFed()}, version)
	}
	return nil
}

// kindOf returns the kind of the write that replaces old, which may be nil, by next.
func (s *Store[V]) kindOf(key string, old, next *Entry[V]) writeKind {
	switch {
	case old == nil:
		return update
	case !old.sameObject(next.identity()):
		return recreate
	case old.sameVersion(next.identity()) && s.isRepair(key, old, next):
		return silent
	}
	return update
}

// isRepair reports whether next, whose version is that of old, is the same state: old could not be
// read, or has equal contents. Otherwise the server has used the version again after a restore
// whose first state of the object could not be stored, or the program has written old.
func (s *Store[V]) isRepair(key string, old, next *Entry[V]) bool {
	f, _ := s.quarantine.failed(key)
	return f.unreadable || s.equal(old.ref, next.ref)
}
