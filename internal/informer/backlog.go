// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import "github.com/kinformer/kinformer/internal/store"

// change is a change to be delivered.
type change struct {
	store.Change
	coalesced int // number of later changes coalesced into this one
	// finalUnknown marks a deletion found by a list into which earlier changes were coalesced.
	// Final is then the last known state, which is newer than Old, the last one delivered.
	finalUnknown bool
}

// backlogEntry is an undelivered change.
type backlogEntry struct {
	change
	position uint64        // log position of its first change
	next     *backlogEntry // the entry after this one

	// The entries to which a coalesced change points. In the log, the old and new entry of a change
	// share one allocation, and each would keep the other's object alive.
	old, latest store.Entry
}

func (e *backlogEntry) ownEntries() {
	if e.Old != nil {
		e.old = *e.Old
		e.Old = &e.old
	}
	switch {
	case e.New != nil:
		e.latest = *e.New
		e.New = &e.latest
	case e.Final != nil:
		e.latest = *e.Final
		e.Final = &e.latest
	}
}

// backlog is a queue of undelivered changes, in the order of the log. Later changes are coalesced
// into earlier ones of the same key where that is allowed, so that it holds at most two changes
// per object, each with an overhead of less than 200 bytes.
type backlog struct {
	first, last *backlogEntry
	latest      map[string]*backlogEntry // the last entry of each key
	n           int
}

func (b *backlog) empty() bool { return b.n == 0 }

// add appends a change, unless coalesce merges it into the last change of its key. position is
// the log position of the change.
func (b *backlog) add(c *store.Change, position uint64, coalesce func(first, second *store.Change) bool) {
	if e := b.latest[c.Key]; e != nil && coalesce(&e.Change, c) {
		e.coalesced++
		e.finalUnknown = c.New == nil && c.Final == nil
		e.ownEntries()
		return
	}
	e := &backlogEntry{change: change{Change: *c}, position: position}
	if b.latest == nil {
		b.latest = make(map[string]*backlogEntry)
	}
	b.latest[c.Key] = e
	if b.last == nil {
		b.first = e
	} else {
		b.last.next = e
	}
	b.last = e
	b.n++
}

// pop removes the first change and returns it. Later changes are not coalesced into it.
func (b *backlog) pop() change {
	e := b.first
	if b.first = e.next; b.first == nil {
		b.last = nil
	}
	e.next = nil // a reference to this entry must not keep later entries alive
	if b.latest[e.Key] == e {
		delete(b.latest, e.Key)
	}
	if b.n--; b.n == 0 {
		b.latest = nil // a map never shrinks
	}
	return e.change
}
