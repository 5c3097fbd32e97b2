package informer

// EventType says what happened to an object.
type EventType int

// The types of an event.
const (
	Add EventType = iota
	Update
	Delete
)

// Event is one change as a handler is told it.
type Event[V any] struct {
	Type      EventType
	Key       string
	Old, New  V // Old is the state told last, the zero value of an Add; New is the zero value of a Delete
	Final     V // of a Delete: the last known state, or Old
	InInitial bool
	Coalesced    int  // how many more changes of the object this one stands for
	LeftScope  bool // of a Delete: the object is there still, but not accepted any more
	FinalStateUnknown    bool // of a Delete: nobody told the state in which the object was deleted
}

// Delivery is what a handler is told of changes that come faster than it can do with.
type Delivery int

const (
	// MergeWhenBehind joins changes of one object once the handler is far behind.
	CoalesceWhenBehind Delivery = iota
	// EveryEvent never joins anything: what the handler has not been told is kept.
	EveryEvent
)
