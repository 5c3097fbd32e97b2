// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// Replacement is a new state that is built beside the live one and swapped for it at Commit.
// Unchanged entries are shared with the live state. A replacement is used by one goroutine, but for
// Needs, and does not hold the writer's lock before Commit.
type Replacement[V any] struct {
	store           *Store[V]
	next            *state[V]
	maker           maker
	made            []string            // keys of the entries made for this state, in list order
	compareContents bool                // see CompareContents
	repeats         bool                // an entry was replaced or removed, so made may hold a key twice
	writes          uint64              // state.writes of the live state at Begin
	known           []Entry[V]          // entries that Needs has returned; belongs to its goroutine
	newest          newestItems[V]      // the newest unchanged items that Needs has recognized; belongs to its goroutine
	newestAdded     newestItems[V]      // those that Add has recognized
	rejected        map[string]failure  // keys whose newest state could not be stored or is ignored, and why
	unkeyed         int                 // number of items that could not be stored and have no key
	recovered       map[string]struct{} // quarantined keys that have a good state now
	repaired        []*Entry[V]         // live entries that are replaced without an event, set by changes
	duplicates      map[string]struct{} // keys that the list holds more than once
	feed            *Feed[V]            // whose scopes are replaced; nil replaces the whole collection
	refused         map[string]uint64   // the hashes of the UIDs of refused objects by key; see Refuse
	changed         []Change[V]         // what Commit changed
	byProgram       bool                // not a list: it keeps the version and does not end the initial state
}

// Begin implements feed.Sink.
func (f *Feed[V]) Begin() feed.Replacement { return f.BeginReplacement() }

// BeginReplacement is Begin for a caller that filters. Commit swaps in the whole collection, or
// merges the replacement into the live state: it then replaces the entries of the feed's scopes, in
// one batch of the log, and leaves those of other scopes as they are.
func (f *Feed[V]) BeginReplacement() *Replacement[V] {
	s := f.store
	r := s.begin(func(key string, err error) {
		s.EndIfAbandoned()
		s.config.Report(key, err)
	})
	if !f.whole {
		r.feed, r.next = f, newState(&indexSet[V]{}) // the indexes of the live state are changed instead
	}
	return r
}

// begin starts a replacement that reports errors by report.
func (s *Store[V]) begin(report func(key string, err error)) *Replacement[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.live.Load()
	return &Replacement[V]{store: s, next: newState(live.indexes.set), maker: maker{report: report}, writes: live.writes}
}

// CompareContents implements feed.Replacement.
func (r *Replacement[V]) CompareContents() { r.compareContents = true }

// Differs implements feed.Replacement.
func (r *Replacement[V]) Differs(version string) bool {
	return slices.ContainsFunc(r.changed, func(c Change[V]) bool {
		switch {
		case c.New == nil:
			return true
		case c.Old != nil && c.Old.ref == c.New.ref: // an update without a change, see EmitUnchanged
			return false
		}
		return !feed.IsOlder(version, c.New.versionText())
	})
}

// Needs implements feed.Replacement. An object whose version the store has needs no contents: Needs
// returns the live entry, and keeps the item if it is one of the newest. One that will be packed is
// not decoded in advance.
func (r *Replacement[V]) Needs(item feed.Item) (need feed.Need, known any) {
	s := r.store
	if r.feed != nil && r.feed.scopeOf(item) == nil {
		return feed.NeedsIdentity, nil
	}
	if !r.comparesAll() {
		var entry Entry[V]
		if s.hasVersionUnderKey(item, &entry) {
			r.newest.offer(newestItem[V]{Item: item, key: item.Key, identity: entry.identity}, s.config.CompareBytes)
			return feed.NeedsIdentity, r.copyOf(entry)
		}
	}
	if s.config.Packer != nil {
		return feed.NeedsBytes, nil
	}
	return feed.NeedsObject, nil
}

// comparesAll reports whether an object whose version the store has is made again: to compare its
// content, or since each object of the list is to be an update.
func (r *Replacement[V]) comparesAll() bool { return r.compareContents || r.store.config.EmitUnchanged }

// knownChunk is the number of entries that share an allocation.
const knownChunk = 64

// copyOf returns a copy of an entry on the heap.
func (r *Replacement[V]) copyOf(entry Entry[V]) *Entry[V] {
	if len(r.known) == cap(r.known) {
		r.known = make([]Entry[V], 0, knownChunk)
	}
	r.known = append(r.known, entry)
	return &r.known[len(r.known)-1]
}

