package informer

import "github.com/kinformer/kinformer/internal/store"

// join makes one change of two that follow each other on one key, in first, or tells
// that they must both be told.
func (h *Handler[V]) join(first, second *store.Change[V]) bool {
	switch {
	case h.config.OnKey != nil:
		return true
	case first.New == nil: // what comes after a deletion is another object's
		return false
	case first.Old == nil && (second.New == nil || h.beginsDeletion(first, second)):
		return false
	case second.New == nil && second.Final == nil: // found out by a list: what is known last is the state before
		first.Final = second.Old
	}
	if second.Final != nil {
		first.Final = second.Final
	}
	first.New = second.New
	return true
}

// beginsDeletion tells whether deletionTimestamp appears between an object's addition
// and an update of it. Those who count what they have created wait for both.
func (h *Handler[V]) beginsDeletion(first, second *store.Change[V]) bool {
	return h.deleting(second.New) && !h.deleting(first.New)
}

// deleting tells whether an entry's object has a deletionTimestamp. One that cannot be
// decoded has none. That is not reported: the handler's lock is held, and who hears of an
// error may stop the handler.
func (h *Handler[V]) deleting(entry *store.Entry[V]) bool {
	if h.informer.deleting == nil {
		return false
	}
	value, ok := h.informer.store.TryLoad(entry)
	return ok && h.informer.deleting(value)
}
