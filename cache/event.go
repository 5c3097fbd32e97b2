// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	// Old is the object before the change. It is nil for an addition. For an update it is the state
	// that was last delivered to this handler. For a deletion it is the state in which the object
	// was deleted or, if a relist found the object missing, the last known state. With LeftScope it
	// is the state that Filter refused or, if a relist found it, the last accepted one.
	Old T
	// New is the object after the change. It is nil for a deletion.
	New T
	// InInitialList is set for the additions of the state with which the handler started: the
	// initial list, or the store's content when the handler was added. It is also set for those of
	// the initial list of a scope that was added later; see Scopes.
	InInitialList bool
	// LeftScope is set for the deletion of an object that exists but that the informer's Filter or the
	// handler's FilterFunc no longer accepts, or whose scope was removed from the informer's Scopes.
	// It says what was true when the object left the store: the object may have been deleted since,
	// and no further event says so. It is not set for an object that the request's label or field
	// selector no longer matches: the server sends a deletion.
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
	// LeftScope is set if the object has left the store because its scope was removed, or the Filter
	// refused it: the object existed then, and another replica may own it.
	LeftScope bool
}

// KeyReason is why a key is delivered. A work queue may give changes priority.
type KeyReason string

// The reasons of a KeyEvent. If an object of the initial list changes before its key is delivered,
// the reason is KeyChanged, or the key is delivered twice, once for each reason.
const (
	KeyChanged       KeyReason = "Changed"       // the object was added, changed or deleted
	KeyInInitialList KeyReason = "InInitialList" // see Event.InInitialList
	KeyResync        KeyReason = "Resync"        // see HandlerOptions.ResyncPeriod
)

// Object returns the latest state: Old of a deletion, otherwise New.
func (e Event[T]) Object() T {
	if e.Type == EventDelete {
		return e.Old
	}
	return e.New
}

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
