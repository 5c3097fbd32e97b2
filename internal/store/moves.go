// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// pendingDeletion is the deletion of an object that may have moved to another scope. The server
// sends the same event for both.
type pendingDeletion[V any] struct {
	version string
	scope   *Scope
	object  identity
	final   *Entry[V] // nil if unknown
	movesTo []*Scope  // the scope's, if it was removed
}

// targets returns the scopes to which the object may have moved.
func (d pendingDeletion[V]) targets() []*Scope {
	if d.movesTo != nil {
		return d.movesTo
	}
	return d.scope.movesTo
}

// blockedDeletion is a pending deletion that waits for a scope to reach its version.
type blockedDeletion struct{ key, version string }

// isPending reports whether a deletion at version, of a key's entry of scope, must wait for other
// scopes. The caller holds mu.
func isPending(scope *Scope, key, version string, by *progress) bool {
	return blockerAmong(scope.movesTo, key, version, by) != nil
}

// blockerAmong returns a scope for which a deletion must wait, nil if there is none. The caller
// holds mu.
func blockerAmong(scopes []*Scope, key, version string, by *progress) *Scope {
	i := slices.IndexFunc(scopes, func(other *Scope) bool {
		return !other.retiring && other.mayHold(key) && !other.hasReached(version, by)
	})
	if i < 0 {
		return nil
	}
	return scopes[i]
}

func (c *Scope) mayHold(key string) bool { return c.MayHold == nil || c.MayHold(key) }

// deferMove makes the deletion of a key's entry wait until the object cannot be in another scope.
// The caller holds both locks.
func (s *Store[V]) deferMove(key, version string, old, final *Entry[V]) {
	if waiting, ok := s.scopes.moves[key]; ok && waiting.object == old.identity && waiting.scope == old.scope() {
		return
	}
	if s.scopes.moves == nil {
		s.scopes.moves = make(map[string]pendingDeletion[V])
	}
	s.scopes.moves[key] = pendingDeletion[V]{version: version, scope: old.scope(), object: old.identity, final: final}
	s.blockMove(key)
}

// blockMove makes the pending deletion of a key wait for one scope, and reports whether it must
// wait. The caller holds both locks.
func (s *Store[V]) blockMove(key string) bool {
	d := s.scopes.moves[key]
	blocker := blockerAmong(d.targets(), key, d.version, nil)
	if blocker != nil {
		blocker.blocks = append(blocker.blocks, blockedDeletion{key, d.version})
	}
	return blocker != nil
}

// keepWaiting lets the deletion of a key's entry wait although its scope is being removed, and
// reports whether there is such a deletion. The caller holds both locks.
func (s *Store[V]) keepWaiting(key string, old *Entry[V]) bool {
	d, waits := s.scopes.moves[key]
	if !waits || d.scope != old.scope() || d.object != old.identity {
		return false
	}
	d.movesTo = d.scope.movesTo
	s.scopes.moves[key] = d
	return true
}

// settleMoves applies the deletions that no longer wait for a scope. It drops a deletion whose
// object has moved, or has changed since. Each event of a scope looks only at the first deletion
// that waits for the scope, and at those that it lets go. The caller holds both locks.
func (s *Store[V]) settleMoves(live *state[V]) {
	if len(s.scopes.moves) == 0 {
		return
	}
	free := s.scopes.free
	s.scopes.free = nil
	for _, scope := range s.scopes.held {
		free = append(free, s.unblock(scope)...)
	}
	var changes []Change[V]
	for _, blocked := range free {
		changes = s.settleMove(live, blocked.key, changes)
	}
	if len(changes) > 0 {
		s.prepareChange("")
		s.config.Log.Append(changes)
	}
}

// unblock returns the deletions that no longer wait for a scope, in the order in which they have
// begun to. The caller holds both locks.
func (s *Store[V]) unblock(scope *Scope) (free []blockedDeletion) {
	n := 0
	for _, blocked := range scope.blocks {
		stale := s.scopes.moves[blocked.key].version != blocked.version
		if !stale && !scope.retiring && !scope.hasReached(blocked.version, nil) {
			break
		}
		n++
	}
	free, scope.blocks = scope.blocks[:n:n], scope.blocks[n:]
	if len(scope.blocks) == 0 {
		scope.blocks = nil // frees the memory
	}
	return free
}

