// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"

	"github.com/kinformer/kinformer/internal/codec"
)

// EventHandler receives the changes of a collection. It is not client-go's ResourceEventHandler:
// it has one method for all events.
//
// OnEvent is called for one event at a time, in order for each object, after the store has the
// change (and perhaps later ones). It may block, which delays no other handler. See
// HandlerOptions.Delivery for the events that arrive meanwhile, and ContinueOnPanic for panics.
type EventHandler[T Object] interface {
	OnEvent(event Event[T])
}

// EventHandlerFunc is an EventHandler that calls a function with each event.
type EventHandlerFunc[T Object] func(event Event[T])

// OnEvent calls f.
func (f EventHandlerFunc[T]) OnEvent(event Event[T]) { f(event) }

// ResourceEventHandlerFuncs is an EventHandler with a function for each type of event, in the
// shape of client-go's. Each may be nil.
type ResourceEventHandlerFuncs[T Object] struct {
	AddFunc    func(obj T)
	UpdateFunc func(oldObj, newObj T)
	// DeleteFunc is called with the object's last known state, never with a tombstone.
	DeleteFunc func(obj T)
}

// OnEvent calls the function for the event's type.
func (f ResourceEventHandlerFuncs[T]) OnEvent(event Event[T]) {
	switch {
	case event.Type == EventAdd && f.AddFunc != nil:
		f.AddFunc(event.New)
	case event.Type == EventUpdate && f.UpdateFunc != nil:
		f.UpdateFunc(event.Old, event.New)
	case event.Type == EventDelete && f.DeleteFunc != nil:
		f.DeleteFunc(event.Old)
	}
}

// FilteringResourceEventHandler delivers to Handler the events of objects that FilterFunc accepts.
// An object that FilterFunc begins to accept is an addition. One that it no longer accepts is a
// deletion of the last accepted state, with Event.LeftScope set. A deleted object
// whose last delivered state was accepted is a deletion even if FilterFunc does not accept its
// final state. FilterFunc must depend on the object alone. Both fields are required.
type FilteringResourceEventHandler[T Object] struct {
	FilterFunc func(obj T) bool
	Handler    EventHandler[T]
}

// OnEvent delivers the event to Handler: as an addition or a deletion if FilterFunc accepts only
// one of the two states, and not at all if it accepts neither.
func (f FilteringResourceEventHandler[T]) OnEvent(event Event[T]) {
	delivered := event.Old
	if event.Type == EventDelete && !codec.IsNil(event.delivered) {
		delivered = event.delivered
	}
	before := event.Type != EventAdd && f.FilterFunc(delivered)
	after := event.Type != EventDelete && f.FilterFunc(event.New)
	var none T
	switch {
	case !before && !after:
		return
	case !before:
		event.Type, event.Old = EventAdd, none
	case !after && event.Type == EventUpdate:
		event.Type, event.New, event.delivered, event.LeftScope = EventDelete, none, event.Old, true
	}
	f.Handler.OnEvent(event)
}

// checkHandler returns an error if a handler cannot be called.
func checkHandler[T Object](handler EventHandler[T]) error {
	if codec.IsNil(handler) {
		return errNoHandler
	}
	filter, ok := asFiltering(handler)
	switch {
	case !ok:
		return nil
	case filter.FilterFunc == nil:
		return errNoFilterFunc
	default:
		return checkHandler(filter.Handler)
	}
}

// asFiltering returns a handler as the FilteringResourceEventHandler that it may be.
func asFiltering[T Object](handler EventHandler[T]) (filter FilteringResourceEventHandler[T], ok bool) {
	if pointer, isPointer := handler.(*FilteringResourceEventHandler[T]); isPointer {
		return *pointer, true
	}
	filter, ok = handler.(FilteringResourceEventHandler[T])
	return filter, ok
}

var (
	errNoHandler    = errors.New("the handler is nil")
	errNoFilterFunc = errors.New("the FilteringResourceEventHandler has no FilterFunc")
)
