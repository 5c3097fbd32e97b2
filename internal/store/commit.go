// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// commit replaces the entries of scopes by those of a list, or removes scopes. The next state is
// the list itself, if the list replaces every entry, and otherwise a fork of the live state, which
// the commit changes key by key while readers go on with the live one. What is written in its
// pauses goes to the live state alone.
type commit struct {
	*Store
	list     *Replacement // nil if scopes are removed
	feed     *Feed        // nil for a write of the program, and if scopes are removed
	version  string       // of the list
	exist    bool         // the objects of removed scopes, or of a vacated store, exist
	absence  *error       // of the store that the commit vacates; nil if it does not
	inPieces bool         // it pauses

	scopes map[*Scope]bool // that are replaced or removed, if the store has scopes
	next   *state
	placed []placed           // what the next state does not have yet, if it is a fork
	gone   []Change           // deletions, which come first
	put    []Change           // additions and updates
	failed map[string]failure // the list's rejected states that are the newest of their keys
	kept   map[string]bool    // keys of those for which a live entry is kept
}

// placed is an entry that a commit has decided to put into its fork, nil to remove the one under
// key.
type placed struct {
	key   string
	entry *Entry
}

// Commit implements feed.Replacement. Each snapshot shows all of the list or none. The changes are
// one batch of the log, deletions first. It fails if a scope must have a list that is not older
// than a later version.
func (r *Replacement) Commit(resourceVersion string) error {
	s := r.store
	c := &commit{Store: s, list: r, feed: r.feed, version: resourceVersion}
	if c.inPieces = s.isScoped() && !r.compareContents; c.inPieces { // otherwise feeds may change
		c.put = make([]Change, 0, len(r.made)) // to allocate it under the lock would take milliseconds
	}
	if err := c.run(); err != nil {
		return err
	}
	r.feed.config.Listed()
	r.feed.config.Progressed()
	return nil
}

// RemoveScopes removes scopes that no longer have a feed, with their entries. Their deletions are
// one batch of the log. exist reports whether the objects exist: the deletions then have LeftScope.
func (s *Store) RemoveScopes(scopes []*Scope, exist bool) {
	c := &commit{Store: s, exist: exist, inPieces: true, scopes: make(map[*Scope]bool, len(scopes))}
	size := 0
	for _, scope := range scopes {
		c.scopes[scope] = true
		size += s.ScopeState(scope).Objects
	}
	c.gone = make([]Change, 0, size)
	_ = c.run() // only a list can be too old
}

// RemoveUnadded removes the scopes into which the program has written, that were not added, and that
// isHeld does not accept.
func (s *Store) RemoveUnadded(isHeld func(scope.Scope) bool) {
	var gone []*Scope
	s.withMu(func() {
		for name, c := range s.scopes.early {
			if !isHeld(name) {
				gone = append(gone, c)
			}
		}
	})
	if len(gone) > 0 {
		s.RemoveScopes(gone, true)
	}
}

// Replace makes values the whole collection, regardless of their versions. On error the store is
// unchanged. A store with scopes cannot be replaced.
func (s *Store) Replace(values []any, resourceVersion string) error {
	if s.isScoped() {
		return errReplaced
	}
	c := &commit{Store: s, version: resourceVersion}
	s.lockCommit()
	defer s.unlockCommit()
	r := s.begin(nil, s.deferReport)
	c.list = r
	for i := range values {
		key, err := s.keyOfValue(values[i])
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}
		var pair entryPair
		if _, _, err := s.makeOwn(&pair, &r.maker, key, &values[i]); err != nil {
			return fmt.Errorf("item %d, %q: %w", i, key, err)
		}
		r.repeats = r.next.put(key, &pair.next) != nil || r.repeats
		r.record(key, true)
	}
	c.replaceAll()
	return nil
}

var errReplaced = errors.New("the objects of an informer with scopes cannot be replaced as a whole")

// run decides on every key and publishes the next state. It holds the lock of commits, and the
// writer's except in pauses.
func (c *commit) run() error {
	c.lockCommit()
	defer c.unlockCommit()
	if set := c.live.Load().indexes.set; c.list != nil && !c.isScoped() && c.list.next.indexes.set != set {
		c.list.next = c.reindexed(c.list.next, set) // indexes were added since Begin; with scopes, the live ones are changed
	}
	c.inPieces = c.inPieces && !c.mayBeOutrun()
	if err := c.decideAll(); err != nil {
		return err
	}
	if c.list != nil && c.isOutdated() {
		return feed.ErrOutdated
	}
	c.quarantineFailed()
	c.publish(c.resolved())
	return nil
}

