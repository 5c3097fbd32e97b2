// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// Scope is a part of a store's collection that is listed and watched on its own, by one Feed at a
// time. doc.go tells its life.
type Scope struct {
	Name scope.Scope

	id      string // of the set of its keys, see indexes.scopes
	origins originMetas
	whole   bool // it is the only one, and its entries do not record it
	waiters waiters

	// The listings (see published.listing) from which on the scope is listed, and removed; 0 if it
	// is not. They are read without a lock, and written under both locks of the store.
	listed, removed atomic.Uint64

	// The fields below are guarded by the store's mu, and written under both of its locks.
	version     string              // that the scope has reached by feeds that it no longer has
	feed        *progress           // of the feed that it has, nil if it has none
	minVersion  string              // an older list of it is refused, and an older event that it has not passed; see Feed.NotOlderThan
	epoch       uint64              // that of the store when it was last listed
	outdated    bool                // it must be listed, as a scope that shares keys has noticed a restore of the server
	cleared     bool                // it has not been listed since Clear
	pending     bool                // it was not added, but the program has written into it
	committing  bool                // its list is being published, in pieces
	overwritten map[string]struct{} // keys of entries of it that others have changed while its first list is published
}

// progress is the version that a feed has reached.
type progress struct {
	version string // guarded by the store's mu, written under both locks
}

// scopes is the set of a store's scopes. It is guarded by mu and written under both locks.
type scopes struct {
	held           []*Scope
	byNamespace    map[string][]*Scope // those of one namespace, and under "" those of all
	last           int                 // how many scopes there have been
	oldest         *Scope              // the one that has the store's version; nil if it must be found
	removedVersion string              // the latest version that a removed scope had reached
	epoch          uint64              // how many restores of the server feeds have noticed
}

// AddScope adds a scope and returns it. If the program has written into a scope of the name, it is
// that one.
func (s *Store) AddScope(name scope.Scope) *Scope {
	s.lockScopes()
	defer s.unlockScopes()
	c := s.scopes.find(name, func(c *Scope) bool { return c.pending })
	if c == nil {
		c = s.scopes.add(&Scope{Name: name})
	}
	c.pending, c.cleared, c.epoch = false, false, s.scopes.epoch // reads do not wait for a scope that is added after Clear
	return c
}

// find returns the scope of a name that accept accepts, nil if there is none. The caller holds a
// lock of the store.
func (k *scopes) find(name scope.Scope, accept func(*Scope) bool) *Scope {
	i := slices.IndexFunc(k.byNamespace[name.Namespace], func(c *Scope) bool { return c.Name == name && accept(c) })
	if i < 0 {
		return nil
	}
	return k.byNamespace[name.Namespace][i]
}

// add adds a scope to the set and returns it. The caller holds both locks.
func (k *scopes) add(added *Scope) *Scope {
	k.last++
	added.id, added.origins = strconv.Itoa(k.last), originMetasOf(added)
	k.held = append(k.held, added)
	k.byNamespace[added.Name.Namespace] = append(k.byNamespace[added.Name.Namespace], added)
	k.oldest = nil
	return added
}

// forget removes scopes from the set, which the store no longer lists. The caller holds both locks.
func (k *scopes) forget(gone []*Scope) {
	for _, c := range gone {
		k.removedVersion = newer(k.removedVersion, c.reached())
	}
	isGone := (*Scope).isRemoved
	k.held = slices.DeleteFunc(k.held, isGone)
	namespaces := make(map[string]bool) // of gone; a visit of all would take a millisecond for 10,000
	for _, c := range gone {
		namespaces[c.Name.Namespace] = true
	}
	for namespace := range namespaces {
		if k.byNamespace[namespace] = slices.DeleteFunc(k.byNamespace[namespace], isGone); len(k.byNamespace[namespace]) == 0 {
			delete(k.byNamespace, namespace)
		}
	}
	k.oldest = nil
}

// holding yields the scopes that may hold an object with a key. The caller holds a lock of the
// store.
func (k *scopes) holding(key string) iter.Seq[*Scope] {
	return func(yield func(*Scope) bool) {
		namespace := namespaceOf(key)
		own := k.byNamespace[namespace]
		if namespace == "" {
			own = nil // only scopes of all namespaces have cluster-scoped objects
		}
		for _, scopes := range [...][]*Scope{k.byNamespace[""], own} {
			for _, c := range scopes {
				if c.Name.HasNamespace(namespace) && !yield(c) {
					return
				}
			}
		}
	}
}

// nameOf returns the name in a key.
func nameOf(key string) string { return key[strings.IndexByte(key, '/')+1:] }

// namespaceOf returns the namespace in a key, empty if it has none.
func namespaceOf(key string) string {
	namespace, _, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return ""
	}
	return namespace
}

// mark returns the scope that entries record, nil for that of a whole collection.
func (c *Scope) mark() *Scope {
	if c.whole {
		return nil
	}
	return c
}

// IsListedAt reports whether, at a listing, a list of the scope was committed and the scope was not
// removed; see Store.Listing.
func (c *Scope) IsListedAt(listing uint64) bool {
	removed := c.removed.Load()
	return c.wasListedAt(listing) && (removed == 0 || removed > listing)
}

// wasListedAt reports whether, at a listing, a list of the scope was committed.
func (c *Scope) wasListedAt(listing uint64) bool {
	listed := c.listed.Load()
	return listed != 0 && listed <= listing
}

// isUnlisted reports whether no list of a scope was committed. It returns false if c is nil, as in
// a store of a whole collection.
func (c *Scope) isUnlisted() bool { return c != nil && !c.isListed() }

// isListed reports whether a list of the scope was committed.
func (c *Scope) isListed() bool { return c.listed.Load() != 0 }

// isRemoved reports whether the scope was removed; see RemoveScopes.
func (c *Scope) isRemoved() bool { return c.removed.Load() != 0 }

// reached returns the version that the scope has reached. The caller holds a lock of the store.
func (c *Scope) reached() string {
	if c.feed == nil {
		return c.version
	}
	return newer(c.version, c.feed.version)
}

// findOldest finds the scope with the lowest version, whose version is that of the store: none
// before the first full state is complete, or without scopes. A scope that was added later counts
// once it is listed. isComplete reports whether the first full state is complete. The caller holds
// both locks.
func (k *scopes) findOldest(isComplete bool) {
	k.oldest = nil
	var last *progress
	lowest := ""
	for _, c := range k.held {
		steady := c.isListed() && c.feed != nil && !feed.IsOlder(c.feed.version, c.version)
		if steady && c.feed == last {
			continue // it has reached what a scope before has
		}
		version := c.reached()
		if steady {
			last = c.feed
		}
		switch {
		case c.isListed() || version != "":
			if k.oldest == nil || feed.IsOlder(version, lowest) {
				k.oldest, lowest = c, version
			}
		case !isComplete:
			k.oldest = nil
			return
		}
	}
}

// newer returns version, unless it is empty or known to be older than current. Versions that cannot
// be compared count as newer.
func newer(current, version string) string {
	if version == "" || feed.IsOlder(version, current) {
		return current
	}
	return version
}
