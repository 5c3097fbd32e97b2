// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import "github.com/kinformer/kinformer/internal/store"

// coalesce merges the second of two consecutive changes of one key into the first. It returns
// false if both must be delivered.
func (h *Handler[V]) coalesce(first, second *store.Change[V]) bool {
	switch {
	case h.config.OnKey != nil:
		first.Initial = first.Initial && second.Initial
		first.LeftScope = second.LeftScope
		return true
	case first.New == nil && second.New == nil && first.Old.IsSameObject(second.Old): // deleted again, not stored meanwhile
	case first.New == nil: // after a deletion, the key belongs to another object
		return false
	case first.Old == nil && (second.New == nil || h.beginsTermination(first, second)):
		return false
	case second.New == nil && second.Final == nil: // found by a list: the state before is the last known one
		first.Final = second.Old
	}
	if second.Final != nil {
		first.Final = second.Final
	}
	first.New, first.LeftScope = second.New, second.LeftScope
	return true
}

// beginsTermination reports whether deletionTimestamp is set between an object's addition and an
// update of it. A controller that counts the objects it has created needs both events.
func (h *Handler[V]) beginsTermination(first, second *store.Change[V]) bool {
	return h.terminating(second.New) && !h.terminating(first.New)
}

// terminating reports whether an entry's object has a deletionTimestamp. It returns false for an
// object that cannot be decoded, and does not report the error: the caller holds the handler's
// lock, and an error handler may stop the handler.
func (h *Handler[V]) terminating(entry *store.Entry[V]) bool {
	if h.informer.config.Terminating == nil {
		return false
	}
	value, ok := h.informer.store.TryLoad(entry)
	return ok && h.informer.config.Terminating(value)
}
