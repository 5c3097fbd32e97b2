// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
)

// HandlerConfig configures a handler. Exactly one of OnEvent, OnBatch and OnKey must be set.
type HandlerConfig struct {
	Name string
	// Logger replaces the logger of Run's context if it has a sink.
	Logger klog.Logger
	// PanicLogger, if it has a sink, logs a panic that ContinueOnPanic does not recover, as it is:
	// the handler's name is not added.
	PanicLogger klog.Logger
	OnEvent     func(Event) // one event per call
	// OnBatch receives up to a few dozen events per call, in order. The slice is valid only
	// during the call.
	OnBatch func([]Event)
	// OnKey receives the keys of changed objects. A key that changes again before it is delivered
	// is delivered once.
	OnKey func(KeyEvent)
	// EveryEvent never coalesces events: every undelivered event is kept in memory. It has no
	// effect on keys.
	EveryEvent bool
	// Resync is the time between updates of every object to itself. There are none if it is not
	// positive.
	Resync time.Duration
	// WithoutOld leaves Event.Old zero; WithoutOldOfDeletions leaves that of deletions zero.
	WithoutOld, WithoutOldOfDeletions bool
	// OnPanic is called after the handler has panicked on an event for key.
	OnPanic         func(ctx context.Context, key string, recovered any)
	ContinueOnPanic bool          // whatever utilruntime.ReallyCrash says
	PanicDelay      time.Duration // the pause after a panic that did not end the process
}

// Handler delivers an informer's events to one callback. Its methods are safe for concurrent
// use.
type Handler struct {
	config   HandlerConfig
	informer *Informer
	store    *store.Store
	clock    clock.Clock

	unique atomic.Pointer[string] // the name that no other handler of the informer has; nil until it is needed

	cancel            context.CancelFunc // ends the goroutine; nil until it starts
	running           atomic.Bool
	snapshotDelivered atomic.Bool   // the state with which the handler started
	synced            chan struct{} // closed once the whole initial state is delivered
	syncOnce          sync.Once
	done              chan struct{} // closed after the last call
	lag               lag
	coalesced         atomic.Uint64
	timer             callTimer
	panicHooks        []func(context.Context, any)
	panicContext      context.Context // with the logger of panics; set by start

	// The fields below belong to the handler's goroutine.
	snapshot *store.Snapshot // being delivered: at first the initial state, later that of a resync
	keys     []string        // of the snapshot, those that are left
	batch    []change        // the changes to deliver, in order
	next     int             // the first of them that has not been passed to deliver
	batchEnd uint64          // the log position once batch is delivered
	events   []Event         // collected for OnBatch
	panicked bool            // in the last call
	resync   resync

	// mu guards the fields below: the goroutine reads them into batch, the compactor coalesces.
	mu sync.Mutex
	// Changes are delivered in this order: backlog, partialBatch, then the log from cursor on.
	backlog      backlog
	partialBatch []store.Change // the unread rest of a log batch
	cursor       *eventlog.Cursor[store.Change]
	compacting   bool // the compactor reads the log, too; otherwise only a key handler has a backlog
}

// batchSize is the number of changes a handler reads at a time: enough to make the lock cheap,
// and few enough to be kept alive by a handler that blocks.
const batchSize = 32

// idleBatchSize is the number of changes for which a handler keeps memory while it waits.
const idleBatchSize = 4

func newHandler(config HandlerConfig, i *Informer) *Handler {
	h := &Handler{
		config: config, informer: i, store: i.store, clock: i.config.Clock,
		synced: make(chan struct{}), done: make(chan struct{}), timer: callTimer{clock: i.config.Clock},
	}
	h.panicHooks = []func(context.Context, any){h.reportPanic}
	return h
}

// start starts the goroutine, with the current state.
func (h *Handler) start(ctx context.Context) {
	logger := klog.FromContext(ctx)
	if h.config.Logger.GetSink() != nil {
		logger = h.config.Logger
	}
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(logger, "handler", h.config.Name))
	h.panicContext = ctx
	if h.config.PanicLogger.GetSink() != nil {
		h.panicContext = klog.NewContext(ctx, h.config.PanicLogger)
	}
	ctx, h.cancel = context.WithCancel(ctx)
	snapshot, cursor := h.store.SnapshotAndCursor()
	h.mu.Lock()
	h.cursor = cursor
	h.mu.Unlock()
	h.lag.delivered.Store(cursor.Position())
	h.snapshot, h.keys = snapshot, snapshot.DeliveredKeys()
	h.running.Store(true)
	go h.run(ctx)
}

