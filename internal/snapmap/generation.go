// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package snapmap

// Generation is the clock that a group of maps and sets shares: a store's entries and all of its
// indexes. Pages written under an older generation are immutable; the next write to one copies it.
//
// The zero value is ready to use. It is not safe for concurrent use: the caller serializes Advance
// with the writers of all maps and sets of the group.
type Generation struct {
	now uint64
}

// Advance makes the current pages of every map and set of the group immutable, in O(1). Views taken
// before the call do not change afterwards.
func (g *Generation) Advance() { g.now++ }