// mayBeOutrun reports whether another feed has a scope of the list. It may bring the scope to a
// later version in a pause, and begin has decided before that the list replaces the scope.
func (c *commit) mayBeOutrun() bool {
	return c.list != nil && slices.ContainsFunc(c.feed.Scopes(), func(scope *Scope) bool { return len(scope.feeds) > 1 })
}

// isOutdated reports whether scopes must have a later list, as tombstones were dropped in pauses.
func (c *commit) isOutdated() bool {
	for scope := range c.scopes {
		if !c.list.compareContents && feed.IsOlder(c.version, scope.minVersion) {
			return true
		}
	}
	return false
}

// pause gives the writer's lock back, and writes the fork meanwhile. The errors of the commit are
// not reported before it has released its locks.
func (c *commit) pause() {
	reports := c.endWriteSilently()
	c.yield()
	c.writeFork()
	c.writer.Lock()
	c.reports = reports
}

// writeFork puts what was decided into the fork, which no other goroutine uses yet. It takes most
// of the time of a commit, and needs no lock.
func (c *commit) writeFork() {
	for _, p := range c.placed {
		c.next.put(p.key, p.entry)
	}
	c.placed = c.placed[:0]
}

// replaceAll commits a write of the program, which holds the lock of commits and the writer's.
func (c *commit) replaceAll() {
	c.next = c.list.next
	if c.config.Log != nil {
		c.withMu(func() { c.list.writes = c.live.Load().writes + 1 }) // every key may differ
		for step := range c.steps(c.Snapshot().entries) {
			step()
		}
	}
	c.publish(nil)
}

// decideAll decides on every key, from the beginning.
func (c *commit) decideAll() error {
	for key := range c.kept {
		c.list.next.put(key, nil)
	}
	c.gone, c.put = c.gone[:0], c.put[:0]
	c.failed, c.kept = make(map[string]failure), make(map[string]bool)
	var view entryView
	if err := c.begin(&view); err != nil {
		return err
	}
	n := 0
	for step := range c.steps(view) {
		if n++; c.inPieces && n%c.pieceSize == 0 {
			c.pause()
		}
		step()
	}
	c.decideAgain()
	c.writeFork()
	return nil
}

// decideAgain decides again on the keys that were written during pauses. When they are few, it does
// so without a pause.
func (c *commit) decideAgain() {
	const rounds = 4
	for round := 1; len(c.written) > 0; round++ {
		written := c.written
		pauses := len(written) > c.pieceSize && round < rounds
		c.written = make(map[string]struct{})
		c.writeFork()
		isWritten := func(change Change) bool {
			_, again := written[change.Key]
			return again
		}
		c.gone, c.put = slices.DeleteFunc(c.gone, isWritten), slices.DeleteFunc(c.put, isWritten)
		n := 0
		for key := range written {
			if n++; pauses && n%c.pieceSize == 0 {
				c.pause()
			}
			c.takeLive(key)
			c.settleFailure(key)
			c.process(key, false)
		}
	}
}

// takeLive undoes what was decided on a key, and takes its live entry into the fork.
func (c *commit) takeLive(key string) {
	if c.kept[key] {
		c.list.next.put(key, nil)
	}
	delete(c.kept, key)
	delete(c.failed, key)
	c.next.put(key, new(Entry).fromMap(c.entries.Item(key)))
}

// begin forks the live state, unless the list replaces it all, and takes a view of it.
func (c *commit) begin(view *entryView) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.live.Load()
	if c.feed != nil && c.list.vacations != c.vacations {
		return feed.ErrOutdated
	}
	if c.list != nil && c.isScoped() {
		if err := c.beginScopes(); err != nil {
			return err
		}
	}
	*view = live.entries.View()
	if c.scopes == nil {
		c.next = c.list.next
		live.pages.Advance()
		return nil
	}
	c.next = live.fork()
	if c.written = nil; c.inPieces {
		c.written = make(map[string]struct{})
	}
	return nil
}

