// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/snapmap"
)

// pieces is a commit that publishes the list of scopes, or the removal of scopes, in pieces. A
// piece is up to Store.pieceSize writes under one hold of the writer's lock, removals first.
// Between two pieces, other scopes apply events, and readers have a part of the list. A list is
// refused before the first piece, or not at all, and the version of a scope advances after the last
// one. The lock of commits is held meanwhile: scopes, feeds and indexes stay.
type pieces struct {
	commit
	sets   []*snapmap.Set // the keys of the entries of the scopes before the first piece
	writes []write        // of the piece
	batch  []Change       // the first lists of scopes, which are logged at the end; later lists are logged by pieces
	// positions are those of the keys in batch. It is nil unless others have changed entries of
	// these scopes.
	positions map[string]int
}

func newPieces(of commit) *pieces {
	c := &pieces{commit: of}
	c.replaced = make(map[*Scope]bool)
	if slices.ContainsFunc(c.list.feed.Scopes(), (*Scope).isUnlisted) {
		c.batch = make([]Change, 0, c.list.next.entries.Len()) // to allocate it under the lock would take milliseconds
	}
	return c
}

// RemoveScopes removes scopes that no longer have a feed, with their entries. exist reports whether
// the objects exist: the deletions then have LeftScope.
func (s *Store) RemoveScopes(scopes []*Scope, exist bool) {
	c := &pieces{commit: commit{Store: s, exist: exist, replaced: make(map[*Scope]bool, len(scopes))}}
	for _, scope := range scopes {
		c.replaced[scope] = true
	}
	_ = c.run() // only a list can be too old
}

// RemovePendingScopes removes the scopes into which the program has written, that were not added,
// and that isHeld does not accept. It asks isHeld under the writer's lock: a write whose scope the
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

// run publishes the pieces, and then the version.
func (c *pieces) run() error {
	c.lockCommit()
	defer c.unlockCommit()
	if err := c.begin(); err != nil {
		return err
	}
	n := 0
	for key, made := range c.keys(c.before(), true) {
		if n++; n > c.pieceSize {
			c.publishPiece()
			c.pause(c.yield)
			n = 1
		}
		c.add(c.decide(key, made))
	}
	c.publishPiece()
	if c.list != nil && c.isOverwritten() {
		c.pause(func() {
			c.findPositions()
			c.yield()
		})
	}
	c.end()
	return nil
}

// pause calls a function without the writer's lock.
func (c *pieces) pause(between func()) {
	reports := c.endWriteSilently() // reported once the commit has released its locks
	between()
	c.writer.Lock()
	c.reports = reports
}

// begin finds the scopes to replace, and their keys.
func (c *pieces) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.beginListing(maps.Keys(c.replaced), func(c *Scope) *atomic.Uint64 { return &c.removed }) // before its first piece
	} else if err := c.beginList(); err != nil {
		return err
	}
	live := c.live.Load()
	for scope := range c.replaced {
		scope.committing = true
		if keys := live.indexes.ofScope(scope); keys != nil {
			c.sets = append(c.sets, keys)
		}
	}
	live.pages.Advance() // later writes change copies of these sets
	return nil
}

// beginList finds the scopes to replace: those of the feed, without listed ones that have reached a
// later version than the list's. It returns feed.ErrOutdated if the store was cleared since Begin,
// if one of the others has a later minVersion, or if any scope of the feed is outdated by a
// restore, or was cleared and is later than the list. A list that compares contents, as after a
// restore, replaces all scopes of the feed, and only Clear makes it outdated.
func (c *pieces) beginList() error {
	by, compares := c.list.feed, c.list.compareContents
	if c.list.clears != c.clears {
		return feed.ErrOutdated
	}
	for _, scope := range by.Scopes() {
		isOlder := feed.IsOlder(c.version, scope.reached())
		switch {
		case by.feeds(scope) && !compares && (scope.cleared && isOlder || scope.outdated):
			return feed.ErrOutdated // it must be listed again
		case !by.feeds(scope), !compares && scope.isListed() && isOlder:
		case !compares && feed.IsOlder(c.version, scope.minVersion):
			return feed.ErrOutdated
		default:
			c.replaced[scope] = true
		}
	}
	if compares && feed.IsOlder(c.version, c.list.reached) {
		c.noteRestore()
	}
	for scope := range c.replaced {
		scope.epoch, scope.outdated = c.scopes.epoch, false
	}
	return nil
}

// before yields the keys of the entries of the scopes before the first piece.
func (c *pieces) before() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, keys := range c.sets {
			for key := range keys.All() {
				if !yield(key) {
					return
				}
			}
		}
	}
}

// add adds a write to the piece, and its entry to the batch of a scope that was not listed.
func (c *pieces) add(w write) {
	entry := w.next
	if entry == nil && w.kind == nothing {
		entry = w.old
	}
	if entry != nil && entry.scope().isUnlisted() && c.replaced[entry.scope()] {
		c.batch = append(c.batch, Change{Key: w.key, New: entry, Initial: true})
	}
	if w.kind != nothing || w.unchanged || w.release != nil || w.failed != nil || w.tombstone != nil {
		c.writes = append(c.writes, w)
	}
}

// publishPiece makes the piece visible, and logs the changes of listed scopes.
func (c *pieces) publishPiece() {
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
	c.recordChanges(changes)
}

// end makes the scopes listed, or removes them. The changes of scopes that were not listed before
// are logged in the hold of mu that makes them listed.
func (c *pieces) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list != nil {
		c.updateBatch()
	}
	for scope := range c.replaced {
		scope.committing, scope.overwritten = false, nil
	}
	if c.list == nil {
		c.forget()
		return
	}
	c.recordChanges(c.batch)
	c.finish(maps.Keys(c.replaced), c.batch)
}

// recordChanges remembers changes for Replacement.Differs.
func (c *pieces) recordChanges(changes []Change) {
	if c.list != nil && c.list.compareContents {
		c.list.changed = append(c.list.changed, changes...)
	}
}

// isOverwritten reports whether others have changed entries of a first list. The caller holds the
// writer's lock.
func (c *pieces) isOverwritten() bool {
	for scope := range c.replaced {
		if len(scope.overwritten) > 0 {
			return true
		}
	}
	return false
}

// findPositions finds the keys in the batch, so that updateBatch takes no time for the others.
func (c *pieces) findPositions() {
	c.positions = make(map[string]int, len(c.batch))
	for i := range c.batch {
		c.positions[c.batch[i].Key] = i
	}
}

// updateBatch makes the batch that of the entries as they are now. The caller holds both locks.
func (c *pieces) updateBatch() {
	for scope := range c.replaced {
		for key := range scope.overwritten {
			entry := new(Entry).fromMap(c.entries.Item(key))
			i, known := c.positions[key]
			switch isNew := entry != nil && entry.scope().isUnlisted() && c.replaced[entry.scope()]; {
			case isNew && known:
				c.batch[i].New = entry
			case isNew:
				c.positions[key] = len(c.batch)
				c.batch = append(c.batch, Change{Key: key, New: entry, Initial: true})
			case known: // the last one takes its place
				last := len(c.batch) - 1
				c.batch[i], c.batch[last] = c.batch[last], Change{}
				c.positions[c.batch[i].Key] = i
				c.batch = c.batch[:last]
				delete(c.positions, key)
			}
		}
	}
}

// forget removes the scopes from the store. The caller holds both locks.
func (c *pieces) forget() {
	c.scopes.forget(slices.Collect(maps.Keys(c.replaced)))
	c.quarantine.releaseScopes((*Scope).isRemoved)
	c.endAbsence()
	c.settle()
}
