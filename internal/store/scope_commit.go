// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/keep"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// scopeCommit writes the list of scopes, or the removal of scopes, into the live state: in pieces,
// which are ordinary writes of at most Store.pieceSize keys under one hold of the writer's lock.
// Events of other scopes pass between them.
type scopeCommit struct {
	*Store
	list    *Replacement // nil if scopes are removed
	version string       // of the list
	// unordered reports whether the version cannot be compared. Only versions of one object are
	// compared then, and nothing is remembered of objects that are gone.
	unordered bool
	exist     bool // the objects of removed scopes exist
	scopes    map[*Scope]bool

	sets   map[*Scope]*snapmap.Set // the keys of the entries of the scopes before the first piece
	failed map[string]bool         // the keys of the list's states that could not be stored
	writes []write                 // of the piece
	batch  []Change                // additions of scopes that were not listed before, logged at the end
}

func newScopeCommit(list *Replacement, version string) *scopeCommit {
	c := &scopeCommit{
		Store: list.store, list: list, version: version, unordered: !feed.Reaches(version, version),
		scopes: make(map[*Scope]bool), failed: make(map[string]bool),
	}
	for _, scope := range list.feed.Scopes() {
		if !scope.isListed() { // to allocate it under the lock would take milliseconds
			c.batch = make([]Change, 0, list.next.entries.Len())
			break
		}
	}
	return c
}

// RemoveScopes removes scopes that no longer have a feed, with their entries. exist reports whether
// the objects exist: the deletions then have LeftScope.
func (s *Store) RemoveScopes(scopes []*Scope, exist bool) {
	c := &scopeCommit{Store: s, exist: exist, scopes: make(map[*Scope]bool, len(scopes))}
	for _, scope := range scopes {
		c.scopes[scope] = true
	}
	_ = c.run() // only a list can be too old
}

// RemovePendingScopes removes the scopes into which the program has written, that were not added,
// and that isHeld does not accept. It holds the writer's lock meanwhile: a write whose scope the
// program removes is in that scope before, or is refused.
func (s *Store) RemovePendingScopes(isHeld func(scope.Scope) bool) {
	var gone []*Scope
	s.lockBoth()
	for _, c := range s.scopes.held {
		if c.pending && !isHeld(c.Name) {
			gone = append(gone, c)
		}
	}
	s.unlockBoth()
	if len(gone) > 0 {
		s.RemoveScopes(gone, true)
	}
}

// run writes the pieces, and then the version. All that may refuse the list comes before the first
// piece. The lock of commits is held meanwhile, so that scopes, feeds and indexes stay.
func (c *scopeCommit) run() error {
	c.lockCommit()
	defer c.unlockCommit()
	if err := c.begin(); err != nil {
		return err
	}
	n := 0
	for key, made := range c.keys() {
		if n++; n > c.pieceSize {
			c.publish()
			reports := c.endWriteSilently() // reported once the commit has released its locks
			c.yield()
			c.writer.Lock()
			c.reports, n = reports, 1
		}
		c.decide(key, made)
	}
	c.publish()
	c.end()
	return nil
}

// begin finds the scopes to replace, and their keys.
func (c *scopeCommit) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.beginListing(maps.Keys(c.scopes), func(c *Scope) *atomic.Uint64 { return &c.removed }) // before its first piece
	} else if err := c.beginList(); err != nil {
		return err
	}
	live := c.live.Load()
	c.sets = make(map[*Scope]*snapmap.Set, len(c.scopes))
	for scope := range c.scopes {
		scope.committing, scope.overwritten = true, false
		if keys := live.indexes.ofScope(scope); keys != nil {
			c.sets[scope] = keys
		}
	}
	live.pages.Advance() // what is written later is written to copies of these sets
	return nil
}

// beginList finds the scopes to replace: those that have not reached a later version than the
// list's. After the server has gone back in time, these are all scopes of the feed.
func (c *scopeCommit) beginList() error {
	by, compares := c.list.feed, c.list.compareContents
	if c.list.vacations != c.vacations {
		return feed.ErrOutdated
	}
	for _, scope := range by.Scopes() {
		isOlder := feed.IsOlder(c.version, scope.reached())
		switch {
		case by.feeds(scope) && !compares && (scope.vacated && isOlder || scope.outdated):
			return feed.ErrOutdated // it must be listed
		case !by.feeds(scope), !compares && scope.isListed() && isOlder:
		case !compares && feed.IsOlder(c.version, scope.minVersion):
			return feed.ErrOutdated
		default:
			c.scopes[scope] = true
		}
	}
	if compares && feed.IsOlder(c.version, c.list.reached) {
		c.noteRestore(by, slices.Collect(maps.Keys(c.scopes)), c.version)
	}
	for scope := range c.scopes {
		scope.epoch, scope.outdated = c.Store.scopes.epoch, false
	}
	return nil
}

