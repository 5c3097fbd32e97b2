package upstream

import (
	"context"
	"sync"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// delivery is a way to tell a controller's handler of events. The last three ways are not the library's: a rule of the
// test joins what waits, right or wrong, to show what it would do.
type delivery struct {
	name     string
	as       cache.Delivery
	adapter  bool                             // by package clientgo
	keys     bool                             // a handler of keys, for those who look at nothing else
	rule     func(first, second verb) outcome // if not nil, what the test does between the informer and the handler
	vanishes bool                             // the rule drops an addition and its deletion
	blind    bool                             // the rule does not look at deletionTimestamps
}

func (d delivery) sound() bool { return !d.vanishes && !d.blind }

// joins tells whether something joins events of a handler that is behind.
func (d delivery) joins() bool { return d.as == cache.CoalesceWhenBehind || d.rule != nil }

func deliveries() []delivery {
	every := cache.EveryEvent
	return []delivery{
		{name: "MergeWhenBehind", as: cache.CoalesceWhenBehind},
		{name: "EveryEvent", as: every},
		{name: "MergeWhenBehind by the adapter", as: cache.CoalesceWhenBehind, adapter: true},
		{name: "EveryEvent by the adapter", as: every, adapter: true},
		{name: "joined by the test's rule", as: every, rule: soundly},
		{name: "wrong: an Add and its Delete vanish", as: every, rule: vanishing, vanishes: true},
		{name: "wrong: an Add joined with the deletionTimestamp", as: every, rule: blindly, blind: true},
	}
}

// verb is what an event says, as far as joining asks for it.
type verb struct {
	cache.EventType
	deletes bool // the new state has a deletionTimestamp, and the old one has not
}

// outcome is what becomes of two events of one object.
type outcome int

const (
	apart outcome = iota
	together
	neither
)

func soundly(first, second verb) outcome {
	switch {
	case first.EventType == cache.EventUpdate && second.EventType != cache.EventAdd,
		first.EventType == cache.EventAdd && second.EventType == cache.EventUpdate && !second.deletes:
		return together
	}
	return apart
}

func vanishing(first, second verb) outcome {
	if first.EventType == cache.EventAdd && second.EventType == cache.EventDelete {
		return neither
	}
	return soundly(first, second)
}

func blindly(first, second verb) outcome {
	second.deletes = false
	return soundly(first, second)
}

// attach adds a controller's handler to an informer.
func attach[T cache.Object](ctx context.Context, informer *cache.SharedInformer[T], handler clientcache.ResourceEventHandler, how delivery) (*cache.Registration, error) {
	options := cache.HandlerOptions{Delivery: how.as}
	switch {
	case how.keys:
		return informer.AddKeyHandler(func(key string) {
			if obj, ok := informer.Store().GetByKey(key); ok {
				handler.OnUpdate(obj, obj)
			} else {
				handler.OnDelete(clientcache.DeletedFinalStateUnknown{Key: key})
			}
		}, cache.HandlerOptions{})
	case how.rule != nil:
		joiner := &joiner[T]{rule: how.rule, handler: tell[T]{handler}, more: make(chan struct{}, 1)}
		go joiner.run(ctx)
		return informer.AddEventHandler(joiner, options)
	default:
		return informer.AddEventHandler(tell[T]{handler}, options)
	}
}

// tell tells a handler of client-go's.
type tell[T cache.Object] struct {
	clientcache.ResourceEventHandler
}

func (h tell[T]) OnEvent(event cache.Event[T]) {
	switch event.Type {
	case cache.EventAdd:
		h.OnAdd(event.New, event.InInitialList)
	case cache.EventUpdate:
		h.OnUpdate(event.Old, event.New)
	case cache.EventDelete:
		h.OnDelete(event.Old)
	}
}

// joiner is a handler that takes every event at once, and joins by a rule those that the handler behind it has not taken.
type joiner[T cache.Object] struct {
	rule    func(first, second verb) outcome
	handler tell[T]
	more    chan struct{}

	mu      sync.Mutex // guards what follows
	waiting []cache.Event[T]
}

func (j *joiner[T]) OnEvent(event cache.Event[T]) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(event)
	select {
	case j.more <- struct{}{}:
	default:
	}
}

func (j *joiner[T]) add(event cache.Event[T]) {
	for i := len(j.waiting) - 1; i >= 0; i-- {
		first := &j.waiting[i]
		if first.Key != event.Key {
			continue
		}
		switch j.rule(verbOf(*first), verbOf(event)) {
		case neither:
			j.waiting = append(j.waiting[:i], j.waiting[i+1:]...)
			return
		case together:
			if event.Type == cache.EventDelete {
				first.Type, first.Old = cache.EventDelete, event.Old
			}
			first.New = event.New
			return
		case apart:
		}
		break
	}
	j.waiting = append(j.waiting, event)
}

func verbOf[T cache.Object](event cache.Event[T]) verb {
	deleting := event.Type == cache.EventUpdate &&
		event.New.GetDeletionTimestamp() != nil && event.Old.GetDeletionTimestamp() == nil
	return verb{event.Type, deleting}
}

func (j *joiner[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.more:
		}
		for event, ok := j.take(); ok; event, ok = j.take() {
			j.handler.OnEvent(event)
		}
	}
}

func (j *joiner[T]) take() (event cache.Event[T], ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.waiting) == 0 {
		return event, false
	}
	event, j.waiting = j.waiting[0], j.waiting[1:]
	return event, true
}

// gate makes handlers stick while it is shut.
type gate struct {
	mu     sync.Mutex    // guards what follows
	open   chan struct{} // closed while the gate is open
	passed int           // calls
}

func newGate() *gate {
	g := &gate{open: make(chan struct{})}
	close(g.open)
	return g
}

func (g *gate) shut() {
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

func (g *gate) pass() {
	g.mu.Lock()
	open := g.open
	g.passed++
	g.mu.Unlock()
	<-open
}

// count returns how many calls have come to the gate.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed
}

// gated is a handler behind a gate.
type gated struct {
	handler clientcache.ResourceEventHandler
	gate    *gate
}

func (h *gated) OnAdd(obj any, isInInitialList bool) {
	h.gate.pass()
	h.handler.OnAdd(obj, isInInitialList)
}

func (h *gated) OnUpdate(old, new any) {
	h.gate.pass()
	h.handler.OnUpdate(old, new)
}

func (h *gated) OnDelete(obj any) {
	h.gate.pass()
	h.handler.OnDelete(obj)
}
