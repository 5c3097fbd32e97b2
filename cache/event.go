package cache

import "github.com/kinformer/kinformer/internal/informer"

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
	// Old is the object before the change. For an update it is the state that was last delivered to
	// this handler; for a deletion the state in which the object was deleted, or the last known
	// one. With LeftScope it is a state that Filter refuses, if a watch brought one, or otherwise
	// the last one that was accepted. It is nil for an addition.
	Old T
	// New is the object after the change. It is nil for a deletion.
	New T
	// InInitialList is set for the additions of the state with which the handler started: the
	// initial list, or the store's content when the handler was added.
	InInitialList bool
	// LeftScope is set for the deletion of an object that still exists but that the informer's
	// Filter or the handler's FilterFunc no longer accepts. It is not set for an object that left a
	// server-side selector.
	LeftScope bool
	// Coalesced is the number of later changes of the object that this event includes because the
	// handler was behind; see CoalesceWhenBehind.
	Coalesced int

	delivered T // of a deletion: the state that was last delivered to this handler
}

// KeyEvent is the key of one object, as delivered to a key handler.
type KeyEvent struct {
	Key    string
	Reason KeyReason
}

// KeyReason is why a key is delivered. A work queue may give changes priority.
type KeyReason string

// The reasons of a KeyEvent. If an object of the initial list changes while its key waits, the
// reason is KeyChanged, or the key is delivered for each of both.
const (
	KeyChanged       KeyReason = "Changed"       // the object was added, changed or deleted
	KeyInInitialList KeyReason = "InInitialList" // as Event.InInitialList
	KeyResync        KeyReason = "Resync"        // see HandlerOptions.ResyncPeriod
)

// Object returns the latest state: Old of a deletion, otherwise New.
func (e Event[T]) Object() T {
	if e.Type == EventDelete {
		return e.Old
	}
	return e.New
}

// eventOf returns the engine's event in its public form.
func eventOf[T Object](e *informer.Event[T]) Event[T] {
	event := Event[T]{
		Type: EventType(e.Type), Key: e.Key, Old: e.Old, New: e.New,
		InInitialList: e.InInitialList, LeftScope: e.LeftScope, Coalesced: e.Coalesced,
	}
	if event.Type == EventDelete {
		event.Old, event.delivered = e.Final, e.Old
	}
	return event
}