// beginScopes finds the scopes to replace: those that have not reached a later version than the
// list's. After the server has gone back in time, these are all scopes of the feed.
func (c *commit) beginScopes() error {
	c.scopes = make(map[*Scope]bool)
	for _, scope := range c.feed.Scopes() {
		switch {
		case c.feed.feeds(scope) && scope.vacated && !c.list.compareContents && feed.IsOlder(c.version, scope.reached()):
			return feed.ErrOutdated // it must be listed
		case !c.feed.feeds(scope), !c.list.compareContents && scope.isListed() && feed.IsOlder(c.version, scope.reached()):
		case !c.list.compareContents && feed.IsOlder(c.version, scope.minVersion):
			return feed.ErrOutdated
		default:
			c.scopes[scope] = true
		}
	}
	if c.list.compareContents && c.wasUndone(c.feed, c.version) {
		c.noteRestore(c.feed, slices.Collect(maps.Keys(c.scopes)), c.version)
	}
	for scope := range c.scopes {
		scope.needsRelist = false
	}
	return nil
}

// steps yields what to do for each key: the list's states that could not be stored, then the
// entries that the list lacks, then those that it has, in list order.
func (c *commit) steps(view entryView) iter.Seq[func()] {
	return func(yield func(func()) bool) {
		gone := c.keysFrom(view) // before anything is written
		if c.list != nil {
			for key := range c.list.rejected {
				if !yield(func() { c.settleFailure(key) }) {
					return
				}
			}
		}
		for _, keys := range gone {
			for key := range keys {
				isGone := c.list == nil || c.list.next.entries.Get(key) == nil
				if isGone && !yield(func() { c.process(key, false) }) {
					return
				}
			}
		}
		if c.list == nil {
			return
		}
		for key, made := range c.candidates() {
			if !yield(func() { c.process(key, made) }) {
				return
			}
		}
	}
}

// entryView is a view of a state's entries.
type entryView = snapmap.View[valueRef, entryMeta]

// keysFrom returns the keys of the entries that the commit may replace. It is called before the
// commit has written into its fork: what is written later is written to copies of these sets.
func (c *commit) keysFrom(view entryView) (all []iter.Seq[string]) {
	if c.scopes == nil {
		return []iter.Seq[string]{func(yield func(string) bool) {
			view.All()(func(key string, _ snapmap.Item[valueRef, entryMeta]) bool { return yield(key) })
		}}
	}
	for scope := range c.scopes {
		if keys := c.next.indexes.ofScope(scope); keys != nil {
			all = append(all, keys.All())
		}
	}
	return all
}

// candidates yields each key of the list whose entry may differ from the live one once, and whether
// the entry was made for the list. If the live state has changed since Begin, or EmitUnchanged is
// set, these are all keys.
func (c *commit) candidates() iter.Seq2[string, bool] {
	r := c.list
	all := c.config.EmitUnchanged || c.scopes != nil
	c.withMu(func() { all = all || c.live.Load().writes != r.writes })
	return func(yield func(key string, made bool) bool) {
		seen := make(map[string]struct{})
		for _, key := range r.made {
			_, again := seen[key]
			if again || r.next.entries.Get(key) == nil { // removed from the list since
				continue
			}
			if !yield(key, true) {
				return
			}
			if all || r.repeats {
				seen[key] = struct{}{}
			}
		}
		if !all || len(seen) == r.next.entries.Len() { // all other entries are shared with the live state
			return
		}
		for key := range r.next.entries.All() {
			if _, again := seen[key]; !again && !yield(key, false) {
				return
			}
		}
	}
}

// replaces reports whether the commit replaces a live entry.
func (c *commit) replaces(old *Entry) bool { return c.scopes == nil || c.scopes[old.scope()] }

// process decides on a key by its live entry, the list's entry, its tombstone and its failure. made
// reports whether the list's entry was made for the list, and is not one of the live state at
// Begin.
func (c *commit) process(key string, made bool) {
	old := new(Entry).fromMap(c.entries.Item(key))
	var entry *Entry
	if c.list != nil {
		entry = new(Entry).fromMap(c.list.next.entries.Item(key))
	}
	switch {
	case entry != nil:
		c.putEntry(key, old, entry, made)
	case old == nil || !c.replaces(old):
	case c.scopes != nil && c.next.entries.Get(key) == nil: // see settleFailure
	case c.list == nil:
		c.removeWithScope(key, old)
	case c.list.unidentified && !c.list.isRefused(key, old):
		c.keep(key, old)
	default:
		c.remove(key, old)
	}
}

