// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

// EventType is the kind of change that an event reports.
type EventType string

// The types of an event.
const (
	Add    EventType = "Add"
	Update EventType = "Update"
	Delete EventType = "Delete"
)

// Event is one change of an object, as delivered to a handler. Fields that do not apply to the
// event's type are zero.
type Event struct {
	Type EventType
	Key  string
	// Old is the last state delivered to the handler; zero for an Add. It is Final in the Delete of
	// an object that was not stored. New is the current state; zero for a Delete.
	Old, New any
	// Final is the last known state of a deleted object: the state sent with the deletion, or the
	// one delivered last.
	Final any
	// InInitialList marks an Add that belongs to the state with which the handler started.
	InInitialList bool
	// Coalesced is the number of later changes of the object coalesced into this event.
	Coalesced int
	// LeftScope marks the Delete of an object that existed when it left the store: it did not pass
	// the filter any more, or its scope was removed.
	LeftScope bool
	// FinalStateUnknown marks a Delete whose deletion event was missed, so that the state at the
	// time of deletion is unknown.
	FinalStateUnknown bool
}

// KeyEvent is what a key handler receives. If neither InInitialList nor Resync is set, the object
// was added, changed or deleted. At most one of the two is set.
type KeyEvent struct {
	Key           string
	InInitialList bool // the key belongs to the state with which the handler started
	Resync        bool // the key is delivered again by a resync
	LeftScope     bool // as in Event
}
