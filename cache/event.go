package cache

// EventType says what happened to an object.
type EventType string

// The types of an Event.
const (
	EventAdd    EventType = "Add"
	EventUpdate EventType = "Update"
	EventDelete EventType = "Delete"
)

// Event is one change, as a handler is told it. Its objects are the cache's and
// must not be changed.
type Event[T Object] struct {
	Type EventType
	Key  string // the key in the store
	// Old is the object before the change: the last state this handler was told
	// of or, of a deletion, the state in which the object was deleted. Nil for an
	// addition.
	Old T
	// New is the object after the change, nil for a deletion.
	New T
	// InInitialList marks the additions that make up the first full state.
	InInitialList bool
	// Departed marks the deletion of an object that still exists but is not for
	// this informer or handler any more: a filter no longer lets it through.
	LeftScope bool
	// Merged is how many later events of the object were joined into this one, because
	// the handler was behind (see MergeWhenBehind). Zero where nothing was.
	Coalesced int

	told T // of a deletion: the last state that the handler was told of
}

// Object returns the latest state: New, or Old of a deletion.
func (e Event[T]) Object() T {
	if e.Type == EventDelete {
		return e.Old
	}
	return e.New
}
