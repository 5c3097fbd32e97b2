// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"maps"
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
	waiting *waitingDeletion
}

// waitingDeletion is the deletion of an object that may have moved to another scope; see doc.go.
type waitingDeletion struct {
	version string
	scope   *Scope
	object  shortIdentity
	final   *Entry // nil if unknown
}

// tombstones has the tombstones of a store. It is guarded by mu and written under both locks.
type tombstones struct {
	byKey    map[string]*tombstone // the newest of each key
	unseen   []*tombstone          // in the order in which they were recorded; those that byKey lacks are dead
	waiting  int                   // how many of byKey have a waiting deletion
	released []waitingKey          // waiting deletions to look at again, as a scope that they waited for was removed

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
	if known := g.byKey[t.key]; known != nil {
		if known.supersedes(t.version) {
			return
		}
		t.waiting = known.waiting
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
	g.drop(t)
}

// drop removes a tombstone from byKey, unless it has a waiting deletion.
func (g *tombstones) drop(t *tombstone) {
	if g.byKey[t.key] != t {
		return
	}
	if t.waiting != nil {
		g.put(&tombstone{key: t.key, waiting: t.waiting})
		return
	}
	delete(g.byKey, t.key)
}

// expire forgets the tombstones that every scope has passed, in the order in which they were
// recorded. The caller holds both locks.
func (g *tombstones) expire(k *scopes) {
	n := 0
	for n < len(g.unseen) && k.havePassed(g.unseen[n].shown) {
		g.drop(g.unseen[n])
		g.unseen[n] = nil // frees the memory
		n++
	}
	if g.unseen = g.unseen[n:]; len(g.unseen) == 0 {
		g.unseen = nil
	}
}

// forgetUndone forgets tombstones of versions after that to which the server was restored. Waiting
// deletions in listed scopes no longer wait, as the lists show what was deleted. Those in scopes
// that were removed are let go: no list of such a scope follows. The caller holds both locks.
func (g *tombstones) forgetUndone(listed []*Scope, version string) {
	for _, t := range slices.Collect(maps.Values(g.byKey)) {
		if w := t.waiting; w != nil && slices.Contains(listed, w.scope) {
			g.stopWaiting(t)
		} else if w != nil && w.scope.isRemoved() && feed.IsOlder(version, w.version) {
			w.version = "" // every scope has reached it
			g.released = append(g.released, waitingKey{t.key, ""})
		}
		if feed.IsOlder(version, t.shown) {
			g.drop(t)
		}
	}
	g.unseen = slices.DeleteFunc(g.unseen, func(t *tombstone) bool { return g.byKey[t.key] != t })
}

// stopWaiting drops the waiting deletion of a tombstone. The caller holds both locks.
func (g *tombstones) stopWaiting(t *tombstone) {
	t.waiting = nil
	g.waiting--
	if t.version == "" {
		delete(g.byKey, t.key)
	}
}

// cancel drops the waiting deletion of a key, if there is one. The caller holds both locks.
func (g *tombstones) cancel(key string) {
	if g.waitingAt(key) != nil {
		g.stopWaiting(g.byKey[key])
	}
}

// isWaiting reports whether the deletion of a key's entry waits. The caller holds a lock.
func (g *tombstones) isWaiting(key string, old *Entry) bool {
	w := g.waitingAt(key)
	return w != nil && w.scope == old.scope() && w.object == old.shortIdentity
}

// waitingAt returns the deletion that waits at a key, of its entry or of an earlier one, or nil.
// The caller holds a lock.
func (g *tombstones) waitingAt(key string) *waitingDeletion {
	if t := g.byKey[key]; t != nil {
		return t.waiting
	}
	return nil
}

// block makes a waiting deletion wait for one scope, and reports whether it must wait. The caller
// holds both locks.
func block(k *scopes, t *tombstone) bool {
	w := t.waiting
	other := k.mayHaveMovedTo(w.scope, t.key, w.version)
	if other != nil {
		other.waiting = append(other.waiting, waitingKey{t.key, w.version})
	}
	return other != nil
}

// dequeue removes the deletions that no longer wait for a scope from its queue, and returns them,
// the oldest first. The caller holds both locks.
func (g *tombstones) dequeue(c *Scope) (released []waitingKey) {
	n := 0
	for _, w := range c.waiting {
		t := g.byKey[w.key]
		waits := t != nil && t.waiting != nil && t.waiting.version == w.version
		if waits && !c.retiring && !c.hasReached(w.version) {
			break
		}
		n++
	}
	released, c.waiting = c.waiting[:n:n], c.waiting[n:]
	if len(c.waiting) == 0 {
		c.waiting = nil // frees the memory
	}
	return released
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
