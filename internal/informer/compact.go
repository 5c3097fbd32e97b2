// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"math"
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
	// noPosition is a position that no log reaches.
	noPosition = math.MaxUint64
)

// runCompactor runs the backlog compactor until ctx ends. It also updates the handlers once the
// initial list is stored, because a handler without events to deliver does not notice that.
func (i *Informer[V]) runCompactor(ctx context.Context) {
	synced := i.reflector.Synced()
	for {
		select {
		case <-ctx.Done():
			return
		case <-synced:
			synced = nil
			for _, h := range i.currentHandlers() {
				h.checkSynced()
			}
		case <-i.log.Alarm():
			i.compact()
		}
	}
}

// compact compacts the backlogs above the threshold, and sets the alarm for the next time.
func (i *Informer[V]) compact() {
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
func (i *Informer[V]) threshold() uint64 {
	if i.config.CoalesceThreshold > 0 {
		return i.config.CoalesceThreshold
	}
	return max(minCoalesceThreshold, 2*uint64(i.store.Len()))
}

// compact coalesces the handler's unread events, if there are more than threshold, up to the
// current end of the log. It returns the log length at which to call it again, which is interval
// events later while the handler is behind. Only the compactor calls it.
func (h *Handler[V]) compact(threshold, interval uint64) uint64 {
	if !h.config.Delivery.coalesces() && h.config.OnKey == nil {
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
func (h *Handler[V]) compactSlice(threshold, interval, end uint64) (next uint64, done bool) {
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
		h.deferResync()
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