// Add implements feed.Replacement. If the store has this version of the object, it keeps the live
// entry: it does not decode or transform the item, and emits no event. After CompareContents it
// decodes the item, and keeps the live entry only if the contents are equal.
func (r *Replacement[V]) Add(item feed.Item) { r.add(item, listItem) }

// Update implements feed.Replacement. It adds an item as Add does.
func (r *Replacement[V]) Update(item feed.Item) { r.add(item, eventItem) }

// itemKind is where an item of a replacement comes from.
type itemKind int

const (
	listItem  itemKind = iota // a list, which should have no other state under its key
	eventItem                 // a MODIFIED event of an initial state
)

// entryKind is where an entry of a replacement comes from.
type entryKind int

const (
	liveState entryKind = iota // the live state
	madeState                  // the item: it was made for the replacement
)

// add adds an item.
func (r *Replacement[V]) add(item feed.Item, kind itemKind) {
	if !r.enter(item) {
		r.feed.passOver(item)
		return
	}
	s, itemKey := r.store, item.Key
	if entry, ok := item.Known.(*Entry[V]); ok {
		r.accept(itemKey, item, entry, liveState, kind)
		return
	}
	key, value, err := s.keyOf(item)
	item.Key = key
	var pair entryPair[V]
	old, id := s.liveEntry(key, &pair.old), identityOf(item.UID, item.ResourceVersion)
	hasVersion := old != nil && s.compare(old.identity, id, item) == feed.Unchanged
	if hasVersion && !r.comparesAll() {
		r.newestAdded.offer(newestItem[V]{Item: item, key: key, value: value, identity: id}, s.config.CompareBytes)
		r.accept(itemKey, item, old, liveState, kind)
		return
	}
	if err == nil {
		err = s.makeEntry(&pair.next, &r.maker, item, value, old)
	}
	if err != nil {
		r.reject(item, effectOf(old != nil && old.sameObject(id)), err, kind)
		return
	}
	if (hasVersion || r.isSameWithoutVersion(old, id)) && s.equal(old.ref, pair.next.ref) {
		r.accept(itemKey, item, old, liveState, kind)
		return
	}
	r.accept(itemKey, item, &pair.next, madeState, kind)
}

// isSameWithoutVersion reports whether an item may be the same state as old, which may be nil,
// although it has no version that says so.
func (r *Replacement[V]) isSameWithoutVersion(old *Entry[V], id identity) bool {
	return r.compareContents && id.version == 0 && old != nil && old.sameObject(id)
}

// accept adds an item's entry. If the replacement holds the key already, it keeps the newer state,
// and the later one if they cannot be compared or have no name. itemKey is the item's own key,
// which differs from item.Key if a transform has renamed the object.
func (r *Replacement[V]) accept(itemKey string, item feed.Item, entry *Entry[V], from entryKind, kind itemKind) {
	entry = r.inScope(entry)
	before := r.put(item.Key, entry)
	_, rejected := r.rejected[item.Key]
	named := feed.HasName(item.Key)
	if kind == listItem && named && (rejected || before.Value != nil) {
		r.reportDuplicate(item.Key)
	}
	if before.Value != nil {
		r.repeats = true
		if named && entry.before(before.Meta.identity) {
			var newer Entry[V]
			r.put(item.Key, newer.fromMap(before))
			return
		}
	}
	delete(r.refused, itemKey)
	r.forgetFailure(itemKey, item.ResourceVersion)
	r.forgetFailure(item.Key, item.ResourceVersion)
	r.store.recordKeys(itemKey, item.Key)
	r.record(item.Key, from)
}

// record records that the replacement has a new entry under key.
func (r *Replacement[V]) record(key string, from entryKind) {
	if from == madeState {
		r.made = append(r.made, key)
	}
	// A live entry that was found unreadable after it was looked up is not good.
	if f, quarantined := r.store.quarantine.failed(key); quarantined && (from == madeState || !f.unreadable) {
		if r.recovered == nil {
			r.recovered = make(map[string]struct{})
		}
		r.recovered[key] = struct{}{}
	}
}

// forgetFailure forgets that a state of a key could not be stored, unless it was newer than
// version.
func (r *Replacement[V]) forgetFailure(key, version string) {
	if f, rejected := r.rejected[key]; rejected && !feed.IsOlder(version, f.version) {
		delete(r.rejected, key)
	}
}

