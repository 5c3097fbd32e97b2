package feed

import "k8s.io/apimachinery/pkg/watch"

// Sink keeps what a reflector feeds it. One goroutine at a time calls it.
//
// An object that cannot be stored (it does not decode, its transform fails) is
// the sink's to report. It keeps the object's last good state and counts the
// key as quarantined until a later state can be stored.
type Sink interface {
	// Begin starts a new state of the whole collection. Nobody sees any of it
	// before its Commit. The one begun before, if not committed, is dropped.
	Begin() Replacement
	// Apply applies one watch event.
	Apply(eventType watch.EventType, item Item) Outcome
	// Holds tells whether the collection has exactly this version of the item's
	// object.
	HasVersion(item Item) bool
	// Progress says that the collection has reached resourceVersion without a
	// change.
	AdvanceVersion(resourceVersion string)
	// Quarantined returns how many keys wait for a state that can be stored.
	Quarantined() int
}

// Need is what a replacement takes of an item besides its identity.
type Need int

const (
	// NeedsIdentity: the sink has this version of the object. Without the bytes that
	// can be told, and nothing else.
	NeedsIdentity Need = iota
	// NeedsBytes: the item as it came.
	NeedsBytes
	// NeedsObject: the object, decoded.
	NeedsObject
)

// Replacement is the state of a collection in the making.
type Replacement interface {
	// Distrust says that the server has gone back in time, and may have given out
	// versions again that the sink knows: an object in the version that the sink has
	// may be another state of it, and is kept only if it is equal. It is called before
	// everything else.
	CompareContents()
	// Needs tells what adding the item will take, so that what it takes can be
	// prepared ahead, and what it does not need not be kept until then. It may be
	// called while another goroutine adds.
	Needs(item Item) Need
	// Add adds an object, or replaces one added before under the same key.
	Add(item Item)
	// Remove takes an object out again.
	Remove(item Item)
	// Commit makes the replacement the collection's state at resourceVersion,
	// all at once for every reader. With an error the collection is as it was.
	Commit(resourceVersion string) error
}

// Outcome is what became of an event.
type Outcome int

const (
	// Applied: the event changed the collection.
	Applied Outcome = iota
	// Unchanged: the collection was in that state already.
	Unchanged
	// Stale: the collection holds a newer state of the object; nothing changed.
	Stale
	// Quarantined: the object could not be stored; its last good state stays.
	Quarantined
)
