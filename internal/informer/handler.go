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
	"github.com/kinformer/kinformer/internal/store"
)

// HandlerConfig is who is to be told, and how. One of OnEvent, OnBatch and OnKey is
// set.
type HandlerConfig[V any] struct {
	Name string
	// Logger is used instead of Run's where it has a sink.
	Logger klog.Logger
	// OnEvent is told one event at a time.
	OnEvent func(Event[V])
	// OnBatch is told what there is, a few dozen events at the utmost. The slice is
	// lent for the call.
	OnBatch func([]Event[V])
	// OnKey is told keys of objects that have changed. A key that changes again
	// before it is told is told once.
	OnKey func(key string)
	// Delivery is how events are told to a handler that is behind.
	Delivery Delivery
	// Resync is the time between updates of every object to itself; zero is never.
	Resync time.Duration
	// WithoutOld says that nobody looks at an update's Old.
	WithoutOld bool
	// OnPanic hears of a panic of the receiver, which was told of key.
	OnPanic func(ctx context.Context, key string, recovered any)
	// GoOn says that a panic ends nothing, whatever utilruntime.ReallyCrash says.
	ContinueOnPanic bool
	// AfterPanic is how long to wait after a panic that did not end the process.
	PanicDelay time.Duration
}

// Handler is a receiver at an informer. Its methods may be called from any goroutine.
type Handler[V any] struct {
	config   HandlerConfig[V]
	informer *Informer[V]
	store    *store.Store[V]
	clock    clock.Clock

	cancel     context.CancelFunc // ends the goroutine; set when it starts
	goroutine  atomic.Pointer[string]
	toldState  atomic.Bool   // the state that it began with
	synced     chan struct{} // closed when the whole first state was delivered
	syncOnce   sync.Once
	done       chan struct{} // closed when no call is made any more
	lag        lag
	merged     atomic.Uint64
	panicHooks []func(context.Context, any)

	// What follows is its goroutine's own.
	hand    []change[V] // what is told now, in order
	handEnd uint64      // reached once the hand is told
	events  []Event[V]  // of a batch
	telling string      // the key that is told
	hurt    bool        // the call has panicked
	resync  resync[V]

	mu sync.Mutex // guards what follows: the goroutine takes the hand out of it, the steward joins
	// Told in this order: pending, then rest, then what the cursor reads.
	pending pending[V]
	rest    []store.Change[V] // of a batch of several, from the first that was not taken on
	cursor  *eventlog.Cursor[store.Change[V]]
	merging bool // the steward reads, too; else nothing is pending, but for a handler of keys
}

// handSize is how many changes a handler takes at a time: enough to make the lock
// cheap, and few to be held by one that gets stuck.
const handSize = 32

func newHandler[V any](config HandlerConfig[V], i *Informer[V]) *Handler[V] {
	h := &Handler[V]{
		config: config, informer: i, store: i.store, clock: i.clock,
		synced: make(chan struct{}), done: make(chan struct{}),
	}
	h.panicHooks = []func(context.Context, any){h.panicked}
	return h
}

// start makes the goroutine. It tells the state as it is now first, and then
// everything that the log says after it.
func (h *Handler[V]) start(ctx context.Context) {
	logger := klog.FromContext(ctx)
	if h.config.Logger.GetSink() != nil {
		logger = h.config.Logger
	}
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(logger, "handler", h.config.Name))
	ctx, h.cancel = context.WithCancel(ctx)
	state, cursor := h.store.SnapshotAndCursor()
	h.mu.Lock()
	h.cursor = cursor
	h.mu.Unlock()
	h.lag.reached.Store(cursor.Position())
	h.hand = make([]change[V], 0, h.informer.hand)
	go h.run(ctx, state)
}

// run delivers until ctx ends. What is undelivered then stays so.
func (h *Handler[V]) run(ctx context.Context, state *store.Snapshot[V]) {
	defer h.informer.ended(h)
	id := goroutineID()
	h.goroutine.Store(&id)
	h.tellState(ctx, state, Add)
	if ctx.Err() != nil {
		return
	}
	h.toldState.Store(true)
	h.noteSync()
	defer h.startResync()()
	for ctx.Err() == nil {
		h.pollResync()
		wake := h.take()
		switch {
		case len(h.hand) > 0:
			h.tellHand(ctx)
		case h.resync.told != nil:
			h.tellResync(ctx)
		case wake == nil: // stopped
			return
		default:
			select {
			case <-wake:
			case <-h.resyncDue():
				h.resync.rang = true
			case <-ctx.Done():
			}
		}
	}
}

