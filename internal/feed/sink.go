// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import "k8s.io/apimachinery/pkg/watch"

// Sink stores the objects that a reflector passes to it. Its methods are called by one goroutine at
// a time.
//
// The sink reports each object that it cannot store, for example because decoding or the transform
// fails. It keeps the last good state of such an object and counts its key as quarantined until it
// has stored a later state.
type Sink interface {
	// Begin starts a new state of the whole collection. Readers see none of it before Commit. An
	// earlier replacement that was not committed is dropped.
	Begin() Replacement
	// Apply applies one watch event. An ADDED or MODIFIED event of a version that the collection
	// has changes nothing, unless it is Repeated and its content differs. An event that is InOrder
	// is applied in any case, and the collection is then at its version, even if that is the lower
	// one.
	Apply(eventType watch.EventType, item Item) Outcome
	// CountUnreadable reports an event that could not be read, with its error. It may be of any
	// object, which counts as a state without a readable key.
	CountUnreadable(err error)
	// HasVersion reports whether the collection holds exactly this version of the item's object.
	HasVersion(item Item) bool
	// AdvanceVersion records that the collection has reached resourceVersion without a change.
	AdvanceVersion(resourceVersion string)
	// Quarantined returns the number of quarantined keys, plus the number of states without a
	// readable key since the last committed list.
	Quarantined() int
	// NeedsList reports whether the collection must be listed before it is watched, as its objects
	// were removed since.
	NeedsList() bool
}

// Need is what a Replacement reads of an item besides its identity.
type Need int

const (
	// NeedsIdentity means that the sink already has this version of the object and reads only
	// Key, UID and ResourceVersion.
	NeedsIdentity Need = iota
	// NeedsBytes means that the sink reads the item as received.
	NeedsBytes
	// NeedsObject means that the sink reads the decoded object.
	NeedsObject
)

// Replacement is a new state of the whole collection that has not been committed yet.
type Replacement interface {
	// CompareContents makes the replacement compare objects by content. It is called when the
	// server has gone back in time and may have assigned resourceVersions a second time, or the
	// source does not count them: an object whose version the sink has, or that has no version, is
	// then kept only if its content is equal. If writes is true, it is also kept if one write is
	// known to have made both states, which two servers may show differently. It must be called
	// before any other method.
	CompareContents(writes bool)
	// Needs returns what Add will read of the item, so that the caller can prepare it in advance
	// and drop the rest. It may be called concurrently with Add, by one goroutine. The caller sets
	// Item.Known to known before Add, so that what Needs decided still holds if the collection has
	// changed by then.
	Needs(item Item) (need Need, known any)
	// Add adds an object of a list, or an ADDED event of an initial state. If the replacement
	// holds the key already, it keeps the newer version, or the later one if they cannot be
	// compared, and reports the key as a Duplicate, once. An item without a Key for which
	// IsUnreadable reports true may be any object that the list lacks. If the sink knows what it
	// has, Commit keeps those.
	Add(item Item)
	// Update adds a MODIFIED event of an initial state. It does not report a Duplicate.
	Update(item Item)
	// Remove removes an object that was added, unless its version is newer than the item's.
	Remove(item Item)
	// Differs reports, after Commit, whether it deleted an object or stored one whose
	// resourceVersion is not newer than version. If the sink was up to date at version, and nothing
	// was deleted since, the server has lost or changed its history. An object that was stored with
	// other contents at the same resourceVersion counts only if contents is true.
	Differs(version string, contents bool) bool
	// Commit makes the replacement the collection's state at resourceVersion. Readers see all of a
	// whole collection at once, and that of scopes in pieces. On error the collection is unchanged.
	// After ErrOutdated the caller must list again: after CompareContents, only if the sink was
	// cleared meanwhile.
	Commit(resourceVersion string) error
}

// Outcome is the result of applying an event.
type Outcome int

const (
	// Applied means that the event changed the collection.
	Applied Outcome = iota
	// Unchanged means that the collection was in this state already.
	Unchanged
	// Stale means that the collection holds a newer state of the object. Nothing changed.
	Stale
	// Quarantined means that the object could not be stored. Its last good state remains.
	Quarantined
	// Outdated means that the collection has forgotten what was deleted since the event. Nothing
	// changed, and the source must be listed again.
	Outdated
)