// run delivers until ctx ends. Changes that are undelivered then are dropped. If the callback ends
// the goroutine, as testing.T.FailNow does, another one goes on after the event.
func (h *Handler) run(ctx context.Context) {
	returned := false
	defer func() {
		r := recover()
		h.timer.end()
		if r != nil || returned || ctx.Err() != nil {
			h.informer.handlerDone(h)
			if r != nil {
				panic(r)
			}
			return
		}
		key := h.timer.key
		clear(h.events) // of a batch, which counts as delivered
		h.events, h.panicked = h.events[:0], false
		go h.run(ctx) // before the report, which may end this goroutine, too
		h.reportGoexit(ctx, key)
	}()
	h.runDelivery(ctx)
	returned = true
}

// runDelivery delivers what is left of a snapshot and of a batch, and then the changes in the log.
func (h *Handler) runDelivery(ctx context.Context) {
	if h.snapshot != nil {
		h.deliverSnapshot(ctx)
	}
	h.deliverBatch(ctx)
	defer h.startResync()()
	for ctx.Err() == nil {
		wake := h.read()
		switch {
		case len(h.batch) > 0:
			h.deliverBatch(ctx)
		case h.snapshot != nil:
			h.keys = h.snapshot.DeliveredKeys()
			h.deliverSnapshot(ctx)
			h.resync.timer.Reset(h.config.Resync)
		case wake == nil: // canceled
			return
		default:
			select {
			case <-wake:
			case <-h.resync.fires:
				h.resync.due.Store(true)
			case <-ctx.Done():
			}
		}
	}
}

// Cancel ends the delivery: no further call begins. It does not wait for a call in progress, may
// be called from the handler itself, and may be repeated.
func (h *Handler) Cancel() { h.informer.cancelHandler(h) }

// Stop calls Cancel and blocks until no call is in progress. If ctx ends first, the error is
// ErrHandlerBlocked. Called from the handler's own goroutine, Stop blocks until ctx ends; a
// handler that stops itself must call Cancel.
func (h *Handler) Stop(ctx context.Context) error {
	h.Cancel()
	if h.isDone() {
		return nil
	}
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %s: %w", ErrHandlerBlocked, h.config.Name, context.Cause(ctx))
	}
}

// Done returns a channel that is closed after the handler's last call.
func (h *Handler) Done() <-chan struct{} { return h.done }

func (h *Handler) isDone() bool { return scoped.IsClosed(h.done) }

// HasSynced reports whether the whole initial state of the collection has been delivered or, if
// the handler was added later, the state at that time.
func (h *Handler) HasSynced() bool { return scoped.IsClosed(h.synced) }

// Synced returns a channel that is closed once HasSynced reports true.
func (h *Handler) Synced() <-chan struct{} { return h.synced }

// checkSynced closes synced once the handler's first snapshot and every change up to the end of
// the initial list have been delivered, and the list is not held back. It is called whenever one of
// these may have become true: after a delivery, and once HasListed reports true.
func (h *Handler) checkSynced() {
	if end, ok := h.store.Synced(); ok && h.informer.HasListed() && h.snapshotDelivered.Load() && h.lag.delivered.Load() >= end {
		h.syncOnce.Do(func() {
			close(h.synced)
			h.informer.status.signal()
		})
	}
}

// release drops the undelivered changes.
func (h *Handler) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor, h.partialBatch, h.backlog, h.compacting = nil, nil, backlog{}, false
}

// HandlerStatus describes the state of one handler.
type HandlerStatus struct {
	Name       string
	UniqueName string        // Name, or Name#2 and so on
	Synced     bool          // as reported by HasSynced
	Backlog    uint64        // events not yet delivered, including those of the current batch
	Lag        time.Duration // upper bound of how long the oldest undelivered event has waited
	Coalesced  uint64        // events coalesced into others so far
	Calls      uint64        // calls of the callback that have returned
	CallTime   time.Duration // that they and the call in progress took, without decoding packed objects
	CurrentKey string        // of the call in progress, empty if there is none
	CurrentFor time.Duration // lower bound of how long that has not returned
}

// Status returns the state of the handler.
func (h *Handler) Status() HandlerStatus {
	status := HandlerStatus{Name: h.config.Name, UniqueName: h.uniqueName(), Synced: h.HasSynced(), Coalesced: h.coalesced.Load()}
	status.Calls, status.CallTime = h.timer.total()
	status.CurrentKey, status.CurrentFor = h.timer.current()
	if !h.running.Load() || h.isDone() {
		return status
	}
	delivered := h.lag.delivered.Load() // before the log's length, which is never smaller
	if status.Backlog = h.informer.log.Appended() - delivered; status.Backlog > 0 {
		status.Lag = h.lag.age(h.clock.Now())
	}
	return status
}