// tellState tells the objects of a snapshot: that they are there, or are as they were.
func (h *Handler[V]) tellState(ctx context.Context, state *store.Snapshot[V], as EventType) {
	for _, key := range state.Keys() {
		if ctx.Err() != nil {
			return
		}
		event := Event[V]{Type: as, Key: key, InInitial: as == Add}
		if h.config.OnKey == nil {
			value, ok := state.Get(key)
			if !ok {
				continue
			}
			event.New = value
			if as == Update {
				event.Old = value
			}
		}
		h.pass(ctx, &event)
	}
	h.flush(ctx)
}

// tellHand delivers what was taken.
func (h *Handler[V]) tellHand(ctx context.Context) {
	for i := range h.hand {
		if ctx.Err() != nil {
			break
		}
		h.tell(ctx, &h.hand[i])
	}
	h.flush(ctx)
	clear(h.hand) // or what was told last stays alive until the next event
	h.hand = h.hand[:0]
	if ctx.Err() == nil {
		h.lag.reached.Store(h.handEnd)
		h.noteSync()
	}
}

// noteSync closes synced once the state that the handler began with and everything up
// to the end of the first full state have been delivered. It is called when either
// side may have got there: after a delivery, and after that state was committed.
func (h *Handler[V]) noteSync() {
	if filled, ok := h.store.Synced(); ok && h.toldState.Load() && h.lag.reached.Load() >= filled {
		h.syncOnce.Do(func() { close(h.synced) })
	}
}

// HasSynced tells whether the handler was told the whole first state, or the one that
// was there when it came.
func (h *Handler[V]) HasSynced() bool {
	select {
	case <-h.synced:
		return true
	default:
		return false
	}
}

// Synced is closed when HasSynced.
func (h *Handler[V]) Synced() <-chan struct{} { return h.synced }

// Done is closed when no call is made any more.
func (h *Handler[V]) Done() <-chan struct{} { return h.done }

// Remove ends the delivery: no call begins any more, one that is under way goes on.
// It does not wait for it, and may be repeated.
func (h *Handler[V]) Remove() { h.informer.remove(h) }

// Stop is Remove, and waits until no call runs any more, or ctx ends, which is an
// error. Called by the receiver itself, in the handler's goroutine, it does not wait:
// that call is the last.
func (h *Handler[V]) Stop(ctx context.Context) error {
	h.Remove()
	if id := h.goroutine.Load(); id != nil && *id == goroutineID() {
		return nil
	}
	select {
	case <-h.done:
		return nil
	default:
	}
	select {
	case <-h.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %s: %w", ErrHandlerBlocked, h.config.Name, context.Cause(ctx))
	}
}

// release drops what is not delivered.
func (h *Handler[V]) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cursor, h.rest, h.pending, h.merging = nil, nil, pending[V]{}, false
}

// HandlerStatus is the condition of one handler.
type HandlerStatus struct {
	Name   string
	Synced bool          // it has been told of the whole first state
	Backlog    uint64        // events since the oldest that it has not been told, those in its hand included
	Lag time.Duration // for how long, at most, that one has waited
	Coalesced uint64        // events that were joined with others
}

// Status returns the handler's condition.
func (h *Handler[V]) Status() HandlerStatus {
	status := HandlerStatus{Name: h.config.Name, Synced: h.HasSynced(), Coalesced: h.merged.Load()}
	if h.goroutine.Load() == nil {
		return status
	}
	select {
	case <-h.done:
		return status
	default:
	}
	reached := h.lag.reached.Load() // before the log's length, which never falls behind it
	if status.Backlog = h.informer.log.Appended() - reached; status.Backlog > 0 {
		status.Lag = h.lag.age(h.clock.Now())
	}
	return status
}
