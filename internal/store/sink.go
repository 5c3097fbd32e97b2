// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// event is what is known of a watch event besides its item.
type event struct {
	eventType watch.EventType
	scope     *Scope    // nil if the store has no scopes
	progress  *progress // of the event's feed, if it has a scope
	refused   bool      // of a deletion: see Feed.Refuse
	unseen    bool      // of a deletion: see Config.EmitUnseenDeletions
}

// apply applies an event. The version of a collection with scopes is advanced by the caller, who
// holds the writer's lock.
func (s *Store[V]) apply(e event, item feed.Item) feed.Outcome {
	eventType := e.eventType
	if item.Repeated && s.isIgnored(item) {
		return feed.Unchanged
	}
	s.maker.scope = e.scope
	itemKey := item.Key
	isDeletion, held := eventType == watch.Deleted, true
	key, value, err := itemKey, (*V)(nil), error(nil)
	if !isDeletion || s.mayHold(item) {
		key, value, err = s.keyOf(item)
	}
	if err != nil && isDeletion {
		key, held = s.heldKey(&s.entries, item)
	}
	item.Key = key
	pair := new(entryPair[V])
	old := pair.old.fromMap(s.entries.Item(key))
	if !held {
		old = nil
	}
	if e.scope != nil {
		if outcome, done := s.decideScoped(e, itemKey, item, old); done {
			return outcome
		}
	}
	repeated := false
	if old != nil {
		outcome := s.compare(old.identity, identityOf(item.UID, item.ResourceVersion), item)
		repeated = outcome == feed.Unchanged && item.Repeated
		if outcome == feed.Stale || outcome == feed.Unchanged && !isDeletion && !repeated {
			s.advance(e, item)
			return outcome
		}
	}
	if f, failed := s.quarantine.failed(itemKey); isDeletion && old == nil && failed && feed.IsOlder(item.ResourceVersion, f.version) {
		s.advance(e, item)
		return feed.Stale
	}
	if isDeletion && (err == nil || old != nil || item.UID != "") {
		return s.applyDelete(e, itemKey, item, value, err, old, &pair.next)
	}
	if err == nil {
		err = s.makeEntry(&pair.next, &s.maker, item, value, old)
	}
	if err != nil {
		return s.applyFailure(e, item, err, old)
	}
	if repeated && s.equal(old.ref, pair.next.ref) {
		s.advance(e, item)
		return feed.Unchanged
	}
	return s.setApplied(e, item, itemKey, old, &pair.next)
}

// setApplied stores the state of an event, whose item has the key to store it under. itemKey is the
// key that the server sent.
func (s *Store[V]) setApplied(e event, item feed.Item, itemKey string, old, next *Entry[V]) feed.Outcome {
	key := item.Key
	if itemKey != key { // a state that could not be decoded for its key is quarantined under itemKey
		s.quarantine.release(itemKey)
	}
	s.recordKeys(itemKey, key)
	s.set(key, old, next, e.versionOf(item), s.changeKindOf(key, old, next), fromServer)
	return feed.Applied
}

// isIgnored reports whether the store does not have the version of a repeated item: Decode has
// ignored that state before, and need not be called again.
func (s *Store[V]) isIgnored(item feed.Item) bool {
	var entry Entry[V]
	return !s.hasVersionUnderKey(item, &entry)
}

// versionOf returns the version that the collection reaches by an event. That of one with scopes is
// known once the scope has reached it.
func (e event) versionOf(item feed.Item) string {
	if e.scope != nil {
		return ""
	}
	return item.ResourceVersion
}

// advance records that the collection has reached an event's version without a change.
func (s *Store[V]) advance(e event, item feed.Item) {
	if e.scope == nil {
		s.advanceVersion(item.ResourceVersion)
	}
}

