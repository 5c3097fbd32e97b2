package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/internal/informer"
)

// Delivery is how events are told to a handler that they outrun. Whatever it is, a
// handler is told of one object's changes in their order, and holds up nobody else.
type Delivery string

const (
	// MergeWhenBehind, the default, tells every event until the handler is 10,000 of
	// them behind, or twice as many as there are objects if that is more. Then events of
	// one object that wait are joined: updates with updates, and with the deletion
	// (Event.Old is the state told last, always); an addition with updates, unless one
	// sets deletionTimestamp. An object that came and went is an addition and a deletion
	// all the same, and an object created anew never the update of its predecessor. So
	// what a stuck handler keeps in memory is bounded by the objects that lived meanwhile.
	CoalesceWhenBehind Delivery = "MergeWhenBehind"
	// EveryEvent never joins events. What the handler has not been told is kept, however
	// much that is.
	EveryEvent Delivery = "EveryEvent"
)

// HandlerOptions are how a handler wants to be told. The zero value is what production
// wants.
type HandlerOptions struct {
	// Name is used in logs, errors and Status. The default names the handler's type.
	Name string
	// Delivery is MergeWhenBehind if empty. Handlers of keys have one of their own.
	Delivery Delivery
	// ResyncPeriod is the time between updates of every object to itself, told at the
	// handler's pace: it is set anew when the last has returned, and waits while the
	// handler is being joined events. Zero is the informer's, negative never.
	ResyncPeriod time.Duration
	// WithoutOld says that the handler does not look at the Old of updates, which is nil
	// then; of deletions it is the last known state all the same. It spares decoding
	// where objects are kept packed.
	WithoutOld bool
	// ContinueOnPanic: a panic of the handler is logged, reported to the ErrorHandler, and
	// counts as a return. Without it a panic does that, and then ends the process, unless
	// utilruntime.ReallyCrash is false, as anywhere in Kubernetes.
	ContinueOnPanic bool
}

// AddEventHandler adds a handler. Before Run it is told everything from the beginning;
// while the informer runs, an addition (with InInitialList) of each object that there is,
// and what changes from then on. Nobody waits for that, neither the caller nor another
// handler. An informer that has stopped refuses: ErrStopped.
func (s *SharedInformer[T]) AddEventHandler(handler ResourceEventHandler[T], options HandlerOptions) (*Registration, error) {
	err := checkHandler(handler)
	if _, filters := filtering(handler); filters && options.WithoutOld {
		err = errors.Join(err, errFilterNeedsOld)
	}
	return s.add(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		config.OnEvent = deliverTo(handler)
	})
}

// AddBatchHandler is AddEventHandler of a function that is told what there is at a time,
// in its order: one event, or a few dozen. The slice is lent for the call.
func (s *SharedInformer[T]) AddBatchHandler(handler func(events []Event[T]), options HandlerOptions) (*Registration, error) {
	var err error
	if handler == nil {
		err = errNoHandler
	}
	return s.add(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		var events []Event[T] // its goroutine's own
		config.OnBatch = func(batch []informer.Event[T]) {
			for i := range batch {
				events = append(events, eventOf(&batch[i]))
			}
			defer func() {
				clear(events)
				events = events[:0]
			}()
			handler(events)
		}
	})
}

// AddKeyHandler is AddEventHandler of a function that is told the keys of objects which
// have changed, and nothing else: a queue's Add, say. A key that changes again while it
// waits is told once, so the handler is behind by as many keys as there are, at most.
// (While a list is told, what has changed since may be told a second time.)
func (s *SharedInformer[T]) AddKeyHandler(handler func(key string), options HandlerOptions) (*Registration, error) {
	var err error
	switch {
	case handler == nil:
		err = errNoHandler
	case options.Delivery == EveryEvent:
		err = errKeysAreMerged
	}
	return s.add(err, fmt.Sprintf("%T", handler), options, func(config *informer.HandlerConfig[T]) {
		config.OnKey = handler
	})
}