// isUnordered reports whether the list has a version that cannot be compared. Only versions of one
// object are compared then, and nothing is remembered of objects that are gone.
func (c *commit) isUnordered() bool { return c.list != nil && !feed.Reaches(c.version, c.version) }

// removeWithScope removes an entry whose scope is removed.
func (c *commit) removeWithScope(key string, old *Entry) {
	version := old.serverVersion()
	c.withMu(func() { c.record(&tombstone{key: key, version: version, shown: version}, old.scope()) })
	c.drop(Change{Key: key, Old: old})
}

// keep keeps an entry that the list lacks, as an item that cannot be identified may be its
// object. A restore of the server has undone a version that is newer than the list's: it is
// forgotten.
func (c *commit) keep(key string, old *Entry) {
	kept := *old
	kept.forgetVersion(identityOf("", c.version))
	if c.scopes == nil {
		c.list.next.put(key, &kept)
		c.kept[key] = true
	} else if kept != *old {
		c.place(key, &kept)
	}
}

// remove removes an entry that the list lacks.
func (c *commit) remove(key string, old *Entry) {
	refused := c.list.isRefused(key, old)
	change := Change{Key: key, Old: old, Initial: c.isInitial(old.scope()), LeftScope: refused}
	version := old.serverVersion()
	if c.scopes == nil || feed.IsOlder(c.version, version) { // or undone by a restore, after which any older state may exist
		c.drop(change)
		return
	}
	scope := old.scope()
	c.withMu(func() {
		if !c.isUnordered() {
			c.record(&tombstone{key: key, version: version, last: true, shown: c.version}, scope)
		}
		if !refused && !old.common().written { // the server may never have had one that the program wrote
			c.tombstones.noteDeleted(key, scope, c.config.Now)
		}
	})
	c.drop(change)
}

// drop removes an entry from the next state.
func (c *commit) drop(change Change) {
	if c.exist {
		change.Final, change.LeftScope = change.Old, true
	}
	c.place(change.Key, nil)
	c.gone = append(c.gone, change)
}

// putEntry puts the list's entry of a key into the next state, unless the rules of doc.go say that
// the list's state is not the newest.
func (c *commit) putEntry(key string, old, entry *Entry, made bool) {
	own := old != nil && c.replaces(old)
	if c.scopes != nil {
		if !c.scopes[entry.scope()] {
			return
		}
		id := entry.identity()
		state := passed{scope: entry.scope(), key: key, id: id, version: id.versionText(), list: c.version, unordered: c.isUnordered(), own: own}
		if !c.kept[key] && c.judge(state, old) == superseded {
			return
		}
		c.withMu(func() { c.tombstones.forgetDeleted(key) })
		if set := c.next.indexes.set; entry.lacksIndexOf(set) {
			c.addIndexValues(set, key, entry)
		}
	}
	if old != nil && c.sameState(key, old, entry, made) {
		if *old != *entry {
			c.place(key, entry)
		}
		if c.config.EmitUnchanged {
			c.put = append(c.put, Change{Key: key, Old: old, New: entry})
		}
		return
	}
	c.place(key, entry)
	initial := c.isInitial(entry.scope())
	if old != nil && !old.sameObject(entry.identity()) {
		c.gone = append(c.gone, Change{Key: key, Old: old, Initial: initial, LeftScope: c.list.isRefused(key, old)})
		old = nil
	}
	c.put = append(c.put, Change{Key: key, Old: old, New: entry, Initial: initial})
}

// place puts an entry into the next state, or removes that one if entry is nil, unless the next
// state is the list.
func (c *commit) place(key string, entry *Entry) {
	if c.scopes != nil {
		c.placed = append(c.placed, placed{key, entry})
	}
}

// isInitial reports whether changes of the entries of a scope are part of its first list or, if
// scope is nil, of the first full state of the store. A write of the program into the store of an
// informer is not.
func (c *commit) isInitial(scope *Scope) bool {
	switch {
	case c.feed == nil:
		return !c.isFed() && c.synced.Load() == nil
	case scope == nil:
		return c.synced.Load() == nil
	}
	return !scope.isListed()
}

