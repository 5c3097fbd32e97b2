// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// tombstone records that states of a key before a version are superseded: by a deletion, or by a
// newer state that left the scope, could not be stored, or is ignored. Another scope that may hold
// the key, and has not reached the version, may still deliver such states: the tombstone is kept
// until all of these have reached it, unless there are too many (evictFirst) or the server is
// restored (noteRestore).
//
// No tombstone protects a name that is recreated in another range: the new state replaces the entry
// of the old scope, and handlers receive a deletion and an addition. The late deletion of the old
// object then finds the entry of another scope, leaves it, and at most records its own tombstone
// (package keep).
type tombstone struct {
	key     string
	version string // of a state or a deletion; a list that is not older shows it, or a later one
	lagging *Scope // one that may hold the key, and had not reached the version
}

// tombstones has the tombstones of a store. It is guarded by mu and written under both locks.
type tombstones struct {
	byKey   map[string]*tombstone // the newest of each key
	inOrder []*tombstone          // in the order in which they were recorded; those that byKey lacks are dead

	deleted map[string]time.Time // the keys whose deletion was seen, and when; see published.HasSeenDeletion
	expiry  []deletedKey         // of deleted, the oldest first
}

// deletedKey is a key whose deletion was seen.
type deletedKey struct {
	key string
	at  time.Time
}

const (
	// minTombstones is the number of tombstones that are kept for scopes that lag. A store with
	// more objects keeps as many tombstones as objects.
	minTombstones = 10_000
	// maxDeleted and deletedFor bound the keys that are kept to answer reads of deleted objects.
	maxDeleted = 100_000
	deletedFor = time.Hour
)

// isSuperseded reports whether a tombstone is newer than a state of its key. list is the version of
// the list that has the state, and empty for an event: a list that is not older than the tombstone
// shows that a restore of the server has undone it. The caller holds a lock of the store.
func (g *tombstones) isSuperseded(key, version, list string) bool {
	t := g.byKey[key]
	return t != nil && feed.IsOlder(version, t.version) && (list == "" || feed.IsOlder(list, t.version))
}

// record adds a tombstone of a state of a scope, if another scope may still deliver what it
// supersedes. If there are more than limit, it evicts the oldest ones. The caller holds both locks.
func (g *tombstones) record(t *tombstone, by *Scope, k *scopes, limit int) {
	if known := g.byKey[t.key]; t.version == "" || known != nil && feed.IsOlder(t.version, known.version) {
		return
	}
	if t.lagging = k.lagging(t, by); t.lagging == nil {
		return
	}
	if g.byKey == nil {
		g.byKey = make(map[string]*tombstone)
	}
	g.byKey[t.key] = t
	g.inOrder = append(g.inOrder, t)
	for len(g.inOrder) > limit && g.evictFirst(k) {
	}
}

// evictFirst drops the tombstone that was recorded first, and raises the minVersion of the scopes
// that may hold its key: older events that they have not delivered, and older lists, are outdated.
// It returns false if the list of one of them is being published, which is decided by
// tombstones. The caller holds both locks.
func (g *tombstones) evictFirst(k *scopes) bool {
	t := g.inOrder[0]
	if g.byKey[t.key] == t {
		for c := range k.holding(t.key) {
			if c.committing {
				return false
			}
		}
		for c := range k.holding(t.key) {
			c.minVersion = newer(c.minVersion, t.version)
		}
	}
	g.dropFirst()
	return true
}

// dropFirst drops the tombstone that was recorded first. The caller holds both locks.
func (g *tombstones) dropFirst() {
	if t := g.inOrder[0]; g.byKey[t.key] == t {
		delete(g.byKey, t.key)
	}
	g.inOrder[0] = nil // frees the memory
	if g.inOrder = g.inOrder[1:]; len(g.inOrder) == 0 {
		g.inOrder = nil
	}
}

// expire drops the tombstones that all scopes which may hold their keys have reached, in the order
// in which they were recorded. The caller holds both locks.
func (g *tombstones) expire(k *scopes) {
	for len(g.inOrder) > 0 {
		if t := g.inOrder[0]; g.byKey[t.key] == t {
			if t.lagging.isRemoved() || !t.lagging.lagsBehind(t.version) {
				t.lagging = k.lagging(t, nil)
			}
			if t.lagging != nil {
				return
			}
		}
		g.dropFirst()
	}
}

// lagging returns a scope that may hold the key of a tombstone and may deliver what it supersedes,
// nil if there is none. It ignores by, the scope that has delivered the tombstone's state. The
// caller holds a lock of the store.
func (k *scopes) lagging(t *tombstone, by *Scope) *Scope {
	if len(k.held) <= 1 && by != nil {
		return nil
	}
	for c := range k.holding(t.key) {
		if c != by && c.lagsBehind(t.version) {
			return c
		}
	}
	return nil
}

// lagsBehind reports whether a scope may deliver states from before a version. One that has neither
// a list nor a feed asks for its first list later, not older than what others have reached. The
// caller holds a lock of the store.
func (c *Scope) lagsBehind(version string) bool {
	reached := c.reached()
	if reached == "" && !c.isListed() {
		reached = c.minVersion // of the list that it may be receiving
		if c.feed == nil {
			return false
		}
	}
	return reached == "" || feed.IsOlder(reached, version)
}

// noteDeleted records, for HasSeenDeletion, that the object of a key was deleted in a scope. It
// does nothing unless the scope is a range of hashes of UIDs: only there may an absent object be in
// a range that no scope has. The caller holds both locks.
func (g *tombstones) noteDeleted(key string, c *Scope, clock func() time.Time) {
	if c.Name.Hash.Field != scope.UID || clock == nil {
		return
	}
	now := clock()
	if g.deleted == nil {
		g.deleted = make(map[string]time.Time)
	}
	g.deleted[key] = now
	g.expiry = append(g.expiry, deletedKey{key, now})
	n := 0
	for n < len(g.expiry) && (len(g.expiry)-n > maxDeleted || now.Sub(g.expiry[n].at) >= deletedFor) {
		if first := g.expiry[n]; g.deleted[first.key].Equal(first.at) {
			delete(g.deleted, first.key)
		}
		n++
	}
	g.expiry = g.expiry[n:]
}

// forgetDeleted drops what noteDeleted has recorded of a key. The caller holds both locks.
func (g *tombstones) forgetDeleted(key string) {
	if len(g.deleted) > 0 {
		delete(g.deleted, key)
	}
}
