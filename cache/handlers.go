// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"time"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/informer"
)

// EventType is the type of an Event.
type EventType string

// The types of an Event.
const (
	EventAdd    EventType = "Add"
	EventUpdate EventType = "Update"
	EventDelete EventType = "Delete"
)

// Event is one change of one object, as delivered to a handler. Its objects belong to the cache
// and must not be changed.
type Event[T Object] struct {
	Type EventType
	// Key is the object's key in the store.
	Key string
	// Old is the state that was last delivered to this handler. It is nil for an addition, and
	// always with HandlerOptions.WithoutOld. If that state is Packed and cannot be decoded, Old is
	// nil for a deletion, and the same as New for an update.
	Old T
	// New is the object after the change. It is nil for a deletion.
	New T
	// Final is the state in which the object was deleted. It is nil for other events. With
	// FinalStateUnknown, it is the last known state. With LeftScope alone, it is the refused state
	// or, if no state was refused, the stored one.
	Final T
	// FinalStateUnknown is set for a deletion whose final state is not known. Either the deletion
	// was not received: the object was found missing, refused or recreated, or its namespace was
	// deleted (see NamespaceScopes). Or the final state could not be stored or decoded, or
	// Transform returned ErrSkip for it.
	FinalStateUnknown bool
	// InInitialList is set for the additions of the state with which the handler started: the
	// initial list, or the store's content when the handler was added. It is also set for those of
	// the initial list of a scope that was added later; see Scopes.
	InInitialList bool
	// LeftScope is set for the deletion of an object that may still exist: the informer's Filter or
	// the handler's FilterFunc no longer accepts it, its scope was removed from the informer's
	// Scopes, or its resource is no longer served although the definition was not deleted
	// (InformerOptions.Served). No event follows when it is deleted later. It is not set for an
	// object that the request's label or field selector no longer matches: the server sends a
	// deletion.
	LeftScope bool
	// Coalesced is the number of later changes of the object that this event includes because the
	// handler was behind; see HandlerOptions.EveryEvent.
	Coalesced int
}

// KeyEvent is the key of one object, as delivered to a key handler. If neither InInitialList nor
// Resync is set, the object was added, changed or deleted, and a work queue may give the key
// priority. An object of the initial list may change before its key is delivered. Then the key is
// delivered once, without InInitialList, or twice, once with and once without it.
type KeyEvent struct {
	Key           string
	InInitialList bool // see Event.InInitialList
	Resync        bool // see HandlerOptions.ResyncPeriod
	// LeftScope is that of the object's last change; see Event.LeftScope.
	LeftScope bool
}

// Object returns the latest state: Final of a deletion, otherwise New.
func (e Event[T]) Object() T {
	if e.Type == EventDelete {
		return e.Final
	}
	return e.New
}

func eventOf[T Object](e *informer.Event) Event[T] {
	return Event[T]{
		Type: EventType(e.Type), Key: e.Key, Old: as[T](e.Old), New: as[T](e.New), Final: as[T](e.Final), FinalStateUnknown: e.FinalStateUnknown,
		InInitialList: e.InInitialList, LeftScope: e.LeftScope, Coalesced: e.Coalesced,
	}
}

// EventHandler receives the changes of a collection. It is not client-go's ResourceEventHandler:
// it has one method for all events.
//
// OnEvent is called for one event at a time, in order for each object, after the store has the
// change (and perhaps later ones). It may block, which delays no other handler. See
// HandlerOptions.EveryEvent for the events that arrive meanwhile, and ContinueOnPanic for panics.
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
	// DeleteFunc is called with Event.Final, never with a tombstone.
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
		f.DeleteFunc(event.Final)
	}
}

