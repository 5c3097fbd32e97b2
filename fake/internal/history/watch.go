// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Watcher is a cursor into a collection's log. It need not be closed. It is not safe for concurrent
// use.
type Watcher struct {
	c     *Collection
	query query

	sendsInitialEvents bool    // the watch starts with the current objects
	initial            []*Item // remaining initial items, sent as ADDED before all changes
	initialEventsEnd   *Event  // the bookmark after the initial items; nil if not requested or sent

	next  uint64 // number of the next change to read
	after uint64 // only changes after this version are sent; it may be a future version
	epoch int
	limit uint64 // if not 0, the newest version of the lagging replica that is watched

	allowBookmarks bool
	bookmarkDue    bool
	bookmarksSent  int // compared with the memory's bookmarks
}

// Watch answers a watch request for a namespace ("" for all) as the real server does:
//
//   - a watch at a resourceVersion starts with the first change after it, and is 410 Expired if the
//     window no longer covers it; a watch at a future version sends nothing until the server has
//     passed that version;
//   - a watch at "" or "0" starts with the current objects as ADDED, unless sendInitialEvents is
//     false;
//   - with sendInitialEvents, a watch starts with the current objects as ADDED and, if bookmarks
//     are allowed, a bookmark at the version of those objects with the annotation
//     k8s.io/initial-events-end; a future version is 504.
//
// To a watch of a lagging replica, the current objects are those at the replica's version, and it
// sends nothing beyond that version.
//
// 410 and 504 are returned as a StreamError, which the caller must send as an ERROR event on an
// open stream, as the real server does. For any other error no stream must be opened.
func (c *Collection) Watch(namespace string, opts metav1.ListOptions, replica Replica) (*Watcher, error) {
	w, err := c.watch(namespace, opts)
	if err != nil || replica == 0 {
		return w, err
	}
	return w, w.limitTo(uint64(replica))
}

func (c *Collection) watch(namespace string, opts metav1.ListOptions) (*Watcher, error) {
	r, err := c.parse(namespace, opts, true)
	if err != nil {
		return nil, err
	}
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &Watcher{c: c, query: r.query, epoch: m.epoch, allowBookmarks: r.allowBookmarks, bookmarksSent: m.bookmarks, next: c.log.next(), after: r.version}
	switch {
	case r.sendInitialEvents != nil && *r.sendInitialEvents:
		return w, w.startWithInitialEvents(r)
	case r.sendInitialEvents == nil && r.version == 0:
		w.sendsInitialEvents, w.initial = true, r.inNamespace(c.snapshot())
	case r.version > 0:
		if r.version < c.log.windowFloor {
			return nil, &StreamError{expired(r.version, c.log.windowFloor)}
		}
		w.next = c.log.after(r.version)
	}
	return w, nil
}

// limitTo makes the new watcher one of a lagging replica at a version.
func (w *Watcher) limitTo(version uint64) error {
	c, m := w.c, w.c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if version < c.log.floor || version > m.version {
		return &StreamError{expired(version, c.log.floor)}
	}
	w.limit = version
	if w.sendsInitialEvents {
		w.initial = w.query.inNamespace(c.snapshotAt(version))
		w.after, w.next = version, c.log.after(version)
	}
	if w.initialEventsEnd != nil {
		w.initialEventsEnd = c.bookmark(version, true)
	}
	return nil
}

// startWithInitialEvents prepares the initial events of a watch list. The caller must hold mu.
func (w *Watcher) startWithInitialEvents(r *request) error {
	current := w.c.memory.version
	if r.version > current {
		return &StreamError{TooLarge(r.version, current)}
	}
	w.sendsInitialEvents, w.initial, w.after = true, w.query.inNamespace(w.c.snapshot()), current
	if r.allowBookmarks {
		w.initialEventsEnd = w.c.bookmark(current, true)
	}
	return nil
}

// StreamError is an error that the real server sends as an ERROR event on an open watch.
type StreamError struct{ Err error }

// Error implements error.
func (e *StreamError) Error() string { return e.Err.Error() }

// Unwrap returns the API error, which is the object of the ERROR event.
func (e *StreamError) Unwrap() error { return e.Err }

// Next returns up to limit events. If there are none, it returns a channel that is closed at the
// next change. An error ends the watch: the caller must close the stream silently for ErrEnded, and
// after an ERROR event for a StreamError.
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
	if w.next < w.c.log.windowFirst {
		return nil, nil, &StreamError{expired(w.after, w.c.log.windowFloor)}
	}
	events := w.takeChanges(limit)
	if len(events) > 0 {
		return events, nil, nil
	}
	if w.c.removed {
		return nil, nil, ErrEnded
	}
	if w.allowBookmarks && (w.bookmarkDue || w.bookmarksSent != m.bookmarks) {
		w.bookmarkDue, w.bookmarksSent = false, m.bookmarks
		return []*Event{w.c.bookmark(w.version(), false)}, nil, nil
	}
	return nil, w.c.nextChange(), nil
}

// Bookmark makes Next return a bookmark after the outstanding events, if bookmarks are allowed.
func (w *Watcher) Bookmark() {
	w.c.memory.mu.Lock()
	defer w.c.memory.mu.Unlock()
	w.bookmarkDue = true
}

// version returns the newest version of the watched server. The caller must hold mu.
func (w *Watcher) version() uint64 {
	if w.limit > 0 {
		return w.limit
	}
	return w.c.memory.version
}

// takeInitial returns up to limit initial events. It needs no lock because the initial items belong
// to the watcher.
func (w *Watcher) takeInitial(limit int) []*Event {
	var events []*Event
	for len(w.initial) > 0 && len(events) < limit {
		if item := w.initial[0]; w.query.matches(item) {
			events = append(events, newEvent(watch.Added, item))
		}
		w.initial = w.initial[1:]
	}
	if len(w.initial) == 0 && w.initialEventsEnd != nil && len(events) < limit {
		events = append(events, w.initialEventsEnd)
		w.initialEventsEnd = nil
	}
	return events
}

// takeChanges reads up to limit events from the log. The caller must hold mu.
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

// nextChange returns a channel that is closed by the next change. The caller must hold mu.
func (c *Collection) nextChange() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// IsStreamError reports whether err is a StreamError.
func IsStreamError(err error) bool {
	var stream *StreamError
	return errors.As(err, &stream)
}
