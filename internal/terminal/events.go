// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// Event is a change of an object, as a handler of the informer receives it.
type Event struct {
	Type          cache.EventType
	Key           string // of the object's row
	Text          string // describes the object or the change
	InInitialList bool
}

// text describes the event in one line.
func (e Event) text() string {
	var text string
	switch e.Type {
	case cache.EventAdd:
		text = "added    " + e.Key
	case cache.EventUpdate:
		text = "updated  " + e.Key
	case cache.EventDelete:
		return Sanitize("deleted  " + e.Key)
	}
	text += "  " + e.Text
	if e.InInitialList {
		text += " (initial list)"
	}
	return Sanitize(text)
}

// symbol returns the symbol that marks a row after the event.
func (e Event) symbol() string {
	switch e.Type {
	case cache.EventAdd:
		return "+"
	case cache.EventUpdate:
		return "~"
	default: // a deleted object has no row to mark
		return unmarked
	}
}

// EventCounts holds the number of events of each type.
type EventCounts struct{ Added, Updated, Deleted int }

// String implements fmt.Stringer.
func (c EventCounts) String() string {
	return fmt.Sprintf("%d added, %d updated, %d deleted", c.Added, c.Updated, c.Deleted)
}

// eventCounter counts events.
type eventCounter struct {
	mu    sync.Mutex // guards total
	total EventCounts
}

// Record counts an event.
func (c *eventCounter) Record(event Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch event.Type {
	case cache.EventAdd:
		c.total.Added++
	case cache.EventUpdate:
		c.total.Updated++
	case cache.EventDelete:
		c.total.Deleted++
	}
}

func (c *eventCounter) counts() EventCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

const (
	timeFormat = "15:04:05.000"
	// markDuration is the time for which a row is marked after an event.
	markDuration = 2 * time.Second
	// maxRecentEvents is the number of events that an eventRecorder keeps.
	maxRecentEvents = 200
)

// unmarked is the mark of a row without a recent event.
const unmarked = " "

// recentEvents are the latest events, the newest last. They must not be modified.
type recentEvents []recordedEvent

type recordedEvent struct {
	at time.Time
	Event
}

// mark returns the symbol of the latest event of a row, if it is recent.
func (r recentEvents) mark(key string, now time.Time) string {
	for _, event := range slices.Backward(r) {
		switch {
		case now.Sub(event.at) > markDuration:
			return unmarked
		case event.Key == key:
			return event.symbol()
		}
	}
	return unmarked
}

// eventRecorder keeps the latest events, except those of the initial list.
type eventRecorder struct {
	mu     sync.Mutex // guards events
	events recentEvents
}

// Record records an event.
func (r *eventRecorder) Record(event Event) {
	if event.InInitialList {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == maxRecentEvents {
		r.events = slices.Delete(r.events, 0, maxRecentEvents/2)
	}
	r.events = append(r.events, recordedEvent{time.Now(), event})
}

func (r *eventRecorder) recent() recentEvents {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