var (
	errFilterNeedsOld = errors.New("a FilteringResourceEventHandler needs the old state: WithoutOld must not be set")
	errKeysAreMerged  = errors.New("keys are always merged: Delivery must not be EveryEvent")
)

// add adds a handler whose function set puts in.
func (s *SharedInformer[T]) add(err error, name string, options HandlerOptions, set func(*informer.HandlerConfig[T])) (*Registration, error) {
	if options.Name != "" {
		name = options.Name
	}
	config := informer.HandlerConfig[T]{
		Name:       name,
		Resync:     options.ResyncPeriod,
		WithoutOld: options.WithoutOld,
		ContinueOnPanic:       options.ContinueOnPanic,
		OnPanic: func(ctx context.Context, key string, recovered any) {
			s.report.handle(ctx, &HandlerError{Handler: name, Key: key, Panic: recovered})
		},
	}
	if config.Resync == 0 {
		config.Resync = s.options.ResyncPeriod
	}
	switch options.Delivery {
	case "", CoalesceWhenBehind:
	case EveryEvent:
		config.Delivery = informer.EveryEvent
	default:
		err = errors.Join(err, fmt.Errorf("Delivery is %q, which is neither %q nor %q", options.Delivery, CoalesceWhenBehind, EveryEvent))
	}
	switch {
	case s.invalid != nil:
		return nil, s.invalid
	case err != nil:
		return nil, fmt.Errorf("informer of %s: handler %s: %w", s.report.name, name, err)
	}
	set(&config)
	added, err := s.engine.Add(config)
	if err != nil {
		return nil, err
	}
	return &Registration{added}, nil
}

// Registration is a handler at an informer. Its methods may be called from any goroutine.
type Registration struct{ handler registered }

// registered is a handler of an engine of any type.
type registered interface {
	HasSynced() bool
	Synced() <-chan struct{}
	Done() <-chan struct{}
	Status() informer.HandlerStatus
	Stop(ctx context.Context) error
}

// HasSynced tells whether the handler's calls have returned for the whole first state of
// the collection or, if it was added later, for the state that was there.
func (r *Registration) HasSynced() bool { return r.handler.HasSynced() }

// Synced is closed once HasSynced. That may never be: see Done.
func (r *Registration) Synced() <-chan struct{} { return r.handler.Synced() }

// Done is closed once the handler is not called any more, and no call runs: after Stop,
// and after the informer has stopped.
func (r *Registration) Done() <-chan struct{} { return r.handler.Done() }

// Status returns how far the handler is.
func (r *Registration) Status() HandlerStatus { return HandlerStatus(r.handler.Status()) }

// Stop takes the handler away, and returns once none of its calls runs any more. What it
// has not been told by then, it never is. If ctx ends before that call returns, the error
// is ErrHandlerBlocked, and still no other call follows.
//
// A handler may stop itself, from the goroutine in which it is called: then Stop does not
// wait, and the call that it is in is the last. Where it has another goroutine stop it
// and waits for that, the two wait for each other until ctx ends; so do two handlers that
// stop each other.
func (r *Registration) Stop(ctx context.Context) error { return r.handler.Stop(ctx) }

// deliverTo returns a function that tells a handler what the engine tells.
func deliverTo[T Object](handler ResourceEventHandler[T]) func(informer.Event[T]) {
	return func(e informer.Event[T]) { handler.OnEvent(eventOf(&e)) }
}

// eventOf returns an event of the engine's as handlers know it.
func eventOf[T Object](e *informer.Event[T]) Event[T] {
	event := Event[T]{Key: e.Key, Old: e.Old, New: e.New, InInitialList: e.InInitial, Coalesced: e.Coalesced, LeftScope: e.LeftScope}
	switch e.Type {
	case informer.Add:
		event.Type = EventAdd
	case informer.Update:
		event.Type = EventUpdate
	case informer.Delete:
		event.Type, event.Old, event.told = EventDelete, e.Final, e.Old
	}
	return event
}
