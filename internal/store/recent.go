// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import "weak"

// maxRecent is how many of the newest changes keep the decoded value of a packed entry alive.
const maxRecent = 1000

// recentValues keeps the values that were decoded for the newest events of a store that packs, so that
// handlers that follow soon find them decoded. The log holds them, in the entryPair of a change, and
// so drops each once all handlers have passed it; recentValues drops those that are older.
type recentValues[V any] struct {
	pairs [maxRecent]weak.Pointer[entryPair[V]]
	next  int // index of the oldest
}

// keep keeps the value of a pair's next entry, if it was decoded. The caller holds the writer's lock, and
// has not published the pair, which may be nil.
func (r *recentValues[V]) keep(pair *entryPair[V]) {
	if pair == nil || pair.next.ref == nil {
		return
	}
	handle := packedOf(pair.next.ref).live.Load()
	if handle == nil || handle == &notPacked {
		return
	}
	pair.decoded.Store(handle.object.Value())
	if oldest := r.pairs[r.next].Value(); oldest != nil {
		oldest.decoded.Store(nil)
	}
	r.pairs[r.next] = weak.Make(pair)
	r.next = (r.next + 1) % maxRecent
}
