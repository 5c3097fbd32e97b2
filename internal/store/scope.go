// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// Scope is a part of a store's collection that is listed and watched on its own, by one Feed or,
// for a while, by two. The scopes of a store are disjoint: an object is in one of them at a time.
// Its key may appear in two. An object that was deleted and recreated, or whose labels have
// changed, may be in another scope than before, and the feed of one scope may be ahead of that of
// the other. So an entry belongs to its key, UID and scope:
//
//   - A deletion, a list or the removal of a scope affects the entries of that scope alone.
//   - Of two states of a key in two scopes, the one with the higher resourceVersion is stored, unless
//     a list that is not older has the other: a restore of the server has then undone the higher one.
//   - A state that is older than a deletion of its key in another scope is not stored, unless it is
//     the next one of the scope's own entry.
//   - A state that cannot be stored, or is ignored, belongs to its key and scope, too. The last good
//     entry moves to the scope with it, and older states of other scopes are not stored.
//   - A deletion in a scope that an object can leave alive waits until the scopes in which the
//     object may be now have reached the deletion's version.
//
// The zero Scope has the items of its feed.
type Scope struct {
	// First and Last are the lowest and the highest hash of the scope's items; see Locate. They are
	// zero if its feeds do not hash items.
	First, Last uint64
	// MayHold, if set, reports whether objects with a key may be in the scope.
	MayHold func(key string) bool

	// The fields below are guarded by the store's mu, and written under both of its locks.
	version  string            // that the scope has reached by lists, and by feeds that it no longer has
	feeds    []*progress       // of the feeds that it has
	synced   bool              // a list was committed
	floor    string            // its first list, of which it has the feed, is not older
	objects  int               // number of entries
	retiring bool              // see RetireScope
	removed  bool              // see RemoveScope
	restores uint64            // how many restores of the server were known when it was last listed after one
	suspect  bool              // the store may lack states of it, since the server was restored
	keysWith []*Scope          // the scopes that may hold the same keys
	movesTo  []*Scope          // those into which an object can move
	blocks   []blockedDeletion // the deletions that wait for the scope; see settleMoves
}

// progress is the version that a feed has reached.
type progress struct {
	version string // guarded by the store's mu
}

// scopes is the set of a store's scopes. It is guarded by mu and written under both locks.
type scopes[V any] struct {
	held    []*Scope
	stalest *Scope                        // the synced scope with the lowest version, nil if it must be found
	moves   map[string]pendingDeletion[V] // by key
	free    []blockedDeletion             // of moves, whose scope was removed
	past    map[string]*pastDeletion      // the latest by key
	expiry  []*pastDeletion               // of past
	left    string                        // the latest version that a removed scope had reached

	restores uint64 // how many restores of the server feeds have noticed
}

// AddScope adds a scope. For each other scope, related reports whether the two may hold the same
// key, one after the other, and whether an object can move between them.
func (s *Store[V]) AddScope(scope *Scope, related func(other *Scope) (keys, moves bool)) {
	s.lockForScopes()
	defer s.unlockForScopes()
	for _, other := range s.scopes.held {
		keys, moves := related(other)
		if keys {
			scope.keysWith, other.keysWith = append(scope.keysWith, other), append(other.keysWith, scope)
		}
		if moves {
			scope.movesTo, other.movesTo = append(scope.movesTo, other), append(other.movesTo, scope)
		}
	}
	scope.restores = s.scopes.restores
	s.scopes.held = append(s.scopes.held, scope)
}

// RetireScope makes a scope retire: other scopes take its objects over, and none of their entries
// moves into it.
func (s *Store[V]) RetireScope(scope *Scope) {
	s.lockForScopes()
	defer s.unlockForScopes()
	scope.retiring = true
}

// LowestVersion returns the version that all of the scopes have reached.
func (s *Store[V]) LowestVersion(scopes []*Scope) (lowest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, scope := range scopes {
		if version := scope.reached(); i == 0 || feed.IsOlder(version, lowest) {
			lowest = version
		}
	}
	return lowest
}

// HaveReached reports whether scopes have been listed and have reached the version of another
// scope.
func (s *Store[V]) HaveReached(scopes []*Scope, other *Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := other.reached()
	return !slices.ContainsFunc(scopes, func(scope *Scope) bool { return !scope.hasReached(version, nil) })
}

// RemoveScope removes a scope that no longer has a feed, with its entries. Their deletions are one
// batch of the log. Entries whose deletion waits, as they may have moved to another scope, stay
// until it no longer does. exist reports whether the others exist: their deletions have LeftScope.
func (s *Store[V]) RemoveScope(scope *Scope, exist bool) {
	isIt := func(other *Scope) bool { return other == scope }
	s.writer.Lock()
	defer s.endWrite()
	keys := s.keysOf(s.live.Load(), isIt)
	s.mu.Lock()
	defer s.mu.Unlock()
	live := s.prepareChange("")
	passed := scope.passedBeside()
	var changes []Change[V]
	for _, key := range keys {
		old := new(Entry[V]).fromMap(live.entries.Item(key))
		if old.version > passed {
			s.recordPast(&pastDeletion{key: key, version: old.versionText(), scope: scope}, nil)
		}
		if s.keepWaiting(key, old) {
			continue
		}
		s.removeEntry(live, key, old)
		change := Change[V]{Key: key, Old: old}
		if exist {
			change.Final, change.LeftScope = old, true
		}
		changes = append(changes, change)
	}
	s.quarantine.releaseScope(scope)
	s.config.Log.Append(changes)
	s.scopes.held = slices.DeleteFunc(s.scopes.held, isIt)
	for _, other := range s.scopes.held {
		other.keysWith = slices.DeleteFunc(other.keysWith, isIt)
		other.movesTo = slices.DeleteFunc(other.movesTo, isIt)
	}
	s.keepPast(scope)
	scope.keysWith, scope.movesTo = nil, nil   // something may still refer to the scope itself
	scope.retiring, scope.removed = true, true // no deletion waits for it
	s.scopes.left = newer(s.scopes.left, scope.reached())
	s.scopes.free, scope.blocks = append(s.scopes.free, scope.blocks...), nil
	s.scopes.stalest = nil
	s.settleScopes(live)
}

