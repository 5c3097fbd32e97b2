package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// eventCounts holds the number of events of each type.
type eventCounts struct{ added, updated, deleted int }

// String implements fmt.Stringer.
func (c eventCounts) String() string {
	return fmt.Sprintf("%d added, %d updated, %d deleted", c.added, c.updated, c.deleted)
}

// eventCounter is a handler that counts events.
type eventCounter struct {
	mu    sync.Mutex // guards total
	total eventCounts
}

// OnEvent counts an event.
func (c *eventCounter) OnEvent(event cache.Event[*corev1.Node]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch event.Type {
	case cache.EventAdd:
		c.total.added++
	case cache.EventUpdate:
		c.total.updated++
	case cache.EventDelete:
		c.total.deleted++
	}
}

func (c *eventCounter) counts() eventCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

const (
	timeFormat = "15:04:05.000"
	// markDuration is the time for which a node is marked after an event.
	markDuration = 2 * time.Second
	// maxRecentEvents is the number of events that an eventRecorder keeps.
	maxRecentEvents = 200
)

// unmarked is the mark of a node without a recent event.
const unmarked = " "

// recentEvents are the latest events, the newest last. They must not be modified.
type recentEvents struct{ events []recordedEvent }

type recordedEvent struct {
	at     time.Time
	node   string
	symbol string
	text   string
}

// mark returns the symbol of the node's latest event, if it is recent.
func (r recentEvents) mark(node string, now time.Time) string {
	for _, event := range slices.Backward(r.events) {
		switch {
		case now.Sub(event.at) > markDuration:
			return unmarked
		case event.node == node:
			return event.symbol
		}
	}
	return unmarked
}

// eventRecorder is a handler that keeps the latest events, except those of the initial list.
type eventRecorder struct {
	mu     sync.Mutex // guards events
	events []recordedEvent
}

// OnEvent records an event.
func (r *eventRecorder) OnEvent(event cache.Event[*corev1.Node]) {
	if event.InInitialList {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == maxRecentEvents {
		r.events = slices.Delete(r.events, 0, maxRecentEvents/2)
	}
	r.events = append(r.events, recordedEvent{time.Now(), event.Object().Name, eventSymbol(event.Type), eventText(event)})
}

func (r *eventRecorder) recent() recentEvents {
	r.mu.Lock()
	defer r.mu.Unlock()
	return recentEvents{slices.Clone(r.events)}
}

// eventSymbol returns the symbol that marks a node after an event.
func eventSymbol(eventType cache.EventType) string {
	switch eventType {
	case cache.EventAdd:
		return "+"
	case cache.EventUpdate:
		return "~"
	default: // a deleted node has no row to mark
		return unmarked
	}
}

// eventText describes an event in one line.
func eventText(event cache.Event[*corev1.Node]) string {
	node := event.Object()
	var text string
	switch event.Type {
	case cache.EventAdd:
		text = fmt.Sprintf("added    %s  %s, %s, %s", node.Name, statusText(node), versionText(node), labelsText(node))
		if event.InInitialList {
			text += " (initial list)"
		}
	case cache.EventUpdate:
		text = fmt.Sprintf("updated  %s  %s", node.Name, changesText(event.Old, event.New))
	case cache.EventDelete:
		text = fmt.Sprintf("deleted  %s", node.Name)
	}
	return sanitize(text)
}
