// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// noteRestore records that the server was restored from a backup to a version at which a feed has
// listed scopes. Versions after it were undone, or are used again: the store forgets what it knows
// of them, and other feeds of the scopes, which have not noticed, feed them no more. The caller
// holds both locks.
func (s *Store[V]) noteRestore(by *Feed[V], listed []*Scope, version string) {
	known := &s.scopes
	if !slices.ContainsFunc(listed, func(scope *Scope) bool { return scope.restores < known.restores }) {
		known.restores++ // otherwise another feed has noticed before
	}
	for _, scope := range listed {
		scope.restores, scope.feeds = known.restores, []*progress{&by.progress}
	}
	for _, scope := range known.held {
		if feed.IsOlder(version, scope.floor) {
			scope.floor = version
		}
		if scope.restores < known.restores && slices.ContainsFunc(listed, func(l *Scope) bool { return slices.Contains(l.keysWith, scope) }) {
			scope.suspect = true // an undone state of a listed scope may have replaced one of its states
		}
	}
	s.forgetUndoneDeletions(listed, version)
	if feed.IsOlder(version, known.left) {
		known.left = version
	}
}

// forgetUndoneDeletions forgets deletions after a version to which the server was restored. Those
// in listed scopes no longer wait, as the lists show what was deleted. Those in scopes that were
// removed are let go: no list of such a scope follows. The caller holds both locks.
func (s *Store[V]) forgetUndoneDeletions(listed []*Scope, version string) {
	known := &s.scopes
	isUndone := func(d *pastDeletion) bool { return feed.IsOlder(version, d.version) }
	maps.DeleteFunc(known.past, func(_ string, d *pastDeletion) bool { return isUndone(d) })
	known.expiry = slices.DeleteFunc(known.expiry, isUndone)
	maps.DeleteFunc(known.moves, func(_ string, d pendingDeletion[V]) bool { return slices.Contains(listed, d.scope) })
	for key, d := range known.moves {
		if d.scope.removed && feed.IsOlder(version, d.version) {
			d.movesTo = []*Scope{} // no move to another scope has this version any more
			known.moves[key], known.free = d, append(known.free, blockedDeletion{key, d.version})
		}
	}
}

// wasUndone reports whether a consistent read at a version shows that the server was restored from
// a backup: the listed scopes, or others that may hold the same keys, or removed ones, have reached
// a later version. It does not if another server, which lagged behind, had refused the previous
// request. The caller holds mu.
func (s *Store[V]) wasUndone(listed []*Scope, version string) bool {
	isLater := func(scope *Scope) bool { return feed.IsOlder(version, scope.reached()) }
	return feed.IsOlder(version, s.scopes.left) || slices.ContainsFunc(listed, func(scope *Scope) bool {
		return isLater(scope) || slices.ContainsFunc(scope.keysWith, isLater)
	})
}

// suspectIfUndone makes a scope be listed again, later on, if a state of it was not stored for the
// stored state of another scope that a restore of the server may have undone. The caller holds mu.
func (c *Scope) suspectIfUndone(stored *Scope) {
	if !c.retiring && stored != nil && stored.restores < c.restores {
		c.suspect = true
	}
}

// suspects returns the number of scopes that are suspect.
func (f *Feed[V]) suspects() (n int) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	for _, scope := range f.Scopes() {
		if scope.suspect {
			n++
		}
	}
	return n
}
