// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/store"
)

// resync delivers every object to a handler again from time to time. It delivers a snapshot, at
// the handler's pace, after every change before the snapshot and before every later one. So no
// object is delivered twice, out of order or after its deletion. While the backlog is being
// compacted, a resync is deferred, because the compactor may have read past the snapshot.
type resync[V any] struct {
	// These fields belong to the handler's goroutine.
	timer   clock.Timer      // nil if the handler has no resync
	fires   <-chan time.Time // of the timer
	expired bool             // the timer has expired
	ready   *store.Snapshot[V]
	current *store.Snapshot[V] // is being delivered

	// These fields are guarded by the handler's lock.
	snapshot *store.Snapshot[V] // to be delivered at position; nil if none is due
	position uint64             // the log position of snapshot
	deferred bool               // until the handler has caught up
}

func (h *Handler[V]) startResync() (stop func()) {
	if h.config.Resync <= 0 {
		return func() {}
	}
	h.resync.timer = h.clock.NewTimer(h.config.Resync)
	h.resync.fires = h.resync.timer.C()
	return func() { h.resync.timer.Stop() }
}

// pollResync takes a snapshot if the timer has expired. A busy handler does not wait for its timer.
func (h *Handler[V]) pollResync() {
	select {
	case <-h.resync.fires:
		h.resync.expired = true
	default:
	}
	if h.resync.expired {
		h.takeResyncSnapshot()
	}
}

// takeResyncSnapshot takes the snapshot to deliver, or defers that until the handler has caught up.
func (h *Handler[V]) takeResyncSnapshot() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resync.expired = false
	if h.compacting {
		h.resync.deferred = true
		return
	}
	snapshot, cursor := h.store.SnapshotAndCursor()
	h.resync.snapshot, h.resync.position = snapshot, cursor.Position()
}

// deferResync puts a resync that is due off until the compaction ends. The caller must hold the
// handler's lock.
func (h *Handler[V]) deferResync() {
	if h.resync.snapshot != nil {
		h.resync.snapshot, h.resync.deferred = nil, true
	}
}

// resumeResync resumes a deferred resync, when a compaction ends. The caller must hold the
// handler's lock.
func (h *Handler[V]) resumeResync() {
	if h.resync.deferred {
		h.resync.deferred, h.resync.expired = false, true
	}
}

// resyncIsNext reports whether the resync's snapshot comes before the next change of the log. For
// a key handler the order does not matter. The caller must hold the handler's lock.
func (h *Handler[V]) resyncIsNext() bool {
	return h.resync.snapshot != nil && (h.config.OnKey != nil || h.position() == h.resync.position)
}

// deliverResync delivers the snapshot and resets the timer afterwards.
func (h *Handler[V]) deliverResync(ctx context.Context) {
	h.resync.current, h.resync.ready = h.resync.ready, nil
	h.keys = h.resync.current.Keys()
	h.deliverRestOfResync(ctx)
	h.resync.timer.Reset(h.config.Resync)
}

func (h *Handler[V]) deliverRestOfResync(ctx context.Context) {
	if h.resync.current != nil {
		h.deliverKeys(ctx, h.resync.current, Update)
		h.resync.current = nil
	}
}
