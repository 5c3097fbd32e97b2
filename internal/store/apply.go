// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/keep"
)

// event is a watch event of a feed.
type event struct {
	scope     *Scope
	eventType watch.EventType
	item      feed.Item
	refused   bool // it is a deletion, since the filter refuses the state, and the object exists
	unstored  bool // of a deletion: see Config.EmitUnstoredDeletions

	itemKey string     // item.Key as the server sent it; item.Key is that of the value, once it is known
	value   *any       // if it was decoded for its key
	err     error      // why it could not be
	pair    *entryPair // of the change, once it may be one
}

// apply applies an event. The caller holds the writer's lock.
func (s *Store) apply(e event) feed.Outcome {
	version := e.item.ResourceVersion
	if e.item.InOrder {
		e.item.ResourceVersion = "" // which is never compared
	}
	outcome, w := s.decide(&e)
	if s.recent != nil {
		s.recent.keep(e.pair)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.item.Unordered:
	case e.item.InOrder && version != "":
		e.scope.feed.version = version
	default:
		e.scope.feed.version = newer(e.scope.feed.version, version)
	}
	w.by = e.scope
	s.publish(w)
	s.settle()
	return outcome
}

// decide returns what becomes of an event, and makes its entries: the only step that calls
// functions of the program. An older state is refused here if its scope has reached a later
// version, and by package keep if what the store has of the key is newer; Feed.Apply refuses one
// from before the scope's minVersion.
func (s *Store) decide(e *event) (feed.Outcome, write) {
	none := write{}
	if e.item.Repeated && !s.hasVersionAt(e.item) {
		return feed.Unchanged, none // Decode has ignored this state before, and need not be called again
	}
	s.maker.scope, s.maker.keepsDecoded = e.scope.mark(), s.recent != nil
	old, next := s.resolve(e)
	id := identityOf(e.item.UID, e.item.ResourceVersion)
	if !e.scope.whole && !e.item.Unordered && feed.IsOlder(e.item.ResourceVersion, e.scope.reached()) {
		return feed.Stale, none
	}
	a := arrival{kind: e.kind(), scope: e.scope, item: e.item, id: id, own: old.isOf(e.scope)}
	if a.kind == keep.Deletion && old == nil {
		a.item.Key = e.itemKey // of a state that could not be stored
	}
	verdict := keep.Decide(s.caseOf(a, old))
	switch verdict {
	case keep.Ignore:
		return feed.Stale, none
	case keep.Unchanged:
		return feed.Unchanged, s.confirm(e, old)
	case keep.Remove:
		return s.decideDeletion(e, id, old, next)
	case keep.Record:
		if e.err == nil || old != nil || e.item.UID != "" {
			return feed.Unchanged, s.recordDeletion(e, id, next)
		}
	case keep.Store, keep.Compare:
	}
	if e.err == nil {
		e.item.Key = s.keptKey(e.item.Key, old)
		e.err = s.makeEntry(next, &s.maker, e.item, e.value, old)
	}
	if e.err != nil {
		return s.decideFailure(e, id, old)
	}
	if verdict == keep.Compare && s.equal(old.ref, next.ref) {
		return feed.Unchanged, none
	}
	w := write{kind: s.kindOf(e.item.Key, old, next), key: e.item.Key, old: old, next: next, server: true}
	if e.itemKey != e.item.Key { // a state that could not be decoded for its key is quarantined under itemKey
		w.release = []string{e.itemKey}
		s.renames.Store(true)
	}
	return feed.Applied, w
}

// kind returns what an event is to package keep.
func (e *event) kind() keep.Arrival {
	if e.eventType == watch.Deleted {
		return keep.Deletion
	}
	return keep.Event
}

// resolve finds the key of an event's value, and returns the live entry under it, nil if there is
// none, and room for the next one.
func (s *Store) resolve(e *event) (old, next *Entry) {
	isDeletion, held := e.eventType == watch.Deleted, true
	e.itemKey = e.item.Key
	key := e.itemKey
	if !isDeletion || s.mayHold(e.item) {
		key, e.value, e.err = s.keyOf(e.item)
	}
	if e.err != nil && isDeletion {
		key, held = s.heldKey(&s.entries, e.item)
	}
	live, kept := s.entries.KeptItem(key)
	e.item.Key, e.pair = kept, new(entryPair)
	if old = e.pair.old.fromMap(live); !held {
		old = nil
	}
	return old, &e.pair.next
}

// tombstone returns the tombstone of an event, nil in a store of a whole collection, or if versions
// cannot be compared.
func (e *event) tombstone() *tombstone {
	if e.scope.whole || e.item.Unordered {
		return nil
	}
	return &tombstone{key: e.item.Key, version: e.item.ResourceVersion}
}

