// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// A restore of the server from a backup is noticed by a list of scopes: it compares contents, as a
// consistent read does, and is older than what was reached when it began (pieces.beginList). Each
// restore that is noticed begins an epoch. The scopes that may hold the same keys, have a feed and
// were not listed in the epoch are outdated: their feeds list them, comparing contents. Those of
// other keys find out for themselves. A store of a whole collection has one feed, whose reflector
// notices a restore (package history), and none of this.

// noteRestore records that the server was restored to the version of the list. Versions after it
// were undone, or are used again: the store forgets what it knows of them. The caller holds both
// locks, and marks the scopes of the list as listed.
func (c *pieces) noteRestore() {
	k, isNoticed := &c.scopes, false // by another feed before
	for scope := range c.replaced {
		isNoticed = isNoticed || scope.epoch < k.epoch
	}
	if !isNoticed {
		k.epoch++
	}
	for _, scope := range k.held {
		if feed.IsOlder(c.version, scope.minVersion) {
			scope.minVersion = c.version
		}
		scope.outdated = scope.outdated || scope.epoch < k.epoch && scope.feed != nil && c.list.feed.sharesKeysWith(scope)
	}
	c.tombstones.byKey, c.tombstones.inOrder = nil, nil
	if feed.IsOlder(c.version, k.removedVersion) {
		k.removedVersion = c.version
	}
}

// isOutdated reports whether a scope must be listed, since the server was restored. The caller
// holds a lock of the store.
func (f *Feed) isOutdated() bool {
	return slices.ContainsFunc(f.Scopes(), func(c *Scope) bool { return c.outdated && f.feeds(c) })
}

// isBehind reports whether an earlier feed has brought a scope to a later version. The caller holds
// a lock of the store.
func (f *Feed) isBehind() bool {
	return slices.ContainsFunc(f.Scopes(), func(c *Scope) bool { return f.feeds(c) && feed.IsOlder(f.progress.version, c.reached()) })
}

// newestReached returns the latest version that scopes of a feed, others that may hold the same
// keys, or removed ones have reached. A consistent read that begins then, and is older, shows that
// the server was restored from a backup. It does not if another server, which lagged behind, had
// refused the previous request. The caller holds a lock of the store.
func (f *Feed) newestReached() string {
	newest := f.store.scopes.removedVersion
	for _, c := range f.store.scopes.held {
		if f.sharesKeysWith(c) || slices.Contains(f.Scopes(), c) {
			newest = newer(newest, c.reached())
		}
	}
	return newest
}