// maxUnkeyedReports is the number of items without a key that are reported of one list. A list may
// have millions, of three bytes each.
const maxUnkeyedReports = 10

// reject records that an object's newest state could not be stored, or is to be ignored. Commit
// determines which good state it keeps, if there is one. effect is what the live state makes of it.
func (r *Replacement[V]) reject(item feed.Item, effect feed.Effect, err error, kind itemKind) {
	id := identityOf(item.UID, item.ResourceVersion)
	f := failure{version: item.ResourceVersion, uid: id.uid, err: err, scope: r.maker.scope}
	if item.Key == "" && !f.skipped() {
		if r.unkeyed++; r.unkeyed <= maxUnkeyedReports {
			r.report(item.Key, feed.NotStored, err)
		}
		return
	}
	added := r.next.entries.Item(item.Key)
	last, rejected := r.rejected[item.Key]
	if kind == listItem && feed.HasName(item.Key) && (rejected || added.Value != nil) {
		r.reportDuplicate(item.Key)
	}
	if added.Value != nil && id.before(added.Meta.identity) || rejected && feed.IsOlder(item.ResourceVersion, last.version) {
		return // it is not the newest state
	}
	if r.rejected == nil {
		r.rejected = make(map[string]failure)
	}
	r.rejected[item.Key] = f
	if !f.skipped() {
		if added.Value != nil {
			effect = feed.LastStateKept
		}
		r.report(item.Key, effect, err)
	}
}

func (r *Replacement[V]) report(key string, effect feed.Effect, err error) {
	r.maker.report(key, &feed.EffectError{Effect: effect, Err: err})
}

// reportDuplicate reports, once, that the list holds several states under a key.
func (r *Replacement[V]) reportDuplicate(key string) {
	if _, reported := r.duplicates[key]; reported {
		return
	}
	if r.duplicates == nil {
		r.duplicates = make(map[string]struct{})
	}
	r.duplicates[key] = struct{}{}
	r.report(key, feed.Duplicate, feed.ErrDuplicate)
}

// Refuse records that an item's object exists, but must not be stored in its state. If the store
// has the object, its deletion has LeftScope. Refuse does not remove an earlier state of the object
// from the replacement.
func (r *Replacement[V]) Refuse(item feed.Item) {
	if r.store.entries.Get(item.Key) == nil {
		return
	}
	if r.refused == nil {
		r.refused = make(map[string]uint64)
	}
	r.refused[item.Key] = hashUID(item.UID)
}

// isRefused reports whether Refuse was called for the object of a live entry.
func (r *Replacement[V]) isRefused(key string, live *Entry[V]) bool {
	uid, refused := r.refused[key]
	return refused && uid == live.uid
}

// Remove implements feed.Replacement. It does not remove a state that is newer than the item.
func (r *Replacement[V]) Remove(item feed.Item) {
	if !r.enter(item) {
		return
	}
	delete(r.refused, item.Key)
	key, _, err := r.store.keyOf(item)
	held := true
	if err != nil {
		key, held = r.store.heldKey(r.next.entries, item)
	}
	r.forgetFailure(item.Key, item.ResourceVersion)
	r.forgetFailure(key, item.ResourceVersion)
	var entry Entry[V]
	before := entry.fromMap(r.next.entries.Item(key))
	if !held || before == nil || identityOf(item.UID, item.ResourceVersion).before(before.identity) {
		return
	}
	r.next.entries.Delete(key)
	r.next.indexes.move(key, before, nil)
	r.store.countPacked(r.next, before, nil)
	r.repeats = true
}

// put adds an entry and returns the one that it replaces.
func (r *Replacement[V]) put(key string, entry *Entry[V]) (before mapItem) {
	before = r.next.entries.Put(key, entry.mapItem())
	var replaced Entry[V]
	old := replaced.fromMap(before)
	r.next.indexes.move(key, old, entry)
	r.store.countPacked(r.next, old, entry)
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
		r.maker.scope = old.ownScope()
		if err := s.makeEntry(&pair.next, &r.maker, item, &values[i], old); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		before := r.put(key, &pair.next)
		r.repeats = r.repeats || before.Value != nil
		r.record(key, madeState)
	}
	r.byProgram = s.isFed()
	r.commit(resourceVersion)
	return nil
}
