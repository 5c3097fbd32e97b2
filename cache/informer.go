package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/internal/informer"
)

// NewInformer returns a store that will mirror lw's collection, and the
// controller that makes it so and calls handler for each change while it runs.
//
// The example says the objects' type, and the kind of unstructured and
// metadata-only ones (apiVersion and kind set; without them, any kind); nothing of
// it is kept. Every resyncPeriod the handler gets an update of each object to
// itself; zero is never, which is right for nearly everyone.
//
// Nothing is done before Run. What is wrong with the arguments is returned by Run:
// a nil lister or handler, a negative resyncPeriod, a ListWatch of another type, an
// interface as T.
func NewInformer[T Object](lw ListerWatcher, example T, resyncPeriod time.Duration, handler ResourceEventHandler[T]) (Reader[T], *Controller) {
	return newInformer(lw, example, resyncPeriod, handler, ReflectorOptions{})
}

// newInformer is NewInformer with options.
func newInformer[T Object](lw ListerWatcher, example T, resyncPeriod time.Duration, handler ResourceEventHandler[T], options ReflectorOptions) (Reader[T], *Controller) {
	kind, err := check(lw, example, options)
	err = errors.Join(err, checkHandler(handler))
	if resyncPeriod < 0 {
		err = errors.Join(err, fmt.Errorf("the resync period %v is negative", resyncPeriod))
	}
	report := newReporter(options, kind)
	objects := storeConfig[T](nil, nil, report.object)
	source, way := newSource(lw, kind)
	engine := informer.New(informer.Config[T]{
		Name:      report.name,
		Clock:     options.Clock,
		Store:     objects,
		Reflector: loopConfig(lw, source, options, nil, report),
	})
	c := &Controller{engine: engine, way: way, report: report}
	if err != nil {
		c.invalid = fmt.Errorf("informer of %s: %w", report.name, err)
	} else {
		engine.AddHandler(fmt.Sprintf("%T", handler), deliverTo(handler), resyncPeriod)
	}
	return reader[T]{engine.Store(), objects.Key}, c
}

// Controller runs an informer. Its methods may be called from any goroutine.
type Controller struct {
	engine  engine
	way     *way
	report  *reporter
	invalid error // why it cannot run
}

// engine is an informer of any type.
type engine interface {
	statusSource
	Run(ctx context.Context) error
	WaitForSync(ctx context.Context) error
}

// Run keeps the store up to date and calls the handler until ctx ends. It returns
// nil then, once the handler's last call has returned, or ErrHandlerBlocked if that
// takes longer than ten seconds. It can be run once: ErrAlreadyRunning, ErrStopped.
func (c *Controller) Run(ctx context.Context) error {
	if c.invalid != nil {
		return c.invalid
	}
	return c.engine.Run(c.report.begin(ctx))
}

// HasSynced tells whether the store holds a first full state of the collection and
// the handler's calls for all of it have returned.
func (c *Controller) HasSynced() bool { return c.engine.HasSynced() }

// WaitForSync waits until HasSynced. If that does not happen before ctx ends, or
// cannot happen any more, the error says what stands in the way: Forbidden, say, or
// connection refused.
func (c *Controller) WaitForSync(ctx context.Context) error {
	if c.invalid != nil {
		return c.invalid
	}
	return c.engine.WaitForSync(ctx)
}

// LastSyncResourceVersion returns the version of the collection that the store has
// reached, empty before the first list.
func (c *Controller) LastSyncResourceVersion() string {
	return c.engine.Reflector().LastSyncResourceVersion()
}

// Status returns the informer's condition.
func (c *Controller) Status() Status {
	if c.invalid != nil {
		return Status{Name: c.report.name, Phase: PhaseInvalid, Err: c.invalid}
	}
	return status(c.report.name, c.engine, c.way)
}

// deliverTo returns a function that tells a handler what the engine tells.
func deliverTo[T Object](handler ResourceEventHandler[T]) func(informer.Event[T]) {
	types := [...]EventType{informer.Add: EventAdd, informer.Update: EventUpdate, informer.Delete: EventDelete}
	return func(e informer.Event[T]) {
		event := Event[T]{Type: types[e.Type], Key: e.Key, Old: e.Old, New: e.New, InInitialList: e.InInitial}
		if e.Type == informer.Delete {
			event.Old, event.told = e.Final, e.Old
		}
		handler.OnEvent(event)
	}
}
