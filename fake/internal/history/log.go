package history

import (
	"sort"

	"k8s.io/apimachinery/pkg/watch"
)

// changeLog is the bounded memory of one collection, oldest change first. Changes are numbered without gaps, so that a watcher finds
// its place by subtraction.
//
//	      floor: the version of the last change forgotten, or of the last compaction
//	        |
//	 ...... | changes[0]  changes[1]  ...  changes[n-1] | <- next
//	forgotten   first                                     first + n
type changeLog struct {
	changes []*change
	first   uint64 // the number of changes[0]
	floor   uint64 // a watch or a list can start at this version, and at none below
}

// next is the number that the next change will get.
func (l *changeLog) next() uint64 {
	return l.first + uint64(len(l.changes))
}

// append adds a change and forgets the oldest ones beyond the limit.
func (l *changeLog) append(c *change, limit int) {
	l.changes = append(l.changes, c)
	l.forget(len(l.changes) - limit)
}

// forget drops the n oldest changes. The space they took at the front of the slice is given back when append moves it.
func (l *changeLog) forget(n int) {
	for range max(n, 0) {
		l.floor = l.changes[0].version
		l.changes[0] = nil
		l.changes = l.changes[1:]
		l.first++
	}
}

// after returns the number of the first change newer than a version.
func (l *changeLog) after(version uint64) uint64 {
	i := sort.Search(len(l.changes), func(i int) bool { return l.changes[i].version > version })
	return l.first + uint64(i)
}

// change is one write.
type change struct {
	version  uint64
	old, new *Item // old is nil for a create, new is nil for a delete

	// The three faces that a change can have, made when a watcher first asks: an update looks like a create to a watcher whose
	// selector the object has just entered, and like a delete to one whose selector it has left.
	added, modified, deleted *Event
}

// event returns what a watcher with this query sees of the change, or nil. The caller holds the memory's mu.
func (c *Collection) event(ch *change, q query) *Event {
	before, after := q.matches(ch.old), q.matches(ch.new)
	switch {
	case before && after:
		return once(&ch.modified, func() *Event { return newEvent(watch.Modified, ch.new) })
	case after:
		return once(&ch.added, func() *Event { return newEvent(watch.Added, ch.new) })
	case before:
		return once(&ch.deleted, func() *Event { return newEvent(watch.Deleted, c.departed(ch.old, ch.version)) })
	default:
		return nil
	}
}

// departed is how an object is shown that is gone, or gone out of sight: its last content, with the version at which it went.
func (c *Collection) departed(last *Item, version uint64) *Item {
	return c.newItem(last.Key, version, last.Object.DeepCopyObject().(Object))
}

func once(face **Event, build func() *Event) *Event {
	if *face == nil {
		*face = build()
	}
	return *face
}
