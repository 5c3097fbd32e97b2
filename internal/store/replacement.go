// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// Replacement is a list that is collected beside the live state. Commit makes it the state of the
// scopes of its feed. Entries that the list does not change are those of the live state. A
// replacement is used by one goroutine, but for Needs, and does not hold the writer's lock before
// Commit, which may refuse the list.
type Replacement struct {
	store           *Store
	feed            *Feed                   // nil for a write of the program
	next            *state                  // the list; without indexes if the store has scopes
	maker           maker                   // of the entries; its scope is that of the item that is being added
	made            []string                // keys of the entries made for this state, in list order
	compareContents bool                    // see CompareContents
	compareWrites   bool                    // the same
	hasRoom         bool                    // see makeRoom
	repeats         bool                    // an entry was replaced or removed, so made may hold a key twice
	clears          uint64                  // those of the store at Begin
	writes          uint64                  // state.writes of the live state at Begin
	reached         string                  // Feed.newestReached at Begin
	known           []knownEntry            // what Needs has returned; belongs to its goroutine
	rejected        map[string]failure      // keys whose newest state could not be stored or is ignored, and why
	unnamed         int                     // number of items that could not be stored and have no key
	unidentified    bool                    // an item may be any object that the list lacks
	recovered       map[string]struct{}     // quarantined keys that have a good state now
	duplicates      map[string]struct{}     // keys that the list holds more than once
	refused         map[string]refusedState // keys of the list's objects that the filter refuses
	passed          map[string]struct{}     // keys of those that pass, if a transform may rename objects
	changed         []Change                // what Commit changed
}

// refusedState is the newest state of an object that the filter refuses.
type refusedState struct {
	version string
	uid     uint64 // a hash, as in identity
}

// Begin implements feed.Sink.
func (f *Feed) Begin() feed.Replacement {
	s := f.store
	return s.begin(f, func(key string, err error) {
		s.EndIfAbandoned()
		s.config.Report(key, err)
	})
}

// begin starts a replacement that reports errors by report.
func (s *Store) begin(f *Feed, report func(key string, err error)) *Replacement {
	r := &Replacement{
		store: s, feed: f, maker: maker{report: report},
		rejected: make(map[string]failure), recovered: make(map[string]struct{}), duplicates: make(map[string]struct{}),
		refused: make(map[string]refusedState), passed: make(map[string]struct{}),
	}
	set := &indexSet{}
	s.withMu(func() {
		live := s.live.Load()
		r.writes, r.clears = live.writes, s.clears
		if s.isScoped() { // the indexes of the live state are changed instead
			r.compareContents, r.reached = f.isOutdated(), f.newestReached()
			return
		}
		set = live.indexes.set
	})
	r.next = newState(set, false, s.config.Packer != nil)
	return r
}

// makeRoom makes room for the entries of the live state, of which the list will have most. It is
// called for the first item: a request that fails before needs no room.
func (r *Replacement) makeRoom() {
	r.hasRoom = true
	if r.store.isScoped() {
		return
	}
	var live *snapshotData
	r.store.withMu(func() { live = r.store.snapshot().snapshotData })
	r.next.makeRoom(live)
}

// CompareContents implements feed.Replacement.
func (r *Replacement) CompareContents(writes bool) {
	r.compareContents, r.compareWrites = true, writes
}

// Differs implements feed.Replacement.
func (r *Replacement) Differs(version string, contents bool) bool {
	return slices.ContainsFunc(r.changed, func(c Change) bool {
		switch {
		case c.New == nil:
			return true
		case c.Old != nil && c.Old.ref == c.New.ref: // an update without a change, see EmitUnchanged
			return false
		case c.Old != nil && c.Old.identity().sameVersion(c.New.identity()):
			return contents
		}
		return !feed.IsOlder(version, c.New.identity().versionText())
	})
}

// foundItem is what Needs has found of an item.
type foundItem struct {
	scope *Scope // nil if the item is out of scope
	entry *Entry // the live entry, nil if the store does not have the item's version
	key   string // of the entry, as the store keeps it
}

// knownEntry is a foundItem and the entry that it refers to.
type knownEntry struct {
	foundItem
	live Entry
}

// Needs implements feed.Replacement. An object whose version the store has needs no contents: Needs
// returns the live entry. One that will be packed is not decoded in advance, unless the filter
// reads it.
func (r *Replacement) Needs(item feed.Item) (need feed.Need, found any) {
	s := r.store
	scope := r.feed.scopeOf(item)
	if scope == nil {
		return feed.NeedsIdentity, &foundItem{}
	}
	if !r.comparesAll() {
		var entry Entry
		if kept, has := s.hasVersionUnderKey(item, &entry); has {
			k := r.newKnown()
			k.live, k.foundItem = entry, foundItem{scope, &k.live, kept}
			return feed.NeedsIdentity, &k.foundItem
		}
	}
	if r.feed.name.Hash.Field != "" {
		k := r.newKnown()
		k.scope = scope
		found = &k.foundItem
	}
	if s.config.Packer != nil && s.config.Filter == nil {
		return feed.NeedsBytes, found
	}
	return feed.NeedsObject, found
}

