// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"math"

	"github.com/kinformer/kinformer/internal/store"
)

const (
	// minCoalesceThreshold is the backlog, in events, above which changes are coalesced in a small
	// collection. In a large one it is twice the number of objects.
	minCoalesceThreshold = 10_000
	// minCompactInterval is the least number of events between two compactions of a backlog.
	minCompactInterval = 64
	// compactSliceSize is the number of changes that the compactor coalesces at a time for one
	// handler, whose goroutine waits meanwhile if its callback has returned.
	compactSliceSize = 1024

	noPosition = math.MaxUint64 // no log reaches it
)

// runCompactor runs the backlog compactor until ctx ends.
func (i *Informer) runCompactor(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.log.Alarm():
			i.compact()
		}
	}
}

// compact compacts the backlogs above the threshold, and sets the alarm for the next time.
func (i *Informer) compact() {
	threshold, next := i.threshold(), uint64(noPosition)
	// The events that a blocked handler keeps between two compactions must be few compared with
	// its backlog of two states per object.
	interval := max(1, min(threshold/8, max(minCompactInterval, uint64(i.store.Len())/8)))
	for _, h := range i.currentHandlers() {
		next = min(next, h.compact(threshold, interval))
	}
	i.log.AlarmAt(next)
}

// threshold returns the backlog, in events, above which changes are coalesced.
func (i *Informer) threshold() uint64 {
	if i.config.CoalesceThreshold > 0 {
		return i.config.CoalesceThreshold
	}
	return max(minCoalesceThreshold, 2*uint64(i.store.Len()))
}

// compact coalesces the handler's unread events, if there are more than threshold, up to the
// current end of the log. It returns the log length at which to call it again, which is interval
// events later while the handler is behind. Only the compactor calls it.
func (h *Handler) compact(threshold, interval uint64) uint64 {
	if h.config.EveryEvent && h.config.OnKey == nil {
		return noPosition
	}
	end := h.informer.log.Appended()
	for {
		if next, done := h.compactSlice(threshold, interval, end); done {
			return next
		}
	}
}

// compactSlice coalesces up to compactSliceSize events, under the handler's lock.
func (h *Handler) compactSlice(threshold, interval, end uint64) (next uint64, done bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cursor == nil {
		return noPosition, true
	}
	if at := h.position(); !h.compacting && at+threshold > end {
		return at + threshold, true
	}
	if !h.compacting {
		h.compacting = true
		if h.resync.snapshot != nil {
			h.resync.snapshot = nil
			h.resync.due.Store(true)
		}
	}
	for range compactSliceSize {
		if len(h.partialBatch) == 0 {
			changes, ok := h.cursor.TryNext()
			if !ok {
				break
			}
			h.partialBatch = changes
		}
		h.addToBacklog(&h.partialBatch[0], h.position())
		h.skipPartialBatch(1)
	}
	at := h.position()
	return at + interval, at >= end
}

// coalesce merges the second of two consecutive changes of one key into the first. It returns
// false if both must be delivered.
func (h *Handler) coalesce(first, second *store.Change) bool {
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
func (h *Handler) beginsTermination(first, second *store.Change) bool {
	return h.terminating(second.New) && !h.terminating(first.New)
}

// terminating reports whether an entry's object has a deletionTimestamp. It returns false for an
// object that cannot be decoded, and does not report the error: the caller holds the handler's
// lock, and an error handler may stop the handler.
func (h *Handler) terminating(entry *store.Entry) bool {
	if h.informer.config.Terminating == nil {
		return false
	}
	value, ok := h.informer.store.TryLoad(entry)
	return ok && h.informer.config.Terminating(value)
}
