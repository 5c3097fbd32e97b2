// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
)

// maxNewest is the number of unchanged objects that a replacement compares by content. If a restored
// server has used versions again, objects with these versions are among the newest that the store
// and the list share. One object would be enough, unless the same write was made again.
const maxNewest = 8

// newestItems holds the newest of the items of a list whose versions the store has. It is not safe
// for concurrent use.
type newestItems[V any] struct {
	items []newestItem[V] // at most maxNewest, the newest last
	bytes int             // total length of the items' Raw
}

// newestItem is an item whose version the store has, under key.
type newestItem[V any] struct {
	feed.Item // with either Object or Raw
	key       string
	value     *V // the decoded object, if it was needed to compute key; otherwise nil
	identity
}

// offer keeps the item, with a copy of its bytes, if it is one of the newest. It drops the oldest
// items so that at most maxNewest remain, of at most maxBytes in total, and reuses their memory.
// Items whose versions are not comparable are not kept.
func (n *newestItems[V]) offer(next newestItem[V], maxBytes int) {
	full := len(n.items) == maxNewest
	if maxBytes <= 0 || next.version >= textual && next.text == "" || full && !n.items[0].before(next.identity) || len(next.Raw) > maxBytes {
		return
	}
	var buffer []byte
	for full || n.bytes+len(next.Raw) > maxBytes {
		oldest := n.items[0]
		if !oldest.before(next.identity) {
			return
		}
		n.items, n.bytes = slices.Delete(n.items, 0, 1), n.bytes-len(oldest.Raw)
		buffer, full = oldest.Raw[:0], false
	}
	if len(next.Raw) > 0 {
		next.Raw, next.Object = append(buffer, next.Raw...), nil
	}
	n.bytes += len(next.Raw)
	i := slices.IndexFunc(n.items, func(kept newestItem[V]) bool { return next.before(kept.identity) })
	if i < 0 {
		i = len(n.items)
	}
	n.items = slices.Insert(n.items, i, next)
}

// checkNewest compares the newest unchanged items, transformed as they would be stored, with the
// live entries that the replacement keeps in their place. It returns feed.ErrVersionReused if one
// differs.
func (r *Replacement[V]) checkNewest() error {
	for _, items := range [][]newestItem[V]{r.newest.items, r.newestAdded.items} {
		for i := range items {
			if !r.matchesEntry(&items[i]) {
				return feed.ErrVersionReused
			}
		}
	}
	return nil
}

// matchesEntry reports whether an item has the contents of the replacement's entry for its key. It
// also returns true if they cannot be compared: the entry has another version, the item cannot be
// stored, or values of its type are not comparable.
func (r *Replacement[V]) matchesEntry(item *newestItem[V]) bool {
	var pair entryPair[V]
	kept := pair.old.fromMap(r.next.entries.Item(item.key))
	if kept == nil || kept.identity() != item.identity {
		return true
	}
	item.Key = item.key
	again := item.Item
	if item.Object != nil { // which a transform may change
		again.Object = item.Object.DeepCopyObject()
	}
	if r.store.makeUnindexed(&pair.next, &r.maker, item.Item, item.value, kept) != nil {
		return true
	}
	equal, err := r.store.compareValues(kept.ref, pair.next.ref)
	return equal || err != nil || item.value == nil && !r.makesEqual(&pair.next, again, kept)
}

// makesEqual reports whether an item makes an entry with the contents of next, as it did before. It
// does not if the transform depends on more than the object, such as the time.
func (r *Replacement[V]) makesEqual(next *Entry[V], item feed.Item, kept *Entry[V]) bool {
	var pair entryPair[V]
	if r.store.makeUnindexed(&pair.next, &r.maker, item, nil, kept) != nil {
		return false
	}
	equal, err := r.store.compareValues(next.ref, pair.next.ref)
	return equal && err == nil
}
