// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/store"
)

// deliverSnapshot delivers what is left of a snapshot: the state with which the handler started, as
// additions, or that of a resync, as updates.
func (h *Handler) deliverSnapshot(ctx context.Context) {
	initial := !h.snapshotDelivered.Load()
	if initial && len(h.keys) > 0 {
		h.informer.initial.wait(ctx)
	}
	h.timer.begin()
	for len(h.keys) > 0 && ctx.Err() == nil {
		event := Event{Type: Update, Key: h.keys[0], InInitialList: initial}
		if initial {
			event.Type = Add
		}
		h.keys = h.keys[1:]
		if h.config.OnKey == nil {
			value, ok := h.untimed(func() (any, bool) { return h.snapshot.Get(event.Key) })
			if !ok {
				continue
			}
			event.New = value
			if !initial && !h.config.WithoutOld {
				event.Old = value
			}
		}
		h.deliverEvent(ctx, &event)
	}
	h.flush(ctx)
	h.timer.end()
	h.snapshot, h.keys = nil, nil
	if initial && ctx.Err() == nil {
		h.snapshotDelivered.Store(true)
		h.checkSynced()
	}
}

// deliverBatch delivers the changes of batch that are left, and empties it.
func (h *Handler) deliverBatch(ctx context.Context) {
	if h.next < len(h.batch) && h.batch[h.next].Initial {
		h.informer.initial.wait(ctx)
	}
	h.timer.resume()
	for h.next < len(h.batch) && ctx.Err() == nil {
		h.next++
		h.deliver(ctx, &h.batch[h.next-1])
	}
	h.flush(ctx)
	h.timer.end()
	clear(h.batch) // delivered objects must not stay alive until the next event
	delivered := len(h.batch) > 0 && ctx.Err() == nil
	h.batch, h.next = h.batch[:0], 0
	if delivered {
		h.lag.delivered.Store(h.batchEnd)
		h.checkSynced()
		if h.batchEnd == h.informer.log.Appended() {
			h.informer.status.signal()
		}
	}
}

// deliver delivers one change. It skips a change whose new state cannot be decoded: the store has
// reported it and will fetch the object again. If the old state of an update cannot be decoded,
// the new one takes its place. A key handler needs neither.
func (h *Handler) deliver(ctx context.Context, c *change) {
	event := Event{Key: c.Key, InInitialList: c.Initial, Coalesced: c.coalesced}
	ok := true
	switch {
	case h.config.OnKey != nil:
		event.LeftScope = c.LeftScope
	case c.New == nil:
		event.Type = Delete
		ok = h.loadDeletion(&event, c)
	case c.Old == nil:
		event.Type = Add
		event.New, ok = h.load(c, c.New)
	default:
		event.Type = Update
		ok = h.loadUpdate(&event, c)
	}
	if c.coalesced > 0 {
		h.coalesced.Add(uint64(c.coalesced))
	}
	if ok {
		h.deliverEvent(ctx, &event)
	}
}

// load returns the value of an entry of a change.
func (h *Handler) load(c *change, entry *store.Entry) (any, bool) {
	return h.untimed(func() (any, bool) { return h.store.Load(c.Key, entry) })
}

// untimed calls a function that may decode an object, which is not the callback's time.
func (h *Handler) untimed(load func() (any, bool)) (any, bool) {
	if !h.store.IsPacked() {
		return load()
	}
	h.timer.end()
	defer h.timer.begin()
	return load()
}

// loadUpdate sets the states of an update, and reports whether the new one could be decoded.
func (h *Handler) loadUpdate(event *Event, c *change) (ok bool) {
	hasOld := h.config.WithoutOld
	if !hasOld {
		if h.store.IsPacked() { // load finds both states while they are referenced
			states, _ := h.untimed(func() (any, bool) { return h.store.DecodeUpdate(c.Old, c.New), true })
			defer runtime.KeepAlive(states)
		}
		event.Old, hasOld = h.load(c, c.Old)
	}
	if event.New, ok = h.load(c, c.New); !hasOld {
		event.Old = event.New
	}
	return ok
}

