// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"time"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// tombstone records that states of a key before a version are superseded. A scope that has not
// reached the version shown may still pass such states; see doc.go.
type tombstone struct {
	key     string
	version string // states before it are superseded
	last    bool   // version is that of the last state before a deletion that a list has shown: it is superseded, too
	shown   string // the version from which on a list shows what has superseded the states
}

// tombstones has the tombstones of a store. It is guarded by mu and written under both locks.
type tombstones struct {
	byKey  map[string]*tombstone // the newest of each key
	unseen []*tombstone          // in the order in which they were recorded; those that byKey lacks are dead

	deleted map[string]time.Time // the keys whose deletion was seen, and when; see published.HasSeenDeletion
	expiry  []deletedKey         // of deleted, the oldest first
}

// deletedKey is a key whose deletion was seen.
type deletedKey struct {
	key string
	at  time.Time
}

const (
	// minUnseen is the number of tombstones that are kept for scopes that have not passed them, if
	// the store does not have more objects.
	minUnseen = 10_000
	// maxDeleted and deletedFor bound the keys that are kept to answer reads of deleted objects.
	maxDeleted = 100_000
	deletedFor = time.Hour
)

// supersedes reports whether a state of the key at a version is one from before. One at the version
// of a deletion is not: the object has moved to another scope.
func (t *tombstone) supersedes(version string) bool {
	return feed.IsOlder(version, t.version) || t.last && version == t.version
}

// isSuperseded reports whether a state of a key at a version is older than what is known of the
// key. A list, whose version is list, may show that a restore of the server has undone that; it is
// empty for the state of an event. The caller holds a lock of the store.
func (g *tombstones) isSuperseded(key, version, list string) bool {
	t := g.byKey[key]
	return t != nil && t.supersedes(version) && (list == "" || feed.IsOlder(list, t.shown))
}

// record adds a tombstone of a state of a scope, unless no other scope can pass what it supersedes.
// If there are more than limit, it drops the oldest. The caller holds both locks.
func (g *tombstones) record(t *tombstone, by *Scope, k *scopes, limit int) {
	if t.version == "" || k.havePassed(t.shown) || !k.hasPeer(by, t.key) {
		return
	}
	if known := g.byKey[t.key]; known != nil && known.supersedes(t.version) {
		return
	}
	g.put(t)
	g.unseen = append(g.unseen, t)
	if len(g.unseen) > limit {
		g.giveUp(g.unseen[0], k)
		g.unseen = g.unseen[1:]
	}
}

func (g *tombstones) put(t *tombstone) {
	if g.byKey == nil {
		g.byKey = make(map[string]*tombstone)
	}
	g.byKey[t.key] = t
}

// giveUp drops a tombstone, as there are too many. It raises minVersion of the scopes that may hold
// the key and have not passed it: they need a list that is not older. The caller holds both locks.
func (g *tombstones) giveUp(t *tombstone, k *scopes) {
	if g.byKey[t.key] != t {
		return
	}
	for c := range k.holding(t.key) {
		if feed.IsOlder(c.reached(), t.shown) || c.reached() == "" && len(c.feeds) > 0 {
			c.minVersion = newer(c.minVersion, t.shown)
		}
	}
	delete(g.byKey, t.key)
}

// expire forgets the tombstones that every scope has passed, in the order in which they were
// recorded. The caller holds both locks.
func (g *tombstones) expire(k *scopes) {
	n := 0
	for n < len(g.unseen) && k.havePassed(g.unseen[n].shown) {
		if t := g.unseen[n]; g.byKey[t.key] == t {
			delete(g.byKey, t.key)
		}
		g.unseen[n] = nil // frees the memory
		n++
	}
	if g.unseen = g.unseen[n:]; len(g.unseen) == 0 {
		g.unseen = nil
	}
}

// forgetUndone forgets tombstones of versions after that to which the server was restored. The
// caller holds both locks.
func (g *tombstones) forgetUndone(version string) {
	g.unseen = slices.DeleteFunc(g.unseen, func(t *tombstone) bool {
		if g.byKey[t.key] == t && feed.IsOlder(version, t.shown) {
			delete(g.byKey, t.key)
		}
		return g.byKey[t.key] != t
	})
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

// forgetDeleted records that a key has an object again, or one that exists has left the store. The
// caller holds both locks.
func (g *tombstones) forgetDeleted(key string) {
	if len(g.deleted) > 0 {
		delete(g.deleted, key)
	}
}