// settleMove appends the change of a deletion that may no longer wait to changes. The caller holds
// both locks.
func (s *Store[V]) settleMove(live *state[V], key string, changes []Change[V]) []Change[V] {
	d, waits := s.scopes.moves[key]
	old := new(Entry[V]).fromMap(live.entries.Item(key))
	stands := waits && old != nil && old.scope() == d.scope && old.identity == d.object
	if stands && s.blockMove(key) {
		return changes
	}
	delete(s.scopes.moves, key)
	if !stands {
		return changes
	}
	s.removeEntry(live, key, old)
	return append(changes, Change[V]{Key: key, Old: old, Final: d.final})
}

// pastDeletion is a deletion whose version another scope, which may hold the same key, has not
// reached. That scope may still pass states of the key that are older than the deletion: they must
// not be stored. scopes.past has the latest one by key.
type pastDeletion struct {
	key     string
	version string
	last    bool // version is that of the last state before the deletion, whose own is not known
	scope   *Scope
	beside  []*Scope // the scope's keysWith, if it was removed
}

// others returns the scopes that may hold the same key.
func (d *pastDeletion) others() []*Scope {
	if d.beside != nil {
		return d.beside
	}
	return d.scope.keysWith
}

// precludes reports whether a state of the key at a version is one from before the deletion. One at
// the version of the deletion itself is not: the object has moved to another scope.
func (d *pastDeletion) precludes(version string) bool {
	return feed.IsOlder(version, d.version) || d.last && version == d.version
}

// mayPassOlder reports whether a scope may pass states of a key that are older than a deletion at a
// version. One without a feed does not: its first list will not be older than the scopes beside it.
// p, which may be nil, is the progress of a feed that has reached the version. The caller holds mu.
func (c *Scope) mayPassOlder(key, version string, p *progress) bool {
	switch {
	case c.removed || !c.mayHold(key) || c.hasReached(version, p):
		return false
	case c.synced:
		return true
	}
	return len(c.feeds) > 0 && (c.floor == "" || feed.IsOlder(c.floor, version))
}

// passedBeside returns the lowest version that a scope which may hold the same keys has reached. The
// caller holds mu.
func (c *Scope) passedBeside() uint64 {
	lowest := uint64(math.MaxUint64)
	for _, other := range c.keysWith {
		version := other.floor
		if other.synced {
			version = other.reached()
		}
		lowest = min(lowest, versionOf(version))
	}
	return lowest
}

// isAwaited reports whether a scope beside that of a deletion may pass older states. The caller
// holds mu.
func (d *pastDeletion) isAwaited(by *progress) bool {
	return slices.ContainsFunc(d.others(), func(other *Scope) bool { return other.mayPassOlder(d.key, d.version, by) })
}

// recordPast records a deletion, unless no scope that may hold the same key can pass older states.
// The caller holds both locks.
func (s *Store[V]) recordPast(d *pastDeletion, by *progress) {
	if d.version == "" || !d.isAwaited(by) {
		return
	}
	if s.scopes.past == nil {
		s.scopes.past = make(map[string]*pastDeletion)
	}
	if known := s.scopes.past[d.key]; known == nil || !known.precludes(d.version) {
		s.scopes.past[d.key] = d
	}
	s.scopes.expiry = append(s.scopes.expiry, d)
}

// isPast reports whether a state of a key is older than a deletion in another scope. The caller
// holds the writer's lock.
func (s *Store[V]) isPast(key, version string) bool {
	d := s.scopes.past[key]
	return d != nil && d.precludes(version)
}

// keepPast keeps the deletions in a scope that is being removed. The caller holds both locks.
func (s *Store[V]) keepPast(scope *Scope) {
	for _, d := range s.scopes.expiry {
		if d.scope == scope {
			d.beside = scope.keysWith
		}
	}
}

// expirePast forgets deletions that no scope awaits, in the order in which they were recorded. The
// caller holds both locks.
func (s *Store[V]) expirePast() {
	expiry := s.scopes.expiry
	for len(expiry) > 0 && !expiry[0].isAwaited(nil) {
		if s.scopes.past[expiry[0].key] == expiry[0] {
			delete(s.scopes.past, expiry[0].key)
		}
		expiry[0] = nil // frees the memory
		expiry = expiry[1:]
	}
	if len(expiry) == 0 {
		expiry = nil
	}
	s.scopes.expiry = expiry
}
