// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/store"
)

// resync delivers every object to a handler again from time to time. It delivers a snapshot, at
// the handler's pace, after every change before the snapshot and before every later one. So no
// object is delivered twice, out of order or after its deletion. While the backlog is being
// compacted, a resync is deferred, because the compactor may have read past the snapshot.
type resync struct {
	timer clock.Timer      // nil if the handler has no resync
	fires <-chan time.Time // of the timer
	due   atomic.Bool      // a snapshot is to be taken, once no backlog is being compacted

	// These fields are guarded by the handler's lock.
	snapshot *store.Snapshot // to be delivered at position; nil if there is none
	position uint64          // the log position of snapshot
}

func (h *Handler) startResync() (stop func()) {
	if h.config.Resync <= 0 {
		return func() {}
	}
	h.resync.timer = h.clock.NewTimer(h.config.Resync)
	h.resync.fires = h.resync.timer.C()
	return func() { h.resync.timer.Stop() }
}

// takeResyncSnapshot takes the snapshot of a resync that is due. A busy handler does not wait for
// its timer. The caller must hold the handler's lock.
func (h *Handler) takeResyncSnapshot() {
	select {
	case <-h.resync.fires:
		h.resync.due.Store(true)
	default:
	}
	if h.compacting || !h.resync.due.Load() {
		return
	}
	snapshot, cursor := h.store.SnapshotAndCursor()
	h.resync.snapshot, h.resync.position = snapshot, cursor.Position()
	h.resync.due.Store(false)
}

// resyncIsNext reports whether the resync's snapshot comes before the next change of the log. For
// a key handler the order does not matter. The caller must hold the handler's lock.
func (h *Handler) resyncIsNext() bool {
	return h.resync.snapshot != nil && (h.config.OnKey != nil || h.position() == h.resync.position)
}
