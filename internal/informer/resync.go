package informer

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/store"
)

// resync tells a handler every object again, from time to time: from a snapshot, at the
// handler's pace, after every change before it, so that nothing is told twice, out of
// order, or after its deletion. For a handler that is far behind it waits: what joins
// its changes may have read past a snapshot.
type resync[V any] struct {
	// The goroutine's own.
	timer clock.Timer // nil: never
	rang  bool
	told  *store.Snapshot[V] // to be told now

	// Under the handler's lock.
	state *store.Snapshot[V] // to be told when all before it is; nil: none
	at    uint64             // the log's position of the state
	owed  bool               // once the handler has caught up
}

// startResync starts the handler's timer, if it wants one.
func (h *Handler[V]) startResync() (stop func()) {
	if h.config.Resync <= 0 {
		return func() {}
	}
	h.resync.timer = h.clock.NewTimer(h.config.Resync)
	return func() { h.resync.timer.Stop() }
}

// resyncDue is ready when it is time; nil, which is never ready, without a resync.
func (h *Handler[V]) resyncDue() <-chan time.Time {
	if h.resync.timer == nil {
		return nil
	}
	return h.resync.timer.C()
}

// pollResync looks at the timer, which a busy handler does not wait for.
func (h *Handler[V]) pollResync() {
	if h.resync.timer == nil {
		return
	}
	select {
	case <-h.resync.timer.C():
		h.resync.rang = true
	default:
	}
	if h.resync.rang {
		h.openResync()
	}
}

// openResync takes the snapshot to tell.
func (h *Handler[V]) openResync() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resync.rang = false
	if h.merging {
		h.resync.owed = true
		return
	}
	state, cursor := h.store.SnapshotAndCursor()
	h.resync.state, h.resync.at = state, cursor.Position()
}

// postponeResync is for when somebody else reads ahead. The handler's lock is held.
func (h *Handler[V]) postponeResync() {
	if h.resync.state != nil {
		h.resync.state, h.resync.owed = nil, true
	}
}

// resumeResync is for when nobody does any more. The handler's lock is held.
func (h *Handler[V]) resumeResync() {
	if h.resync.owed {
		h.resync.owed, h.resync.rang = false, true
	}
}

// atResync tells whether the next thing to tell is the snapshot: what the cursor reads
// comes after it. Keys have no order to be kept. The handler's lock is held.
func (h *Handler[V]) atResync() bool {
	return h.resync.state != nil && (h.config.OnKey != nil || h.position() == h.resync.at)
}

// tellResync tells the snapshot, and sets the timer again after that.
func (h *Handler[V]) tellResync(ctx context.Context) {
	state := h.resync.told
	h.resync.told = nil
	h.tellState(ctx, state, Update)
	h.resync.timer.Reset(h.config.Resync)
}
