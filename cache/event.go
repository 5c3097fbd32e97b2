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
	// Old is the state that was last delivered to this handler. It is nil for an addition, and
	// always with HandlerOptions.WithoutOld. If that state is Packed and cannot be decoded, Old is
	// nil for a deletion, and the same as New for an update.
	Old T
	// New is the object after the change. It is nil for a deletion.
	New T
	// Final is the state in which the object was deleted. It is nil for other events. With
	// LeftScope, it is the refused state or, if the scope was removed, the stored state. With
	// FinalStateUnknown, it is the last known state.
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
	// LeftScope is set for the deletion of an object that exists but that the informer's Filter or the
	// handler's FilterFunc no longer accepts, or whose scope was removed from the informer's Scopes.
	// It says what was true when the object left the store: the object may have been deleted since,
	// and no further event says so. It is not set for an object that the request's label or field
	// selector no longer matches: the server sends a deletion.
	LeftScope bool
	// Coalesced is the number of later changes of the object that this event includes because the
	// handler was behind; see CoalesceWhenBehind.
	Coalesced int
}

// KeyEvent is the key of one object, as delivered to a key handler.
type KeyEvent struct {
	Key    string
	Reason KeyReason
	// LeftScope is that of the object's last change; see Event.LeftScope.
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

// Object returns the latest state: Final of a deletion, otherwise New.
func (e Event[T]) Object() T {
	if e.Type == EventDelete {
		return e.Final
	}
	return e.New
}

func eventOf[T Object](e *informer.Event[T]) Event[T] {
	return Event[T]{
		Type: EventType(e.Type), Key: e.Key, Old: e.Old, New: e.New, Final: e.Final, FinalStateUnknown: e.FinalStateUnknown,
		InInitialList: e.InInitialList, LeftScope: e.LeftScope, Coalesced: e.Coalesced,
	}
}
