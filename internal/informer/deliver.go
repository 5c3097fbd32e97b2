package informer

import (
	"context"
	"runtime/debug"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/store"
)

// tell delivers one change. One whose new state cannot be decoded from its packed
// form is not told: the store has reported it and will fetch the object again. An
// update from such a state is told as one from the new state itself. A handler of
// keys needs no state.
func (h *Handler[V]) tell(ctx context.Context, c *change[V]) {
	event := Event[V]{Key: c.Key, InInitial: c.Initial, Coalesced: c.merged}
	ok := true
	switch {
	case h.config.OnKey != nil:
	case c.New == nil:
		event.Type = Delete
		ok = h.loadDeletion(&event, &c.Change)
	case c.Old == nil:
		event.Type = Add
		event.New, ok = h.store.Load(c.Key, c.New)
	default:
		event.Type = Update
		event.New, ok = h.store.Load(c.Key, c.New)
		if !h.config.WithoutOld {
			event.Old = h.loadOld(&event, &c.Change)
		}
	}
	if c.merged > 0 {
		h.merged.Add(uint64(c.merged))
	}
	if ok {
		h.pass(ctx, &event)
	}
}

func (h *Handler[V]) loadOld(event *Event[V], c *store.Change[V]) V {
	if old, ok := h.store.Load(c.Key, c.Old); ok {
		return old
	}
	return event.New
}

// loadDeletion sets a deletion's states, and tells whether there is at least one.
func (h *Handler[V]) loadDeletion(event *Event[V], c *store.Change[V]) (ok bool) {
	if !h.config.WithoutOld || c.Final == nil {
		event.Old, ok = h.store.Load(c.Key, c.Old)
	}
	event.Final, event.FinalStateUnknown = event.Old, c.Final == nil
	if c.Final != nil {
		if final, decoded := h.store.Load(c.Key, c.Final); decoded {
			event.Final, ok = final, true
		}
	}
	event.LeftScope = ok && h.informer.intake.departed(c.Key, event.Final)
	return ok
}

// pass calls the receiver, or puts the event into the batch that flush passes on.
func (h *Handler[V]) pass(ctx context.Context, event *Event[V]) {
	if h.config.OnBatch == nil {
		h.call(ctx, event)
		return
	}
	if h.events = append(h.events, *event); len(h.events) == cap(h.hand) {
		h.flush(ctx)
	}
}

// flush passes a batch on, if there is one.
func (h *Handler[V]) flush(ctx context.Context) {
	if len(h.events) > 0 && ctx.Err() == nil {
		h.call(ctx, &h.events[0])
	}
	clear(h.events)
	h.events = h.events[:0]
}

// call runs the receiver, and waits after a panic where that is the rule.
func (h *Handler[V]) call(ctx context.Context, event *Event[V]) {
	h.telling = event.Key
	h.receive(ctx, event)
	if h.hurt {
		h.hurt = false
		h.pause(ctx)
	}
}

// receive runs the receiver. A panic in it is treated as anywhere in Kubernetes: it is
// reported and ends the process, unless utilruntime.ReallyCrash or the handler's
// configuration says otherwise; then the event counts as delivered. (HandleCrash counts
// the frames between itself and the panic: it must be deferred right here.)
func (h *Handler[V]) receive(ctx context.Context, event *Event[V]) {
	defer utilruntime.HandleCrashWithContext(ctx, h.panicHooks...)
	if h.config.ContinueOnPanic {
		defer h.goOn(ctx)
	}
	switch {
	case h.config.OnEvent != nil:
		h.config.OnEvent(*event)
	case h.config.OnBatch != nil:
		h.config.OnBatch(h.events)
	default:
		h.config.OnKey(event.Key)
	}
}

// goOn ends a panic.
func (h *Handler[V]) goOn(ctx context.Context) {
	if r := recover(); r != nil {
		klog.FromContext(ctx).Error(nil, "Observed a panic", "panic", r, "key", h.telling, "stacktrace", string(debug.Stack()))
		h.panicked(ctx, r)
	}
}

// panicked tells about a panic.
func (h *Handler[V]) panicked(ctx context.Context, recovered any) {
	h.hurt = true
	if h.config.OnPanic != nil {
		h.config.OnPanic(ctx, h.telling, recovered)
	}
}

func (h *Handler[V]) pause(ctx context.Context) {
	if h.config.PanicDelay <= 0 {
		return
	}
	timer := h.clock.NewTimer(h.config.PanicDelay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}