// sameState reports whether entry is the same state of its object as old, the live entry. made
// reports whether entry was made for the replacement. Values are compared, and not index values,
// which change if an index was added since Begin.
func (c *commit) sameState(key string, old, entry *Entry, made bool) bool {
	if c.list.compareContents || !made && old.ref == entry.ref {
		return old.ref == entry.ref
	}
	return old.sameVersion(entry.identity()) && c.isRepair(key, old, entry)
}

// settleFailure handles a state of the list that could not be stored, or is ignored. If it is the
// newest of its key, the live entry is kept, moved or removed as in decideFailure.
func (c *commit) settleFailure(key string) {
	r := c.list
	if r == nil {
		return
	}
	f, rejected := r.rejected[key]
	if !rejected {
		return
	}
	old := new(Entry).fromMap(c.entries.Item(key))
	id := identityOf("", f.version)
	id.uid = f.uid
	if c.scopes != nil {
		if !c.scopes[f.scope] {
			return
		}
		own := old != nil && c.replaces(old)
		if c.judge(passed{scope: f.scope, key: key, id: id, version: f.version, list: c.version, unordered: c.isUnordered(), own: own}, old) == superseded {
			return
		}
	}
	c.failed[key] = f
	at, kept := c.lastGood(key, old, id)
	if kept == nil {
		if c.scopes != nil && old != nil && !old.sameObject(id) {
			c.drop(Change{Key: key, Old: old, Initial: c.isInitial(old.scope())})
			c.writeFork() // process looks whether the fork has the entry
		}
		return
	}
	entry := *kept
	if f.skipped() || f.scope != nil { // the states of other scopes are compared with the entry
		entry.forgetVersion(id)
	}
	if f.skipped() {
		r.record(at, false)
	}
	r.next.put(at, &entry)
	c.kept[at] = true
}

// lastGood returns the live entry of the object of a rejected state, nil if there is none or the
// list has another state under its key, and its key: a transform may have renamed the object.
func (c *commit) lastGood(key string, old *Entry, id identity) (at string, kept *Entry) {
	if c.renames.Load() && id.uid != 0 && (old == nil || old.uid != id.uid) {
		for other, item := range c.entries.All() {
			if item.Meta.uid == id.uid {
				key, old = other, new(Entry).fromMap(item)
				break
			}
		}
	}
	if old == nil || !old.sameObject(id) || c.list.next.entries.Get(key) != nil {
		return key, nil
	}
	return key, old
}

// resolved returns the quarantined keys to release, of those that failed in scopes of the commit:
// all but those whose live entry the list keeps and a reader found unreadable after it was added.
func (c *commit) resolved() (keys []string) {
	if c.list == nil {
		return nil
	}
	for key, f := range c.quarantine.failures() {
		old, entry := new(Entry).fromMap(c.entries.Item(key)), new(Entry).fromMap(c.list.next.entries.Item(key))
		if c.scopes != nil && f.scope != nil && !c.scopes[f.scope] {
			if entry != nil && c.next.entries.Get(key) == entry.ref && !feed.IsOlder(entry.identity().versionText(), f.version) {
				keys = append(keys, key) // another object has the key
			}
			continue
		}
		if isKept := c.list.unidentified && entry == nil && old != nil && c.next.entries.Get(key) != nil; isKept {
			continue
		}
		_, recovered := c.list.recovered[key]
		if recovered || entry == nil || old == nil || !c.sameState(key, old, entry, false) {
			keys = append(keys, key)
		}
	}
	return keys
}

