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
	Old, New  V // Old is the zero value of an Add, New that of a Delete
	Final     V // of a Delete: the state in which the object was deleted, or Old
	InInitial bool
}
