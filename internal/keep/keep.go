// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package keep

// Arrival is what arrives.
type Arrival uint8

// The values of an Arrival.
const (
	Event    Arrival = iota // a state, by a watch
	Deletion                // by a watch, also of a state that the filter refuses
	Item                    // a state, by a list
	Missing                 // the key is not in a list, or its scope is removed
)

// Entry is which entry the store has of the key.
type Entry uint8

// The values of an Entry.
const (
	None  Entry = iota
	Own         // of the scope of the arrival, or of one that the list replaces
	Other       // of another scope
)

// Version is how the arrival's version relates to that of a known state.
type Version uint8

// The values of a Version.
const (
	Newer Version = iota // or they cannot be compared
	Same                 // of the same object, too
	Older
)

// Failure is how the arrival relates to the newest state of the key that could not be stored.
type Failure uint8

// The values of a Failure.
const (
	NoFailure   Failure = iota
	Unversioned         // it has no version
	NotNewer            // the failed state is not newer than the arrival
	IsNewer             // the failed state is newer than the arrival
)

// Case is an arrival and what is known of its key.
type Case struct {
	Arrival    Arrival
	Entry      Entry
	SameObject bool    // the entry may be of the object of the arrival
	Version    Version // of the arrival, compared with the entry's
	Failure    Failure
	Superseded bool // a tombstone says so of the arrival's version
	Undone     bool // the entry of the other scope may be undone by a restore of the server, or is written by the program
	Repeated   bool // the server repeats an event
	Unordered  bool // only versions of one object can be compared
}

// Verdict is what to do with an arrival.
type Verdict uint8

// The values of a Verdict.
const (
	Store     Verdict = iota // in place of the entry, if there is one
	Compare                  // store it unless its contents are those of the entry
	Unchanged                // the entry is this state
	Ignore                   // something newer is known
	Remove                   // the entry
	Record                   // that states from before are superseded
)

// Decide returns the verdict on a case.
func Decide(c Case) Verdict {
	switch c.Arrival {
	case Missing:
		if c.Entry == Own {
			return Remove
		}
		return Ignore
	case Deletion:
		return c.decideDeletion()
	case Item:
		if c.Entry == Own && c.isSame() {
			return Unchanged
		}
		if c.Entry == Own {
			return Store // whatever is newer: the list replaces it
		}
	case Event:
		if c.Entry == Own && c.SameObject {
			return c.decideUpdate()
		}
	}
	switch {
	case c.Superseded, c.Entry == Other && !c.Undone && c.Version == Older && c.comparable(), c.Entry == Own && c.isOlder():
		return Ignore
	}
	return Store
}

func (c Case) decideDeletion() Verdict {
	switch {
	case c.Entry == Own && c.isOlder():
		return Ignore
	case c.Entry == Own:
		return Remove
	case c.Entry == None && c.Failure == IsNewer:
		return Ignore
	}
	return Record
}

// decideUpdate decides on an event of the object of the own entry.
func (c Case) decideUpdate() Verdict {
	switch {
	case c.isSame() && (c.Repeated || c.Unordered):
		return Compare
	case c.isSame():
		return Unchanged
	case c.isOlder():
		return Ignore
	case c.Unordered:
		return Compare
	}
	return Store
}

// isSame reports whether the own entry is the state that arrives, and the newest of its key. An
// entry that could not be read is stored again.
func (c Case) isSame() bool {
	return c.Version == Same && (c.Failure == NoFailure || c.Failure == IsNewer)
}

// isOlder reports whether the arrival is older than the newest state of the own entry's key.
func (c Case) isOlder() bool {
	switch {
	case !c.comparable(), c.Version == Same:
		return false
	case c.Failure == NoFailure, c.Failure == Unversioned:
		return c.Version == Older
	}
	return c.Failure == IsNewer
}

// comparable reports whether the versions of the arrival and of the entry are of one history.
func (c Case) comparable() bool { return !c.Unordered || c.SameObject }