// publish makes the next state live, releases the resolved keys, and appends the changes to the
// log, before the version is reached: a caller that waits for that reads nothing older. The listing
// changes in the same step: at an addition after the swap, so that a reader that takes a scope for
// listed finds its entries, and before the log, so that a handler reads what it has received; at a
// removal before the swap, so that a reader that misses an entry finds the error. The caller holds
// the writer's lock. It holds mu for O(resolved keys and scopes).
func (c *commit) publish(resolved []string) {
	changes := c.put
	if len(c.gone) > 0 {
		changes = append(c.gone, c.put...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.absence != nil {
		c.beginAbsence(*c.absence)
	}
	if c.list == nil {
		c.beginListing()
	}
	live := c.live.Load()
	c.next.version, c.next.writes = live.version, live.writes+1
	c.swap(c.next)
	for _, key := range resolved { // after the swap: Find takes no lock
		if f, failed := c.failed[key]; !failed || f.skipped() {
			c.quarantine.release(key)
		}
	}
	if c.feed != nil {
		c.beginListing()
	}
	if c.config.Log != nil && (len(changes) > 0 || c.list != nil) {
		c.config.Log.Append(changes)
	}
	c.advance()
	if c.list != nil {
		c.list.changed = changes
	}
}

// beginListing begins a listing that has the scopes of the list or, if the commit removes scopes,
// lacks those, unless the listing would be the same. The caller holds both locks.
func (c *commit) beginListing() {
	next, begins := c.listing.Load()+1, false
	scopes := maps.Keys(c.scopes)
	if c.scopes == nil {
		scopes = slices.Values(c.feed.Scopes())
	}
	for scope := range scopes {
		since := &scope.listed
		if c.list == nil {
			since = &scope.removed
		}
		begins = since.CompareAndSwap(0, next) || begins
	}
	if begins {
		c.listing.Store(next)
	}
}

// quarantineFailed quarantines the keys whose newest states could not be stored. The caller holds
// the writer's lock.
func (c *commit) quarantineFailed() {
	if c.list == nil {
		return
	}
	for key, f := range c.failed {
		if f.scope != nil && !c.isUnordered() {
			c.withMu(func() { c.record(&tombstone{key: key, version: f.version, shown: f.version}, f.scope) })
		}
		if !f.skipped() {
			c.quarantine.add(key, f)
		}
	}
	if c.scopes == nil {
		c.quarantine.setUnnamed(nil, c.list.unnamed)
	}
	unnamed := c.list.unnamed
	for scope := range c.scopes {
		c.quarantine.setUnnamed(scope, unnamed)
		unnamed = 0
	}
}

// advance records that the scopes have reached the list's version, or are removed. The caller holds
// both locks.
func (c *commit) advance() {
	switch {
	case c.list == nil:
		c.forgetScopes()
	case c.feed == nil:
		if !c.isFed() { // otherwise the version says what the server has sent
			c.live.Load().version = c.version
			c.markSynced()
		}
		return
	default:
		c.feed.progress.version = c.version
		for _, scope := range c.feed.Scopes() {
			if c.scopes == nil || c.scopes[scope] {
				scope.version, scope.vacated = "", false // the version is that of the feed
			}
		}
		c.feed.vacations = c.vacations
		c.endAbsence()
		if c.scopes == nil {
			c.markSynced()
		}
	}
	c.Store.scopes.oldest = nil
	c.settle()
}

// forgetScopes removes the scopes of the commit from the store. The caller holds both locks.
func (c *commit) forgetScopes() {
	gone := slices.Collect(maps.Keys(c.scopes))
	c.Store.scopes.forget(gone)
	c.quarantine.releaseScopes(func(scope *Scope) bool { return scope != nil && scope.isRemoved() })
	c.endAbsence()
}

// Vacate removes every entry, as the server no longer serves the collection; see doc.go. If why is
// nil, the objects are gone. Otherwise they may exist, and why is the error of reads. The deletions
// are one batch of the log.
//
// It does nothing, and returns false, if ctx has ended, as the server serves the collection again,
// or if a scope has been listed, and confirmed is false: a list proves that the server serves the
// collection.
func (s *Store) Vacate(ctx context.Context, why error, confirmed bool) bool {
	s.lockCommit()
	defer s.unlockCommit()
	if _, listed := s.Listed(); ctx.Err() != nil || listed && !confirmed {
		return false
	}
	if s.Len() > 0 || !s.quarantine.isEmpty() {
		c := &commit{Store: s, list: s.begin(nil, s.deferReport), exist: why != nil, absence: &why}
		c.replaceAll()
		c.quarantine.releaseScopes(func(*Scope) bool { return true }) // after it: a reader of a key that was quarantined must find the error
	} else {
		s.withMu(func() { s.beginAbsence(why) })
	}
	s.withMu(s.wakeAll)
	return true
}