// keys yields each key to decide on once, and whether the list has an entry that was made for it:
// first those that the list lacks, and then those that it has, in its order.
func (c *scopeCommit) keys() iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		has := func(key string) bool { return c.list != nil && c.list.next.entries.Get(key) != nil }
		rejects := func(key string) bool { return c.list != nil && c.list.rejected[key].scope != nil }
		for _, keys := range c.sets {
			for key := range keys.All() {
				if !has(key) && !rejects(key) && !yield(key, false) {
					return
				}
			}
		}
		if c.list == nil {
			return
		}
		for key := range c.list.rejected {
			if !has(key) && !yield(key, false) {
				return
			}
		}
		c.list.candidates(true)(yield)
	}
}

// decide adds the write of a key to the piece.
func (c *scopeCommit) decide(key string, made bool) {
	old := new(Entry).fromMap(c.entries.Item(key))
	if c.list == nil {
		if c.verdict(keep.Missing, key, nil, identity{}, "", old) == keep.Remove {
			c.add(c.removedWrite(key, old))
		}
		return
	}
	f, rejected := c.list.rejected[key]
	rejected = rejected && c.scopes[f.scope] && c.verdict(keep.Item, key, f.scope, f.identity(), f.version, old) != keep.Ignore
	var t *tombstone
	if rejected && !c.unordered {
		t = &tombstone{key: key, version: f.version}
	}
	if rejected && !f.skipped() {
		c.failed[key] = true
	}
	switch entry := new(Entry).fromMap(c.list.next.entries.Item(key)); {
	case entry != nil:
		id := entry.identity()
		if !c.scopes[entry.scope()] || c.verdict(keep.Item, key, entry.scope(), id, id.versionText(), old) == keep.Ignore {
			return
		}
		w := c.listedWrite(key, old, entry, made)
		if rejected { // a later state of the object is in the list, too
			w.tombstone, w.failed = t, c.keepLastGood(key, f, nil, t).failed
		}
		c.add(w)
	case rejected:
		c.add(c.keepLastGood(key, f, old, t))
	case c.verdict(keep.Missing, key, nil, identity{}, "", old) == keep.Remove:
		c.add(c.missingWrite(key, old))
	}
}

// verdict decides on a state of the list, or on a key that is missing in it.
func (c *scopeCommit) verdict(kind keep.Arrival, key string, of *Scope, id identity, version string, old *Entry) keep.Verdict {
	item := feed.Item{Key: key, ResourceVersion: version, Unordered: c.unordered}
	own := old != nil && c.scopes[old.scope()]
	return keep.Decide(c.caseOf(arrival{kind, of, item, id, c.version, own}, old))
}

// removedWrite returns the write that removes an entry with its scope.
func (c *scopeCommit) removedWrite(key string, old *Entry) write {
	w := write{kind: deletion, key: key, old: old, by: old.scope(), server: true, tombstone: &tombstone{key: key, version: old.serverVersion()}}
	if c.exist {
		w.final, w.leftScope = old, true
	}
	return w
}

// missingWrite returns the write of an entry that the list lacks. It keeps the entry if an item
// that cannot be identified may be its object. A restore of the server has undone a version that is
// newer than the list's: it is forgotten then, and any older state may exist.
func (c *scopeCommit) missingWrite(key string, old *Entry) write {
	refused := c.list.isRefused(key, old)
	if c.list.unidentified && !refused {
		kept := *old
		kept.forgetVersion(identityOf("", c.version))
		return keeping(key, old, &kept)
	}
	w := write{kind: deletion, key: key, old: old, by: old.scope(), server: true, leftScope: refused}
	if old.common().written { // the server may never have had it
		w.by = nil
	}
	if version := old.serverVersion(); !c.unordered && !feed.IsOlder(c.version, version) {
		w.tombstone = &tombstone{key: key, version: version}
	}
	return w
}

