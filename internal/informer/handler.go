package informer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/store"
)

// handler tells one receiver of every change, at the receiver's pace.
type handler[V any] struct {
	name    string
	deliver func(Event[V])
	store   *store.Store[V]
	cursor  *eventlog.Cursor[store.Change[V]]
	resync  time.Duration // zero: never
	clock   clock.Clock

	delivered atomic.Uint64 // events of the log whose delivery has returned
	synced    chan struct{} // closed when the whole first state was delivered
	syncOnce  sync.Once
	done      chan struct{} // closed when no call is made any more
}

func newHandler[V any](name string, deliver func(Event[V]), from *store.Store[V], resync time.Duration, c clock.Clock) *handler[V] {
	h := &handler[V]{
		name: name, deliver: deliver, store: from, resync: resync, clock: c,
		synced: make(chan struct{}), done: make(chan struct{}),
	}
	_, h.cursor = from.Follow()
	return h
}

// run delivers until ctx ends. What is undelivered then stays so.
func (h *handler[V]) run(ctx context.Context) {
	defer close(h.done)
	var resync <-chan time.Time // nil, which is never ready, without a resync
	var timer clock.Timer
	if h.resync > 0 {
		timer = h.clock.NewTimer(h.resync)
		defer timer.Stop()
		resync = timer.C()
	}
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "handler", h.name))
	for {
		if resync == nil && ctx.Err() == nil { // nothing to wait for besides the log: spare the select while behind
			if changes, ok := h.cursor.TryNext(); ok {
				h.tell(ctx, changes)
				continue
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-resync:
			h.redeliver(ctx)
			timer.Reset(h.resync)
		case <-h.cursor.Ready():
			changes, ok := h.cursor.TryNext()
			if !ok { // the log is closed
				return
			}
			h.tell(ctx, changes)
		}
	}
}

// tell delivers changes, and notes when they end the first full state.
func (h *handler[V]) tell(ctx context.Context, changes []store.Change[V]) {
	for i := range changes {
		if ctx.Err() != nil {
			return
		}
		h.tellOne(ctx, &changes[i])
	}
	h.delivered.Store(h.cursor.Position())
	h.noteSync()
}

// tellOne delivers one change. One whose new state cannot be decoded from its
// packed form is not told: the store has reported it and will fetch the object
// again. An update from such a state is told as one from the new state itself.
func (h *handler[V]) tellOne(ctx context.Context, change *store.Change[V]) {
	event := Event[V]{Key: change.Key, InInitial: change.Initial}
	var ok bool
	switch {
	case change.New == nil:
		event.Type = Delete
		ok = h.loadDeletion(&event, change)
	case change.Old == nil:
		event.Type = Add
		event.New, ok = h.store.Load(change.Key, change.New)
	default:
		event.Type = Update
		event.New, ok = h.store.Load(change.Key, change.New)
		if old, decoded := h.store.Load(change.Key, change.Old); decoded {
			event.Old = old
		} else {
			event.Old = event.New
		}
	}
	if ok {
		h.call(ctx, event)
	}
}

// loadDeletion sets a deletion's states, and tells whether there is at least one.
func (h *handler[V]) loadDeletion(event *Event[V], change *store.Change[V]) (ok bool) {
	event.Old, ok = h.store.Load(change.Key, change.Old)
	event.Final = event.Old
	if change.Final != nil {
		if final, decoded := h.store.Load(change.Key, change.Final); decoded {
			event.Final, ok = final, true
		}
	}
	return ok
}

// redeliver tells an update of every object to itself. The objects are those of
// a snapshot, told after every change before it, so that nothing is told twice,
// out of order, or after its deletion.
func (h *handler[V]) redeliver(ctx context.Context) {
	snapshot, at := h.store.Follow()
	for h.cursor.Position() < at.Position() {
		changes, ok := h.cursor.TryNext()
		if !ok {
			break
		}
		h.tell(ctx, changes)
	}
	for key, value := range snapshot.All() {
		if ctx.Err() != nil {
			return
		}
		h.call(ctx, Event[V]{Type: Update, Key: key, Old: value, New: value})
	}
}

// call runs the receiver. A panic in it is treated as anywhere in Kubernetes: it
// is reported and ends the process, unless utilruntime.ReallyCrash says
// otherwise; then the event counts as delivered.
func (h *handler[V]) call(ctx context.Context, event Event[V]) {
	defer utilruntime.HandleCrashWithContext(ctx)
	h.deliver(event)
}

// noteSync closes synced once everything up to the end of the first full state
// has been delivered. It is called when either side may have got there: after a
// delivery, and after that state was committed.
func (h *handler[V]) noteSync() {
	if filled, ok := h.store.Filled(); ok && h.delivered.Load() >= filled {
		h.syncOnce.Do(func() { close(h.synced) })
	}
}

func (h *handler[V]) status() HandlerStatus {
	status := HandlerStatus{Name: h.name, Lag: h.cursor.Lag()}
	select {
	case <-h.synced:
		status.Synced = true
	default:
	}
	return status
}
