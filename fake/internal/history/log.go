// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sort"

	"k8s.io/apimachinery/pkg/watch"
)

// changeLog is the bounded log of one collection's changes, oldest first. Changes are numbered
// without gaps, so a watcher computes its index by subtraction.
//
//	      floor: the version of the last dropped change, or of the last compaction
//	        |              windowFloor: the version at which the window begins
//	        |                |
//	 ...... | changes[0] ... | changes[i]  ...  changes[n-1] | <- next
//	dropped     first          windowFirst                     first + n
//
// The log is what etcd keeps, from which a list at an older version is read. The window is what the
// watch cache keeps. It is the end of the log, or all of it.
type changeLog struct {
	changes     []*change
	first       uint64 // the number of changes[0]
	floor       uint64 // the oldest version at which a list can be read
	windowFirst uint64 // the number of the first change that watches can read; at least first
	windowFloor uint64 // the oldest version at which a watch can start; at least floor
}

// next returns the number of the next change.
func (l *changeLog) next() uint64 {
	return l.first + uint64(len(l.changes))
}

// append adds a change and drops the oldest changes beyond the limit.
func (l *changeLog) append(c *change, limit int) {
	l.changes = append(l.changes, c)
	l.forget(len(l.changes) - limit)
}

// forget drops the n oldest changes. Their space at the front of the slice is freed when append
// reallocates the slice.
func (l *changeLog) forget(n int) {
	for range max(n, 0) {
		l.floor = l.changes[0].version
		l.changes[0] = nil
		l.changes = l.changes[1:]
		l.first++
	}
	l.windowFirst, l.windowFloor = max(l.windowFirst, l.first), max(l.windowFloor, l.floor)
}

// compact drops all changes, which are those up to the version.
func (l *changeLog) compact(version uint64) {
	l.forget(len(l.changes))
	l.floor = version
	l.truncateWindow(version)
}

// truncateWindow hides all changes, which are those up to the version, from watches.
func (l *changeLog) truncateWindow(version uint64) {
	l.windowFirst, l.windowFloor = l.next(), version
}

// undo drops the changes after a version that the log covers, newest first, and calls each with
// them. A window that begins after the version begins at it.
func (l *changeLog) undo(version uint64, each func(*change)) {
	for n := len(l.changes); n > 0 && l.changes[n-1].version > version; n-- {
		each(l.changes[n-1])
		l.changes[n-1] = nil
		l.changes = l.changes[:n-1]
	}
	l.windowFirst, l.windowFloor = min(l.windowFirst, l.next()), min(l.windowFloor, version)
}

// after returns the number of the first change newer than the version.
func (l *changeLog) after(version uint64) uint64 {
	i := sort.Search(len(l.changes), func(i int) bool { return l.changes[i].version > version })
	return l.first + uint64(i)
}

// change is one write.
type change struct {
	version  uint64
	old, new *Item // old is nil for a create, new is nil for a delete

	// The events that watchers receive for the change, created for the first watcher that needs
	// each. A watcher receives an update as ADDED if the object now matches its selector and did
	// not before, and as DELETED if the object no longer matches.
	added, modified, deleted *Event
}

// event returns the event that a watcher with the query receives for a change, or nil if it
// receives none. The caller must hold the memory's mu.
func (c *Collection) event(ch *change, q query) *Event {
	before, after := q.matches(ch.old), q.matches(ch.new)
	switch {
	case before && after:
		return cachedEvent(&ch.modified, func() *Event { return newEvent(watch.Modified, ch.new) })
	case after:
		return cachedEvent(&ch.added, func() *Event { return newEvent(watch.Added, ch.new) })
	case before:
		return cachedEvent(&ch.deleted, func() *Event { return newEvent(watch.Deleted, c.deletedItem(ch.old, ch.version)) })
	default:
		return nil
	}
}

// deletedItem returns the item of a DELETED event: the object's last content with the version of
// the change that deleted it, or after which it no longer matched a watcher's selector.
func (c *Collection) deletedItem(last *Item, version uint64) *Item {
	return c.newItem(last.Key, version, last.Object.DeepCopyObject().(Object))
}

func cachedEvent(cached **Event, build func() *Event) *Event {
	if *cached == nil {
		*cached = build()
	}
	return *cached
}