// keysOf returns the keys of the entries whose scope matches. It reads every entry, unless the
// scopes have none. The caller holds the writer's lock.
func (s *Store[V]) keysOf(live *state[V], matches func(*Scope) bool) (keys []string) {
	n := 0
	for _, scope := range s.scopes.held {
		if matches(scope) {
			n += scope.objects
		}
	}
	if n == 0 {
		return nil
	}
	for key, item := range live.entries.All() {
		if scope := item.Meta.scope(); scope != nil && matches(scope) {
			keys = append(keys, key)
		}
	}
	return keys
}

// removeEntry removes an entry from the live state, without a change in the log. The caller holds
// both locks.
func (s *Store[V]) removeEntry(live *state[V], key string, old *Entry[V]) {
	live.entries.Delete(key)
	live.indexes.move(key, old, nil)
	s.recordReplaced(live, old, nil)
}

// putEntry puts an entry in place of old, which may be nil, without a change in the log. The caller
// holds both locks.
func (s *Store[V]) putEntry(live *state[V], key string, old, entry *Entry[V]) {
	live.entries.Put(key, entry.mapItem())
	live.indexes.move(key, old, entry)
	s.recordReplaced(live, old, entry)
}

// countScopes counts the entries of scopes after a change. The caller holds both locks.
func countScopes[V any](old, entry *Entry[V]) {
	if old != nil && old.scope() != nil {
		old.scope().objects--
	}
	if entry != nil && entry.scope() != nil {
		entry.scope().objects++
	}
}

// recountScopes counts the entries of scopes after the program has replaced them all. The caller
// holds both locks.
func (s *Store[V]) recountScopes() {
	if len(s.scopes.held) == 0 {
		return
	}
	for _, scope := range s.scopes.held {
		scope.objects = 0
	}
	for _, item := range s.entries.All() {
		if scope := item.Meta.scope(); scope != nil {
			scope.objects++
		}
	}
}

func (s *Store[V]) lockForScopes() {
	s.writer.Lock()
	s.mu.Lock()
}

func (s *Store[V]) unlockForScopes() {
	s.mu.Unlock()
	s.endWrite()
}

// MarkSynced records that the first full state has been stored: that of the scopes with which the
// informer started.
func (s *Store[V]) MarkSynced() {
	s.lockForScopes()
	defer s.unlockForScopes()
	if s.synced.Load() == nil {
		events := s.config.Log.Appended()
		s.synced.Store(&events)
		s.settleScopes(s.live.Load())
	}
}

// ScopeState is the condition of a scope.
type ScopeState struct {
	ResourceVersion string
	Synced          bool
	Objects         int
	Quarantined     int
	Unkeyed         int
}

// ScopeState returns the condition of a scope.
func (s *Store[V]) ScopeState(scope *Scope) ScopeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := ScopeState{ResourceVersion: scope.reached(), Synced: scope.synced, Objects: scope.objects}
	state.Quarantined, state.Unkeyed = s.quarantine.countsOf([]*Scope{scope})
	return state
}

// reached returns the version that the scope has reached. The caller holds mu.
func (c *Scope) reached() string {
	version := c.version
	for _, feed := range c.feeds {
		version = newer(version, feed.version)
	}
	return version
}

// hasReached reports whether the scope has reached a version. p, which may be nil, is the progress
// of a feed that has reached it. The caller holds mu.
func (c *Scope) hasReached(version string, p *progress) bool {
	switch {
	case version == "" || slices.Contains(c.feeds, p):
		return true
	case !c.synced:
		return false
	}
	return !feed.IsOlder(c.reached(), version)
}

// settleScopes applies the deletions that have waited for scopes to reach a version, and sets the
// version of the store. The caller holds both locks.
func (s *Store[V]) settleScopes(live *state[V]) {
	s.settleMoves(live)
	s.expirePast()
	if stalest := s.scopes.stalest; stalest != nil && stalest.reached() == live.version {
		return
	}
	s.scopes.stalest = s.findStalest()
	version := ""
	if s.scopes.stalest != nil {
		version = s.scopes.stalest.reached()
	}
	if version == live.version {
		return
	}
	live.version = version
	if current := s.current.Load(); current != nil {
		s.current.Store(&Snapshot[V]{current.snapshotData, version})
	}
}

// findStalest returns the scope with the lowest version. It returns nil before the first full state
// is complete, and if there are no scopes. A scope that was added later counts once it has synced.
func (s *Store[V]) findStalest() (stalest *Scope) {
	lowest, last := "", (*progress)(nil)
	for _, scope := range s.scopes.held {
		if scope.synced && len(scope.feeds) == 1 && scope.feeds[0] == last && !feed.IsOlder(last.version, scope.version) {
			continue // it has reached what a scope before has
		}
		version := scope.reached()
		switch {
		case !scope.synced && s.synced.Load() == nil:
			return nil
		case !scope.synced:
			continue
		case stalest == nil, feed.IsOlder(version, lowest):
			stalest, lowest = scope, version
		}
		if len(scope.feeds) == 1 && version == scope.feeds[0].version {
			last = scope.feeds[0]
		}
	}
	return stalest
}