// loadDeletion sets the states of a deletion, and reports whether at least one of them could be
// decoded.
func (h *Handler) loadDeletion(event *Event, c *change) (ok bool) {
	event.LeftScope, event.FinalStateUnknown = c.LeftScope, c.finalUnknown
	if c.Final != nil {
		event.Final, ok = h.load(c, c.Final)
	}
	readsOld, hasOld := !h.config.WithoutOld && !h.config.WithoutOldOfDeletions, false
	if readsOld || !ok {
		event.Old, hasOld = h.load(c, c.Old)
	}
	if !ok {
		event.Final, event.FinalStateUnknown, ok = event.Old, true, hasOld
	}
	if !readsOld {
		event.Old = nil
	}
	return ok
}

// deliverEvent invokes the callback with an event, or collects the event for OnBatch.
func (h *Handler) deliverEvent(ctx context.Context, event *Event) {
	if h.config.OnBatch == nil {
		h.invoke(ctx, event)
		return
	}
	if h.events = append(h.events, *event); len(h.events) == h.informer.config.batchSize {
		h.flush(ctx)
	}
}

// flush invokes OnBatch with the collected events, if there are any.
func (h *Handler) flush(ctx context.Context) {
	if len(h.events) > 0 && ctx.Err() == nil {
		h.invoke(ctx, &h.events[0])
	}
	clear(h.events)
	h.events = h.events[:0]
}

// invoke invokes the callback, and pauses for PanicDelay if it has panicked.
func (h *Handler) invoke(ctx context.Context, event *Event) {
	h.timer.call(event.Key)
	h.invokeCallback(ctx, event)
	h.timer.calls.Add(1)
	if h.panicked {
		h.panicked = false
		h.timer.end()
		h.pause(ctx)
		h.timer.begin()
	}
}

// invokeCallback invokes the callback. As anywhere in Kubernetes, a panic is reported and ends the
// process, unless utilruntime.ReallyCrash or ContinueOnPanic says otherwise; then the event counts
// as delivered. HandleCrash must be deferred right here, because it counts the stack frames
// between itself and the panic.
func (h *Handler) invokeCallback(ctx context.Context, event *Event) {
	defer utilruntime.HandleCrashWithContext(h.panicContext, h.panicHooks...)
	if h.config.ContinueOnPanic {
		defer h.recoverPanic(ctx)
	}
	switch {
	case h.config.OnEvent != nil:
		h.config.OnEvent(*event)
	case h.config.OnBatch != nil:
		h.config.OnBatch(h.events)
	default:
		isResync := event.Type == Update // a key handler's event has a type only if it is of a snapshot
		h.config.OnKey(KeyEvent{event.Key, event.InInitialList, isResync, event.LeftScope})
	}
}

func (h *Handler) recoverPanic(ctx context.Context) {
	if r := recover(); r != nil {
		klog.FromContext(ctx).Error(nil, "Observed a panic", "panic", r, "key", h.timer.key, "stacktrace", string(debug.Stack()))
		h.reportPanic(ctx, r)
	}
}

func (h *Handler) reportPanic(ctx context.Context, recovered any) {
	h.panicked = true
	if h.config.OnPanic != nil {
		h.config.OnPanic(ctx, h.timer.key, recovered)
	}
}

// errHandlerGoexit is in the place of a panic's value.
var errHandlerGoexit = errors.New("the handler ended its goroutine, by runtime.Goexit")

func (h *Handler) reportGoexit(ctx context.Context, key string) {
	klog.FromContext(ctx).Error(errHandlerGoexit, "Handler ended its goroutine, delivery continues in another one", "key", key)
	if h.config.OnPanic != nil {
		h.config.OnPanic(ctx, key, errHandlerGoexit)
	}
}

func (h *Handler) pause(ctx context.Context) {
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