// listedWrite returns the write of an entry of the list.
func (c *scopeCommit) listedWrite(key string, old, entry *Entry, made bool) write {
	if set := c.live.Load().indexes.set; entry.lacksIndexOf(set) {
		c.addIndexValues(set, key, entry)
	}
	w := write{kind: update, key: key, old: old, next: entry, by: entry.scope(), server: true}
	switch {
	case old == nil:
	case c.sameState(c.list, key, old, entry, made):
		by, emits := w.by, c.config.EmitUnchanged
		w = keeping(key, old, entry)
		w.by, w.unchanged = by, emits
		if _, recovered := c.list.recovered[key]; recovered {
			w.release = []string{key}
		}
	case !old.sameObject(entry.identity()):
		w.leftScope = c.list.isRefused(key, old)
	}
	return w
}

// add adds a write to the piece, and its entry to the batch of a scope that was not listed.
func (c *scopeCommit) add(w write) {
	entry := w.next
	if entry == nil && w.kind == nothing {
		entry = w.old
	}
	if entry != nil && entry.scope().isUnlisted() && c.scopes[entry.scope()] {
		c.batch = append(c.batch, Change{Key: w.key, New: entry, Initial: true})
	}
	if w.kind != nothing || w.unchanged || w.release != nil || w.failed != nil || w.tombstone != nil {
		c.writes = append(c.writes, w)
	}
}

// publish makes the piece visible, and logs the changes of listed scopes.
func (c *scopeCommit) publish() {
	if len(c.writes) == 0 {
		return
	}
	var changes []Change
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.writes {
		changes = c.publishWrite(&c.writes[i], changes)
	}
	clear(c.writes)
	c.writes = c.writes[:0]
	if c.config.Log != nil && len(changes) > 0 {
		c.config.Log.Append(changes)
	}
	if c.list != nil && c.list.compareContents {
		c.list.changed = append(c.list.changed, changes...)
	}
}

// end releases the keys whose failures the list resolves, and makes the scopes listed, or removed.
// The events of scopes that were not listed before are logged in the hold of mu that makes them
// listed: what a handler has received, reads know.
func (c *scopeCommit) end() {
	var changes []Change
	if c.list != nil {
		changes = c.initialChanges()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for scope := range c.scopes {
		scope.committing = false
	}
	if c.list == nil {
		c.forget()
		return
	}
	for key, f := range c.quarantine.failures() {
		isKept := c.list.unidentified && c.entries.Get(key) != nil
		if c.scopes[f.scope] && !c.failed[key] && c.list.next.entries.Get(key) == nil && !isKept {
			c.quarantine.release(key)
		}
	}
	unnamed := c.list.unnamed
	for scope := range c.scopes {
		c.quarantine.setUnnamed(scope, unnamed)
		unnamed = 0
	}
	c.beginListing(maps.Keys(c.scopes), func(c *Scope) *atomic.Uint64 { return &c.listed })
	if c.config.Log != nil {
		c.config.Log.Append(changes)
	}
	if c.list.compareContents {
		c.list.changed = append(c.list.changed, changes...)
	}
	c.list.feed.reachListed(maps.Keys(c.scopes), c.version)
	c.endAbsence()
	c.Store.scopes.oldest = nil
	c.settle()
}

// initialChanges returns the additions of the scopes that were not listed before, in the order of
// the list unless others have written entries of these scopes. The caller holds the writer's lock.
func (c *scopeCommit) initialChanges() (changes []Change) {
	isOverwritten := func(scope *Scope) bool { return scope.isUnlisted() && scope.overwritten }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(c.scopes)), isOverwritten) {
		return c.batch
	}
	for scope := range c.scopes {
		if keys := c.live.Load().indexes.ofScope(scope); keys != nil && scope.isUnlisted() {
			for key := range keys.All() {
				changes = append(changes, Change{Key: key, New: new(Entry).fromMap(c.entries.Item(key)), Initial: true})
			}
		}
	}
	return changes
}

// forget removes the scopes from the store. The caller holds both locks.
func (c *scopeCommit) forget() {
	c.Store.scopes.forget(slices.Collect(maps.Keys(c.scopes)))
	c.quarantine.releaseScopes(func(scope *Scope) bool { return scope != nil && scope.isRemoved() })
	c.endAbsence()
	c.Store.scopes.oldest = nil
	c.settle()
}