// confirm returns the write that makes an entry one of the server, if the program has written it.
func (s *Store) confirm(e *event, old *Entry) write {
	if !old.isWritten() {
		return write{}
	}
	return write{kind: silent, key: e.item.Key, old: old, next: old.confirmed()}
}

// decideFailure returns what becomes of a state that could not be stored, or is to be ignored. old
// is the last good state, which may be nil.
func (s *Store) decideFailure(e *event, id identity, old *Entry) (feed.Outcome, write) {
	f := failure{version: e.item.ResourceVersion, uid: id.uid, err: e.err, scope: e.scope.mark()}
	w := s.keepLastGood(e.item.Key, f, old, e.tombstone())
	if f.skipped() {
		return feed.Unchanged, w
	}
	s.deferReport(e.item.Key, &feed.EffectError{Effect: effectOf(old != nil && old.sameObject(id)), Err: e.err})
	return feed.Quarantined, w
}

// keepLastGood returns the write of a state that could not be stored, or is to be ignored; see
// quarantine. The last good entry of the object stays. That of another object leaves, unless it may
// be an object that was renamed, and exists.
func (s *Store) keepLastGood(key string, f failure, old *Entry, t *tombstone) write {
	w := write{key: key, old: old, by: f.scope, tombstone: t}
	switch {
	case old == nil:
	case old.sameObject(f.identity()):
		kept := *old
		if f.skipped() || f.scope != nil { // the states of other scopes are compared with the entry
			kept.forgetVersion(f.identity())
		}
		w.keep(&kept)
	case !s.renames.Load():
		w.kind, w.server = deletion, true
	}
	if !f.skipped() {
		w.failed = &f
	} else if q, failed := s.quarantine.failed(key); failed && !q.unreadable {
		w.release = []string{key}
	}
	return w
}

// decideDeletion returns what becomes of the deletion of an entry. The logged deletion carries the
// object's final state, with the version of the deletion, unless that state cannot be decoded, is
// to be ignored, or is another object's. The entry of the final state is stored in *last.
func (s *Store) decideDeletion(e *event, id identity, old, last *Entry) (feed.Outcome, write) {
	w := write{kind: deletion, key: e.item.Key, old: old, release: []string{e.itemKey}, server: true, tombstone: e.tombstone()}
	w.leftScope = e.refused && old.sameObject(id) // otherwise it was recreated
	if s.config.Log != nil && old.sameObject(id) && s.makeFinal(e, last, old, feed.FinalStateUnknown) {
		w.final = last
	}
	return feed.Applied, w
}

// recordDeletion returns the write of a deletion of an object that the store does not have: the key
// has no entry, or that of another scope, which stays. The entry of the final state is stored in
// *last.
func (s *Store) recordDeletion(e *event, id identity, last *Entry) write {
	w := write{key: e.item.Key, tombstone: e.tombstone()}
	if f, _ := s.quarantine.failed(e.itemKey); e.scope.whole || f.scope == e.scope && (f.uid == id.uid || f.uid == 0) {
		w.release = []string{e.itemKey, e.item.Key}
	}
	if e.unstored && s.isUnstored(e.itemKey, e.item) && s.makeFinal(e, last, nil, feed.Absent) {
		w.kind, w.final = unstoredDeletion, last
	}
	return w
}

// makeFinal sets *last to the entry of the state at deletion, and reports whether it could. It
// reports the error of one that cannot be decoded.
func (s *Store) makeFinal(e *event, last, old *Entry, effect feed.Effect) bool {
	if e.err == nil && old == nil {
		e.err = s.makeUnindexed(last, &s.maker, e.item, e.value, nil)
	} else if e.err == nil {
		e.err = s.makeEntry(last, &s.maker, e.item, e.value, old)
	}
	if e.err != nil && !errors.Is(e.err, feed.ErrSkip) {
		s.deferReport(e.item.Key, &feed.EffectError{Effect: effect, Err: fmt.Errorf("state at deletion: %w", e.err)})
	}
	return e.err == nil
}

// arrival is a state, or a deletion, that arrives at a key.
type arrival struct {
	kind  keep.Arrival
	scope *Scope // nil if the arrival has no version that is compared with those of other scopes
	item  feed.Item
	id    identity
	list  string // the version of the list that has it; empty for an event
	own   bool   // the live entry is one of the scope, or of another that the list replaces
}