// applyFailure quarantines the key of a state that could not be stored, unless the state is to be
// ignored; a failure before it then counts no more. old is the last good state, nil if there is
// none. One of another object is removed: that object was deleted.
func (s *Store[V]) applyFailure(e event, item feed.Item, err error, old *Entry[V]) feed.Outcome {
	defer s.advance(e, item) // last, so that a reader of the version sees the rest
	id := identityOf(item.UID, item.ResourceVersion)
	if old != nil && !old.sameObject(id) {
		if !s.renames.Load() { // otherwise it may be an object that was renamed, and exists
			s.remove(removal[V]{key: item.Key, old: old}, "", fromServer)
		}
		old = nil
	}
	s.takeOver(e, item, old)
	f := failure{version: item.ResourceVersion, uid: id.uid, err: err, scope: e.scope}
	if f.skipped() {
		if old.forgetVersion(id) {
			s.replaceMeta(item.Key, old)
		}
		s.quarantine.releaseReadable(item.Key)
		return feed.Unchanged
	}
	s.quarantine.add(item.Key, f)
	s.deferReport(item.Key, &feed.EffectError{Effect: effectOf(old != nil), Err: err})
	return feed.Quarantined
}

// replaceMeta replaces the entryMeta of a live entry. The caller holds the writer's lock.
func (s *Store[V]) replaceMeta(key string, entry *Entry[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prepareChange("").entries.Put(key, entry.mapItem())
}

// recordKeys records the key of an item and that of its value, under which the store has it. They
// differ if a transform renames objects.
func (s *Store[V]) recordKeys(itemKey, key string) {
	if itemKey != key {
		s.renames.Store(true)
	}
}

// mayHold reports whether the store may hold an item's object. It does not decode the item.
func (s *Store[V]) mayHold(item feed.Item) bool {
	return item.Key == "" || item.UID == "" || s.renames.Load() || s.entries.Get(item.Key) != nil
}

// heldKey returns the key under which entries hold the object of an item whose transform fails:
// its own or, if the transform had renamed the object, another. It returns false, and the item's
// own key, if they do not hold the object. The own key of an item without a UID may be wrong.
func (s *Store[V]) heldKey(entries *entryMap, item feed.Item) (key string, held bool) {
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
	return feed.NotStored
}

// applyDelete removes an entry. The logged deletion carries the object's final state, with the
// version of the deletion, unless that state cannot be decoded, for which err may be the reason, is
// to be ignored, or is another object's. The entry of the final state is stored in *last. itemKey is
// the key that the server sent.
func (s *Store[V]) applyDelete(e event, itemKey string, item feed.Item, value *V, err error, old, last *Entry[V]) feed.Outcome {
	unseen := e.unseen && old == nil && s.isUnseen(itemKey, item)
	s.quarantine.release(itemKey)
	if old == nil {
		s.quarantine.release(item.Key)
		if !unseen || !s.applyUnseen(item, value, err, last) {
			s.advance(e, item)
		}
		return feed.Unchanged
	}
	var final *Entry[V]
	if s.config.Log != nil && old.sameObject(identityOf(item.UID, item.ResourceVersion)) {
		if err == nil {
			err = s.makeEntry(last, &s.maker, item, value, old)
		}
		switch {
		case err == nil:
			final = last
		case !errors.Is(err, feed.ErrSkip):
			err = fmt.Errorf("state at deletion: %w", err)
			s.deferReport(item.Key, &feed.EffectError{Effect: feed.FinalStateUnknown, Err: err})
		}
	}
	if e.scope != nil && s.deferDeletion(e, item, old, final) {
		return feed.Applied
	}
	leftScope := e.refused && old.sameObject(identityOf(item.UID, item.ResourceVersion)) // otherwise it was recreated
	s.remove(removal[V]{item.Key, old, final, leftScope}, e.versionOf(item), fromServer)
	return feed.Applied
}

// isUnseen reports whether nothing explains why the store does not hold the object of a deletion:
// its last state did not fail, and the deletion is not one that the collection has reached before,
// such as by a list. itemKey is the key that the server sent.
func (s *Store[V]) isUnseen(itemKey string, item feed.Item) bool {
	failed := s.Failure(itemKey) != nil || s.Failure(item.Key) != nil
	return !failed && (item.InOrder || !feed.Reaches(s.ResourceVersion(), item.ResourceVersion))
}

// applyUnseen appends the deletion of an object that is not stored to the log, with the state at
// deletion alone, and advances the version. The entries and indexes do not change, and no index
// function is called. It returns false if there is no such state: Decode ignores it, or fails, for
// which err may be the reason. The entry of the state is stored in *last.
func (s *Store[V]) applyUnseen(item feed.Item, value *V, err error, last *Entry[V]) bool {
	if err == nil {
		err = s.makeUnindexed(last, &s.maker, item, value, nil)
	}
	if err != nil {
		if !errors.Is(err, feed.ErrSkip) {
			err = fmt.Errorf("state at deletion: %w", err)
			s.deferReport(item.Key, &feed.EffectError{Effect: feed.NotStored, Err: err})
		}
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moveVersion(newer(s.live.Load().version, item.ResourceVersion))
	s.config.Log.AppendOne(Change[V]{Key: item.Key, Old: last, Final: last})
	return true
}

// hasVersionUnderKey reports whether the store has an item's version under the item's own key. If
// so, it has set *entry to the live entry. It does not call Decode.
func (s *Store[V]) hasVersionUnderKey(item feed.Item, entry *Entry[V]) bool {
	return s.liveEntry(item.Key, entry) != nil &&
		s.compare(entry.identity, identityOf(item.UID, item.ResourceVersion), item) == feed.Unchanged
}

// Skips reports whether Decode ignores the item's state, which the store then never holds.
func (s *Store[V]) Skips(item feed.Item) bool {
	_, err := s.valueOf(item, nil)
	return errors.Is(err, feed.ErrSkip)
}

// hasVersion reports whether the store has an item's version. If so, it has set *entry to the live
// entry. It returns the error of an item whose key cannot be read.
func (s *Store[V]) hasVersion(item feed.Item, entry *Entry[V]) (bool, error) {
	if s.hasVersionUnderKey(item, entry) {
		return true, nil
	}
	key, _, err := s.keyOf(item)
	if err != nil || key == item.Key {
		return false, err
	}
	item.Key = key
	return s.hasVersionUnderKey(item, entry), nil
}

var errNoKey = errors.New("the object has no key")

// keyOf returns the key of an item's value, and the value if it was decoded for that. On error it
// returns the item's own key. The key of an object that a client has decoded may be empty.
func (s *Store[V]) keyOf(item feed.Item) (string, *V, error) {
	if s.itemKeys() && item.Key != "" {
		return item.Key, nil, nil
	}
	value, err := s.valueOf(item, nil)
	if err != nil {
		return item.Key, nil, err
	}
	key, err := feed.CatchPanic(func() (string, error) { return s.config.Key(value) })
	if err == nil && key == "" && item.Key == "" && item.Object == nil {
		err = errNoKey
	}
	if err != nil {
		return item.Key, nil, err
	}
	return key, &value, nil
}

// compare returns Unchanged if an item is the state that the store has, Stale if it is older, and
// Applied if it is newer or the stored state of the same version cannot be read. If the object's
// newest state could not be stored, the item is compared with that state's version: the last good
// state may date from before a restore of the server and have a higher version.
func (s *Store[V]) compare(old, next identity, item feed.Item) feed.Outcome {
	failed, quarantined := s.quarantine.failed(item.Key)
	switch {
	case old.sameVersion(next) && (!quarantined || feed.IsOlder(item.ResourceVersion, failed.version)):
		return feed.Unchanged
	case old.sameVersion(next):
		return feed.Applied
	case failed.version != "" && feed.IsOlder(item.ResourceVersion, failed.version), failed.version == "" && next.before(old):
		return feed.Stale
	}
	return feed.Applied
}