// comparesAll reports whether an object whose version the store has is made again: to compare its
// content, or since each object of the list is to be an update.
func (r *Replacement) comparesAll() bool { return r.compareContents || r.store.config.EmitUnchanged }

// maxKnownChunk is the largest number of knownEntries that share an allocation. The first one is
// small: most lists are short.
const maxKnownChunk = 512

func (r *Replacement) newKnown() *knownEntry {
	if len(r.known) == cap(r.known) {
		r.known = make([]knownEntry, 0, max(16, min(2*cap(r.known), maxKnownChunk)))
	}
	r.known = append(r.known, knownEntry{})
	return &r.known[len(r.known)-1]
}

// Add implements feed.Replacement. If the store has this version of the object, it keeps the live
// entry: it does not decode or transform the item, and emits no event. After CompareContents it
// decodes the item, and keeps the live entry only if the contents are equal.
func (r *Replacement) Add(item feed.Item) { r.add(item, listItem) }

// Update implements feed.Replacement. It adds an item as Add does.
func (r *Replacement) Update(item feed.Item) { r.add(item, eventItem) }

// itemKind is where an item of a replacement comes from.
type itemKind int

const (
	listItem  itemKind = iota // a list, which should have no other state under its key
	eventItem                 // a MODIFIED event of an initial state
)

// enter sets the scope of the entries that are made next to that of an item. It returns false if
// the item is out of scope.
func (r *Replacement) enter(item feed.Item) bool {
	var scope *Scope
	if found, ok := item.Known.(*foundItem); ok {
		scope = found.scope
	} else {
		scope = r.feed.scopeOf(item)
	}
	if scope == nil {
		return false
	}
	r.maker.scope = scope.mark()
	return true
}

// add adds an item.
func (r *Replacement) add(item feed.Item, kind itemKind) {
	if !r.hasRoom {
		r.makeRoom()
	}
	if !r.enter(item) {
		r.feed.countOutOfScope(item)
		return
	}
	item, passes := r.filter(item)
	if !passes {
		return
	}
	s, itemKey := r.store, item.Key
	if found, ok := item.Known.(*foundItem); ok && found.entry != nil {
		item.Key = found.key
		r.accept(itemKey, item, found.entry, false, kind)
		return
	}
	key, value, err := s.keyOf(item)
	var pair entryPair
	old, kept := s.liveEntry(key, &pair.old)
	id := identityOf(item.UID, item.ResourceVersion)
	item.Key = s.keptKey(kept, old)
	hasVersion := old != nil && s.isVersion(old, item)
	if hasVersion && !r.comparesAll() {
		r.accept(itemKey, item, old, false, kind)
		return
	}
	if err == nil {
		err = s.makeEntry(&pair.next, &r.maker, item, value, old)
	}
	if err != nil {
		r.reject(item, effectOf(old != nil && old.sameObject(id)), err, kind)
		return
	}
	if (hasVersion || r.isSameWithoutVersion(old, id)) && (s.equal(old.ref, pair.next.ref) || r.compareWrites && s.sameWrite(old.ref, pair.next.ref)) {
		r.accept(itemKey, item, old, false, kind)
		return
	}
	r.accept(itemKey, item, &pair.next, true, kind)
}

// filter returns the decoded item, and whether to add it: it passes the filter, and no newer state
// of its object in the list does not. An item whose version the store has passes without being
// decoded.
func (r *Replacement) filter(item feed.Item) (_ feed.Item, passes bool) {
	s := r.store
	if s.config.Filter == nil {
		return item, true
	}
	if found, ok := item.Known.(*foundItem); ok && found.entry != nil {
		passes = true
	} else {
		item, passes = s.filter(item)
	}
	switch {
	case !passes:
		r.refuse(item)
		return item, false
	case feed.IsOlder(item.ResourceVersion, r.refused[item.Key].version):
		return item, false
	}
	if s.Transforms() {
		r.passed[item.Key] = struct{}{}
	}
	return item, true
}

// refuse records that an item's object exists, and that the filter refuses its state. It removes an
// earlier state of the list that has passed. If the store has the object, its deletion has
// LeftScope.
func (r *Replacement) refuse(item feed.Item) {
	if !feed.IsOlder(item.ResourceVersion, r.refused[item.Key].version) {
		r.refused[item.Key] = refusedState{item.ResourceVersion, hashUID(item.UID)}
	}
	if _, passed := r.passed[item.Key]; passed || !r.store.Transforms() { // otherwise the transform would find the key
		r.removeState(item)
	}
}

// isRefused reports whether the filter refuses the newest state of the object of a live entry.
func (r *Replacement) isRefused(key string, live *Entry) bool {
	newest, known := r.refused[key]
	return known && newest.uid == live.uid
}

// isSameWithoutVersion reports whether an item may be the same state as old, which may be nil,
// although it has no version that says so.
func (r *Replacement) isSameWithoutVersion(old *Entry, id identity) bool {
	return r.compareContents && id.version == 0 && old != nil && old.sameObject(id)
}