// caseOf returns how an arrival relates to what the store has of its key. old is the live entry,
// nil if there is none. The caller holds the writer's lock, unless the arrival has no scope.
func (s *Store) caseOf(a arrival, old *Entry) keep.Case {
	version := a.item.ResourceVersion
	c := keep.Case{Arrival: a.kind, Repeated: a.item.Repeated, Unordered: a.item.Unordered}
	if f, failed := s.quarantine.failed(a.item.Key); failed {
		switch {
		case f.version == "":
			c.Failure = keep.Unversioned
		case feed.IsOlder(version, f.version):
			c.Failure = keep.IsNewer
		default:
			c.Failure = keep.NotNewer
		}
	}
	if a.scope != nil && !a.scope.whole && a.kind != keep.Deletion {
		c.Superseded = s.tombstones.isSuperseded(a.item.Key, version, a.list)
	}
	if old == nil {
		return c
	}
	known := old.identity()
	c.SameObject = known.sameObject(a.id)
	switch {
	case known.sameVersion(a.id):
		c.Version = keep.Same
	case a.id.before(known):
		c.Version = keep.Older
	}
	if a.own {
		c.Entry = keep.Own
		return c
	}
	c.Entry = keep.Other
	shows := a.list != "" && !feed.IsOlder(a.list, known.versionText()) // the list is not older, and lacks it
	c.Undone = shows || old.isWritten() || a.scope != nil && old.scope().epoch < a.scope.epoch
	return c
}

// mayHold reports whether the store may hold an item's object. It does not decode the item.
func (s *Store) mayHold(item feed.Item) bool {
	return item.Key == "" || item.UID == "" || s.renames.Load() || s.entries.Get(item.Key) != nil
}

// heldKey returns the key under which entries hold the object of an item whose transform fails:
// its own or, if the transform had renamed the object, another. It returns false, and the item's
// own key, if they do not hold the object. The own key of an item without a UID may be wrong.
func (s *Store) heldKey(entries *entryMap, item feed.Item) (key string, held bool) {
	uid := hashUID(item.UID)
	own := entries.Item(item.Key)
	if uid == 0 || own.Value != nil && (own.Meta.uid == uid || own.Meta.uid == 0) {
		return item.Key, own.Value != nil
	}
	if !s.renames.Load() {
		return item.Key, false
	}
	for key, other := range entries.All() {
		if other.Meta.uid == uid {
			return key, true
		}
	}
	return item.Key, false
}

// effectOf returns the effect of a state that could not be stored, if the store holds an earlier
// one or not.
func effectOf(held bool) feed.Effect {
	if held {
		return feed.LastStateKept
	}
	return feed.Absent
}

// isUnstored reports whether nothing explains why the store does not hold the object of a deletion:
// its last state did not fail, and the deletion is not one that the collection has reached before,
// such as by a list. itemKey is the key that the server sent.
func (s *Store) isUnstored(itemKey string, item feed.Item) bool {
	failed := s.Failure(itemKey) != nil || s.Failure(item.Key) != nil
	return !failed && (item.InOrder || !feed.Reaches(s.ResourceVersion(), item.ResourceVersion))
}

// hasVersionUnderKey reports whether the store has an item's version under the item's own key. If
// so, it has set *entry to the live entry, and returns the key as the store keeps it. It does not
// call Decode.
func (s *Store) hasVersionUnderKey(item feed.Item, entry *Entry) (kept string, ok bool) {
	live, kept := s.liveEntry(item.Key, entry)
	return kept, live != nil && s.isVersion(entry, item)
}

// hasVersionOf reports whether the store has an item's version or, if Decode may change keys,
// whether Decode ignores it.
func (s *Store) hasVersionOf(item feed.Item) bool {
	if s.hasVersionAt(item) {
		return true
	}
	if s.keepsKey(item) {
		return false
	}
	key, _, err := s.keyOf(copied(item))
	if err != nil || key == item.Key {
		return errors.Is(err, feed.ErrSkip)
	}
	item.Key = key
	return s.hasVersionAt(item)
}

// hasVersionAt is hasVersionUnderKey for a caller that needs no entry.
func (s *Store) hasVersionAt(item feed.Item) bool {
	var entry Entry
	_, has := s.hasVersionUnderKey(item, &entry)
	return has
}

// isVersion reports whether an item is the state that the store has in an entry.
func (s *Store) isVersion(entry *Entry, item feed.Item) bool {
	item.Repeated, item.Unordered = false, false // which compare contents
	id := identityOf(item.UID, item.ResourceVersion)
	return keep.Decide(s.caseOf(arrival{kind: keep.Item, item: item, id: id, own: true}, entry)) == keep.Unchanged
}

// kindOf returns the kind of the write that replaces old, which may be nil, by next.
func (s *Store) kindOf(key string, old, next *Entry) writeKind {
	if old != nil && old.sameVersion(next.identity()) && s.isRepair(key, old, next) {
		return silent
	}
	return update
}

// isRepair reports whether next, whose version is that of old, is the same state: old could not be
// read, or has equal contents. Otherwise the server has used the version again after a restore
// whose first state of the object could not be stored, or the program has written old.
func (s *Store) isRepair(key string, old, next *Entry) bool {
	f, _ := s.quarantine.failed(key)
	return f.unreadable || s.equal(old.ref, next.ref)
}
