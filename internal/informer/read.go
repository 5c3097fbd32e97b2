// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import "github.com/kinformer/kinformer/internal/store"

// read moves the next changes to deliver into batch. If there are none, it returns a channel that
// is closed once there are, or nil if the handler was canceled or a resync is next.
func (h *Handler) read() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cursor == nil {
		return nil
	}
	h.takeResyncSnapshot()
	if h.config.OnKey != nil {
		h.readKeys()
	} else {
		h.readChanges()
	}
	h.batchEnd = h.position()
	switch {
	case !h.backlog.empty():
		h.batchEnd = h.backlog.first.position
	case len(h.partialBatch) == 0: // the handler has caught up with the compactor
		h.compacting = false
	}
	if len(h.batch) == 0 {
		if h.resyncIsNext() {
			h.snapshot, h.resync.snapshot = h.resync.snapshot, nil
			return nil
		}
		h.lag.markCaughtUp()
		if cap(h.batch) > idleBatchSize {
			h.batch = nil
		}
		return h.cursor.Ready()
	}
	h.lag.markBehind(h.informer.log.Appended(), h.timer.begin) // begin returns the time: one read of the clock serves both
	return nil
}

// readChanges reads from the backlog, the partial batch or the log, in that order.
func (h *Handler) readChanges() {
	switch {
	case !h.backlog.empty():
		for len(h.batch) < h.informer.config.batchSize && !h.backlog.empty() {
			h.batch = append(h.batch, h.backlog.pop())
		}
	case len(h.partialBatch) > 0:
		h.readPartialBatch()
	default:
		h.readLog()
	}
}

func (h *Handler) readPartialBatch() {
	n := min(h.informer.config.batchSize, len(h.partialBatch))
	for i := range h.partialBatch[:n] {
		h.batch = append(h.batch, change{Change: h.partialBatch[i]})
	}
	h.skipPartialBatch(n)
}

func (h *Handler) skipPartialBatch(n int) {
	if h.partialBatch = h.partialBatch[n:]; len(h.partialBatch) == 0 {
		h.partialBatch = nil // an empty slice would keep its array alive
	}
}

// readLog reads several log batches of one change each, or the first changes of a larger one.
// Until the handler has synced, it reads one batch at a time, so that the end of the initial
// list is noticed at once.
func (h *Handler) readLog() {
	room := h.informer.config.batchSize
	if !h.HasSynced() {
		room = 1
	}
	for len(h.batch) < room && !h.resyncIsNext() {
		changes, ok := h.cursor.TryNext()
		switch {
		case !ok:
			return
		case len(changes) == 1:
			h.batch = append(h.batch, change{Change: changes[0]})
		default:
			if h.partialBatch = changes; len(h.batch) == 0 {
				h.readPartialBatch()
			}
			return
		}
	}
}

// readKeys reads one key, after coalescing the whole log into the backlog. A log batch of several
// changes is not coalesced: its keys are distinct, and for an initial list, a map of them would
// be large.
func (h *Handler) readKeys() {
	for len(h.partialBatch) == 0 {
		position := h.cursor.Position()
		changes, ok := h.cursor.TryNext()
		if !ok {
			break
		}
		if len(changes) > 1 {
			h.partialBatch = changes
			break
		}
		h.addToBacklog(&changes[0], position)
	}
	if !h.backlog.empty() {
		h.batch = append(h.batch, h.backlog.pop())
	} else if len(h.partialBatch) > 0 {
		h.readPartialBatch()
	}
}

func (h *Handler) addToBacklog(c *store.Change, position uint64) {
	if h.config.OnKey != nil {
		c = &store.Change{Key: c.Key, Initial: c.Initial, LeftScope: c.LeftScope} // keeps no object alive
	}
	h.backlog.add(c, position, h.coalesce)
}

// position returns the number of events of the log that were read.
func (h *Handler) position() uint64 { return h.cursor.Position() - uint64(len(h.partialBatch)) }