// accept adds an item's entry. If the replacement holds the key already, it keeps the newer state,
// and the later one if they cannot be compared or have no name. itemKey is the item's own key,
// which differs from item.Key if a transform has renamed the object. made reports whether the entry
// was made for the replacement, and is not the live one.
func (r *Replacement) accept(itemKey string, item feed.Item, entry *Entry, made bool, kind itemKind) {
	s := r.store
	entry = entry.confirmed()
	before, existed := r.next.put(item.Key, entry)
	_, rejected := r.rejected[item.Key]
	named := feed.HasName(item.Key)
	if kind == listItem && named && (rejected || existed) {
		r.reportDuplicate(item.Key)
	}
	if existed {
		r.repeats = true
		if named && entry.identity().before(before.identity()) {
			r.next.put(item.Key, &before)
			return
		}
	}
	delete(r.refused, itemKey)
	r.forgetFailure(itemKey, item.ResourceVersion)
	r.forgetFailure(item.Key, item.ResourceVersion)
	if itemKey != item.Key {
		s.renames.Store(true)
	}
	r.record(item.Key, made)
}

// record records that the replacement has a new entry under key.
func (r *Replacement) record(key string, made bool) {
	if made {
		r.made = append(r.made, key)
	}
	// A live entry that was found unreadable after it was looked up is not good.
	if f, quarantined := r.store.quarantine.failed(key); quarantined && (made || !f.unreadable) {
		r.recovered[key] = struct{}{}
	}
}

// forgetFailure forgets that a state of a key could not be stored, unless it was newer than
// version.
func (r *Replacement) forgetFailure(key, version string) {
	if f, rejected := r.rejected[key]; rejected && !feed.IsOlder(version, f.version) {
		delete(r.rejected, key)
	}
}

// maxUnnamedReports is the number of items without a key that are reported of one list. A list may
// have millions, of three bytes each.
const maxUnnamedReports = 10

// reject records that an object's newest state could not be stored, or is to be ignored. Commit
// determines which good state it keeps, if there is one. effect is what the live state makes of it.
func (r *Replacement) reject(item feed.Item, effect feed.Effect, err error, kind itemKind) {
	id := identityOf(item.UID, item.ResourceVersion)
	f := failure{version: item.ResourceVersion, uid: id.uid, err: err, scope: r.maker.scope}
	if item.UID == "" && item.IsUnreadable() && (r.feed.isOfUIDs() || r.store.renames.Load()) { // the key leads to no scope, or to no entry
		item.Key = ""
	}
	if item.Key == "" && !f.skipped() {
		r.unidentified = r.unidentified || item.IsUnreadable() && !errors.Is(err, feed.ErrNoName)
		if r.unnamed++; r.unnamed <= maxUnnamedReports {
			r.report(item.Key, feed.Absent, err)
		}
		return
	}
	added := new(Entry).fromMap(r.next.entries.Item(item.Key))
	last, rejected := r.rejected[item.Key]
	if kind == listItem && feed.HasName(item.Key) && (rejected || added != nil) {
		r.reportDuplicate(item.Key)
	}
	if added != nil && id.before(added.identity()) || rejected && feed.IsOlder(item.ResourceVersion, last.version) {
		return // it is not the newest state
	}
	r.rejected[item.Key] = f
	if !f.skipped() {
		if added != nil {
			effect = feed.LastStateKept
		}
		r.report(item.Key, effect, err)
	}
}

func (r *Replacement) report(key string, effect feed.Effect, err error) {
	r.maker.report(key, &feed.EffectError{Effect: effect, Err: err})
}

// keepsEarlier reports whether the list has a state of a key beside a later one that could not be
// stored.
func (r *Replacement) keepsEarlier() bool {
	for key := range r.rejected {
		if r.next.entries.Get(key) != nil {
			return true
		}
	}
	return false
}

// reportDuplicate reports, once, that the list holds several states under a key.
func (r *Replacement) reportDuplicate(key string) {
	if _, reported := r.duplicates[key]; reported {
		return
	}
	r.duplicates[key] = struct{}{}
	r.report(key, feed.Duplicate, feed.ErrDuplicate)
}

// Remove implements feed.Replacement. It does not remove a state that is newer than the item.
func (r *Replacement) Remove(item feed.Item) {
	if !r.enter(item) {
		return
	}
	delete(r.refused, item.Key)
	r.removeState(item)
}

// removeState removes the state of an item's object, unless it is newer than the item.
func (r *Replacement) removeState(item feed.Item) {
	key, _, err := r.store.keyOf(item)
	held := true
	if err != nil {
		key, held = r.store.heldKey(r.next.entries, item)
	}
	r.forgetFailure(item.Key, item.ResourceVersion)
	r.forgetFailure(key, item.ResourceVersion)
	before := new(Entry).fromMap(r.next.entries.Item(key))
	if !held || before == nil || identityOf(item.UID, item.ResourceVersion).before(before.identity()) {
		return
	}
	r.next.put(key, nil)
	r.repeats = true
}
