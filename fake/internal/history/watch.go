package history

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watcher is a cursor into a collection's log. It holds nothing that has to be closed, and belongs to one caller at a time.
type Watcher struct {
	c     *Collection
	query query

	fromState bool    // it starts with the current objects, of which there may be none
	initial   []*Item // still to be sent as ADDED, before anything else
	end       *Event  // the bookmark after them, if it was asked for and is not yet sent

	next  uint64 // number of the change to look at next
	after uint64 // nothing up to this version is sent: it may lie in the future
	epoch int
	limit uint64 // if not 0, nothing newer is seen: the replica that is watched has come no further

	marks  bool // bookmarks are allowed
	marked int  // the memory's count of bookmarks already answered
}

// Watch answers a watch request for a namespace ("" for all) by the rules of the real server:
//
//   - a version starts with the first change after it, or with 410 Expired if that is forgotten; one not reached yet is accepted without a
//     word, and nothing is sent until the server has passed it;
//   - "" and "0" start with the current objects as ADDED, unless sendInitialEvents is false;
//   - sendInitialEvents starts with the current objects as ADDED and, where bookmarks are allowed, a bookmark with the annotation
//     k8s.io/initial-events-end, at the version of those objects; 504 if the version asked for has not been reached.
//
// The real server reports 410 and 504 as an ERROR event on an open stream: so must the caller. Other errors mean that no stream is opened.
func (c *Collection) Watch(namespace string, opts metav1.ListOptions) (*Watcher, error) {
	r, err := c.parse(namespace, opts, true)
	if err != nil {
		return nil, err
	}
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &Watcher{c: c, query: r.query, epoch: m.epoch, marks: r.marks, marked: m.bookmarks, next: c.log.next(), after: r.version}
	switch {
	case r.initial != nil && *r.initial:
		return w, w.startWithState(r)
	case r.initial == nil && r.version == 0:
		w.fromState, w.initial = true, r.within(c.snapshot())
	case r.version > 0:
		if r.version < c.log.floor {
			return nil, &StreamError{expired(r.version, c.log.floor)}
		}
		w.next = c.log.after(r.version)
	}
	return w, nil
}

// WatchAt answers like Watch, but from a server that has come no further than the given version and never will: a replica that lags behind.
func (c *Collection) WatchAt(namespace string, opts metav1.ListOptions, version uint64) (*Watcher, error) {
	w, err := c.Watch(namespace, opts)
	if err != nil {
		return nil, err
	}
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if version < c.log.floor || version > m.version {
		return nil, &StreamError{expired(version, c.log.floor)}
	}
	w.limit = version
	if w.fromState {
		w.initial = w.query.within(c.snapshotAt(version))
		w.after, w.next = version, c.log.after(version)
	}
	if w.end != nil {
		w.end = c.bookmark(version, true)
	}
	return w, nil
}

// startWithState prepares the initial events of a WatchList. The caller holds mu.
func (w *Watcher) startWithState(r *request) error {
	current := w.c.memory.version
	if r.version > current {
		return &StreamError{TooLarge(r.version, current)}
	}
	w.fromState, w.initial, w.after = true, w.query.within(w.c.snapshot()), current
	if r.marks {
		w.end = w.c.bookmark(current, true)
	}
	return nil
}

// StreamError is an error that the real server reports as an ERROR event on an open watch.
type StreamError struct{ Err error }

func (e *StreamError) Error() string { return e.Err.Error() }

// Unwrap returns the API error, which is what the ERROR event carries.
func (e *StreamError) Unwrap() error { return e.Err }

// Next returns up to limit events. If there are none at present it returns a channel that is closed when it is worth asking again.
// An error ends the watch: ErrEnded without a word to the client, a StreamError with an ERROR event.
func (w *Watcher) Next(limit int) ([]*Event, <-chan struct{}, error) {
	if events := w.takeInitial(limit); len(events) > 0 {
		return events, nil, nil
	}
	m := w.c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.epoch != m.epoch {
		return nil, nil, ErrEnded
	}
	if w.next < w.c.log.first {
		return nil, nil, &StreamError{expired(w.after, w.c.log.floor)}
	}
	events := w.takeChanges(limit)
	if len(events) > 0 {
		return events, nil, nil
	}
	if w.c.removed {
		return nil, nil, ErrEnded
	}
	if w.marks && w.marked != m.bookmarks {
		w.marked = m.bookmarks
		return []*Event{w.c.bookmark(w.version(), false)}, nil, nil
	}
	return nil, w.c.wait(), nil
}

// Bookmark returns a bookmark at the current version if bookmarks are allowed and everything up to that version was taken, else nil.
func (w *Watcher) Bookmark() *Event {
	m := w.c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	caughtUp := len(w.initial) == 0 && w.end == nil && (w.next == w.c.log.next() || w.limit > 0)
	if !w.marks || !caughtUp || w.epoch != m.epoch {
		return nil
	}
	return w.c.bookmark(w.version(), false)
}

// version is the newest that the watched server has. The caller holds mu.
func (w *Watcher) version() uint64 {
	if w.limit > 0 {
		return w.limit
	}
	return w.c.memory.version
}

// takeInitial needs no lock: the initial items are the watcher's own.
func (w *Watcher) takeInitial(limit int) []*Event {
	var events []*Event
	for len(w.initial) > 0 && len(events) < limit {
		if item := w.initial[0]; w.query.matches(item) {
			events = append(events, newEvent(watch.Added, item))
		}
		w.initial = w.initial[1:]
	}
	if len(w.initial) == 0 && w.end != nil && len(events) < limit {
		events = append(events, w.end)
		w.end = nil
	}
	return events
}

// takeChanges walks the log until limit events were found. The caller holds mu.
func (w *Watcher) takeChanges(limit int) []*Event {
	var events []*Event
	log := &w.c.log
	for w.next < log.next() && len(events) < limit {
		ch := log.changes[w.next-log.first]
		if w.limit > 0 && ch.version > w.limit {
			return events
		}
		w.next++
		if ch.version <= w.after {
			continue
		}
		w.after = ch.version
		if event := w.c.event(ch, w.query); event != nil {
			events = append(events, event)
		}
	}
	return events
}

// wait returns the channel that the next change closes. The caller holds mu.
func (c *Collection) wait() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// IsStreamError tells whether an error belongs into an ERROR event of an open watch.
func IsStreamError(err error) bool {
	var stream *StreamError
	return errors.As(err, &stream)
}