// FilteringResourceEventHandler delivers to Handler the events of objects that FilterFunc accepts.
// An object that FilterFunc begins to accept is delivered as an addition, and one that it no longer
// accepts as a deletion with Event.LeftScope: Old is the last accepted state, and Final the refused
// one. The deletion of an object whose last delivered state was accepted is delivered even if
// FilterFunc does not accept the final state. FilterFunc must depend on the object alone. Both
// fields are required.
type FilteringResourceEventHandler[T Object] struct {
	FilterFunc func(obj T) bool
	Handler    EventHandler[T]
}

// OnEvent delivers the event to Handler, if FilterFunc accepts it; see
// FilteringResourceEventHandler.
func (f FilteringResourceEventHandler[T]) OnEvent(event Event[T]) {
	delivered := event.Old
	if event.Type == EventDelete && codec.IsNil(delivered) {
		delivered = event.Final
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
		event.Type, event.Final, event.New, event.LeftScope = EventDelete, event.New, none, true
	}
	f.Handler.OnEvent(event)
}

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

// HandlerOptions are the options of a handler. The zero value is right for production.
type HandlerOptions struct {
	// Name identifies the handler in logs, errors and Status. The default is its Go type
	// without type arguments.
	Name string
	// EveryEvent never coalesces events, however slow the handler is. The backlog is not bounded.
	// For AddKeyHandler, which always coalesces, EveryEvent is an error.
	//
	// By default, every event is delivered until the handler is more than 10,000 events behind, or
	// more than twice the number of objects if that is larger. Then the waiting events of one
	// object are coalesced: updates with updates, updates with the deletion, and an addition with
	// updates unless one of them sets deletionTimestamp. An addition and a deletion are both
	// delivered, and an object that was recreated is never an update of its predecessor. The
	// backlog of a blocked handler is thus bounded by two states of each object that existed
	// meanwhile.
	EveryEvent bool
	// ResyncPeriod is the time from the end of one resync to the start of the next. A resync
	// delivers every stored object as an update in which Old and New are the same, or to a key
	// handler its key. It waits while the handler is so far behind that its events are coalesced.
	// Zero selects the informer's ResyncPeriod; a negative value disables resyncs.
	ResyncPeriod time.Duration
	// WithoutOld leaves Event.Old nil. With Packed, it saves decoding the old object. A
	// FilteringResourceEventHandler needs the old object: with it, WithoutOld is an error.
	WithoutOld bool
	// ContinueOnPanic goes on with the next event after a panic of the handler. A panic is logged
	// and passed to ErrorHandler as a *HandlerError in any case. Without ContinueOnPanic, it then
	// ends the process unless utilruntime.ReallyCrash is false, as elsewhere in Kubernetes.
	ContinueOnPanic bool
}

// Registration is a handler that was added to an informer. Its methods are safe for concurrent use.
type Registration struct{ handler *informer.Handler }

// HasSynced reports whether the handler's calls have returned for the whole initial list or, if it
// was added later, for the objects that were in the store then.
func (r *Registration) HasSynced() bool { return r.handler.HasSynced() }

// Synced returns a channel that is closed once HasSynced reports true. It stays open if the handler
// is removed or the informer stops before that; see Done.
func (r *Registration) Synced() <-chan struct{} { return r.handler.Synced() }

// Done returns a channel that is closed once no call of the handler is running and none will start:
// after Cancel or Stop, and after the informer has stopped.
func (r *Registration) Done() <-chan struct{} { return r.handler.Done() }

// Status returns the handler's condition.
func (r *Registration) Status() HandlerStatus { return HandlerStatus(r.handler.Status()) }

// Cancel removes the handler, and does not block. A running call goes on, and no other call starts.
// The handler itself may call Cancel. It may be called more than once.
func (r *Registration) Cancel() { r.handler.Cancel() }

// Stop removes the handler and blocks until its running call, if any, has returned. Undelivered
// events are dropped. If ctx ends first, Stop returns ErrHandlerBlocked; no other call starts in
// that case either.
//
// A handler or an ErrorHandler must call Cancel instead: Stop would wait for its own caller until
// ctx ends.
func (r *Registration) Stop(ctx context.Context) error { return r.handler.Stop(ctx) }
