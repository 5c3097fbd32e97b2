package main

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

const (
	timeFormat = "15:04:05.000"
	// markFor is how long a node stays marked after an event.
	markFor = 2 * time.Second
	// keepEvents is how many events are news.
	keepEvents = 200
)

// news are the latest events, the newest last. It is not to be changed.
type news struct{ events []happened }

type happened struct {
	at     time.Time
	node   string
	symbol string
	text   string
}

// mark returns what stands before a node: what has just happened to it.
func (n news) mark(node string, now time.Time) string {
	for _, event := range slices.Backward(n.events) {
		switch {
		case now.Sub(event.at) > markFor:
			return unmarked
		case event.node == node:
			return event.symbol
		}
	}
	return unmarked
}

// newsroom collects events as they come. The first state of a cluster is no news.
type newsroom struct {
	mu     sync.Mutex // guards events
	events []happened
}

// OnEvent takes an event.
func (r *newsroom) OnEvent(event cache.Event[*corev1.Node]) {
	if event.InInitialList {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == keepEvents {
		r.events = slices.Delete(r.events, 0, keepEvents/2)
	}
	r.events = append(r.events, happened{time.Now(), event.Object().Name, symbol(event.Type), eventText(event)})
}

func (r *newsroom) news() news {
	r.mu.Lock()
	defer r.mu.Unlock()
	return news{slices.Clone(r.events)}
}
