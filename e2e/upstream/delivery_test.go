// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"sync"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// delivery is how a controller's handler receives events. With a rule, the test itself coalesces
// events, correctly or incorrectly, to show the effect on the controller.
type delivery struct {
	name               string
	every              bool                                   // HandlerOptions.EveryEvent
	adapter            bool                                   // with an informer of package clientgo
	keys               bool                                   // a key handler, for a controller that reads only keys
	rule               func(first, second eventInfo) decision // if not nil, how the test coalesces events before the handler
	dropsAdds          bool                                   // the rule drops an addition with its deletion
	ignoresTermination bool                                   // the rule ignores deletionTimestamps
}

func (d delivery) isCorrect() bool { return !d.dropsAdds && !d.ignoresTermination }

// coalesces reports whether events of a slow handler are coalesced.
func (d delivery) coalesces() bool { return !d.every || d.rule != nil }

func deliveries() []delivery {
	return []delivery{
		{name: "CoalesceWhenBehind"},
		{name: "EveryEvent", every: true},
		{name: "CoalesceWhenBehind with clientgo", adapter: true},
		{name: "EveryEvent with clientgo", every: true, adapter: true},
		{name: "coalesced by the test", every: true, rule: coalesceCorrectly},
		{name: "incorrect, drops an Add with its Delete", every: true, rule: dropAddAndDelete, dropsAdds: true},
		{name: "incorrect, coalesces an Add with the deletionTimestamp", every: true, rule: ignoreTermination, ignoresTermination: true},
	}
}

// eventInfo is the part of an event that a rule reads.
type eventInfo struct {
	cache.EventType
	terminates bool // the event sets deletionTimestamp
}

// decision is what a rule does with two consecutive events of one object.
type decision int

const (
	keepBoth decision = iota
	coalesceBoth
	dropBoth
)

func coalesceCorrectly(first, second eventInfo) decision {
	switch {
	case first.EventType == cache.EventUpdate && second.EventType != cache.EventAdd,
		first.EventType == cache.EventAdd && second.EventType == cache.EventUpdate && !second.terminates:
		return coalesceBoth
	}
	return keepBoth
}

func dropAddAndDelete(first, second eventInfo) decision {
	if first.EventType == cache.EventAdd && second.EventType == cache.EventDelete {
		return dropBoth
	}
	return coalesceCorrectly(first, second)
}

func ignoreTermination(first, second eventInfo) decision {
	second.terminates = false
	return coalesceCorrectly(first, second)
}

// addHandler adds a controller's handler to an informer with a delivery.
func addHandler[T cache.Object](ctx context.Context, informer *cache.SharedInformer[T],
	handler clientcache.ResourceEventHandler, d delivery,
) (*cache.Registration, error) {
	options := cache.HandlerOptions{EveryEvent: d.every}
	switch {
	case d.keys:
		return informer.AddKeyHandler(func(event cache.KeyEvent) {
			if obj, ok := informer.Store().GetByKey(event.Key); ok {
				handler.OnUpdate(obj, obj)
			} else {
				handler.OnDelete(clientcache.DeletedFinalStateUnknown{Key: event.Key})
			}
		}, cache.HandlerOptions{})
	case d.rule != nil:
		c := &coalescer[T]{rule: d.rule, handler: clientGoHandler[T]{handler}, more: make(chan struct{}, 1)}
		go c.run(ctx)
		return informer.AddEventHandler(c, options)
	default:
		return informer.AddEventHandler(clientGoHandler[T]{handler}, options)
	}
}

// clientGoHandler passes events to a handler of client-go.
type clientGoHandler[T cache.Object] struct {
	clientcache.ResourceEventHandler
}

func (h clientGoHandler[T]) OnEvent(event cache.Event[T]) {
	switch event.Type {
	case cache.EventAdd:
		h.OnAdd(event.New, event.InInitialList)
	case cache.EventUpdate:
		h.OnUpdate(event.Old, event.New)
	case cache.EventDelete:
		h.OnDelete(event.Final)
	}
}

// coalescer is a handler that never blocks. By a rule, it coalesces the events that the handler
// behind it has not received yet.
type coalescer[T cache.Object] struct {
	rule    func(first, second eventInfo) decision
	handler clientGoHandler[T]
	more    chan struct{}

	mu      sync.Mutex // guards backlog
	backlog []cache.Event[T]
}

func (c *coalescer[T]) OnEvent(event cache.Event[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(event)
	select {
	case c.more <- struct{}{}:
	default:
	}
}

func (c *coalescer[T]) add(event cache.Event[T]) {
	for i := len(c.backlog) - 1; i >= 0; i-- {
		first := &c.backlog[i]
		if first.Key != event.Key {
			continue
		}
		switch c.rule(infoOf(*first), infoOf(event)) {
		case dropBoth:
			c.backlog = append(c.backlog[:i], c.backlog[i+1:]...)
			return
		case coalesceBoth:
			if event.Type == cache.EventDelete {
				first.Type, first.Final = cache.EventDelete, event.Final
			}
			first.New = event.New
			return
		case keepBoth:
		}
		break
	}
	c.backlog = append(c.backlog, event)
}

func infoOf[T cache.Object](event cache.Event[T]) eventInfo {
	terminates := event.Type == cache.EventUpdate &&
		event.New.GetDeletionTimestamp() != nil && event.Old.GetDeletionTimestamp() == nil
	return eventInfo{event.Type, terminates}
}

func (c *coalescer[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.more:
		}
		for event, ok := c.pop(); ok; event, ok = c.pop() {
			c.handler.OnEvent(event)
		}
	}
}

func (c *coalescer[T]) pop() (event cache.Event[T], ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.backlog) == 0 {
		return event, false
	}
	event, c.backlog = c.backlog[0], c.backlog[1:]
	return event, true
}

// gate blocks handlers while it is closed.
type gate struct {
	mu    sync.Mutex    // guards the fields below
	open  chan struct{} // closed while the gate is open
	calls int           // of wait
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

func (g *gate) wait() {
	g.mu.Lock()
	open := g.open
	g.calls++
	g.mu.Unlock()
	<-open
}

// count returns the number of calls that have reached the gate.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// gatedHandler is a handler behind a gate.
type gatedHandler struct {
	handler clientcache.ResourceEventHandler
	gate    *gate
}

func (h *gatedHandler) OnAdd(obj any, isInInitialList bool) {
	h.gate.wait()
	h.handler.OnAdd(obj, isInInitialList)
}

func (h *gatedHandler) OnUpdate(old, new any) {
	h.gate.wait()
	h.handler.OnUpdate(old, new)
}

func (h *gatedHandler) OnDelete(obj any) {
	h.gate.wait()
	h.handler.OnDelete(obj)
}
