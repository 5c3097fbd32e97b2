package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	shared := NewSharedInformer(lw, example, InformerOptions[T]{
		Name:         options.Name,
		ResyncPeriod: resyncPeriod,
		ListMode:  options.ListMode,
		PageSize:     options.PageSize,
		Backoff:      options.Backoff,
		ErrorHandler: options.ErrorHandler,
		Logger:       options.Logger,
		Clock:        options.Clock,
	})
	if err := checkHandler(handler); err != nil {
		shared.invalid = errors.Join(shared.invalid, fmt.Errorf("informer of %s: %w", shared.report.name, err))
	} else if shared.invalid == nil {
		_, shared.invalid = shared.AddEventHandler(handler, HandlerOptions{})
	}
	return shared.Store(), &Controller{shared.runner}
}

// Controller runs an informer of one handler. Its methods may be called from any
// goroutine.
type Controller struct{ runner runner }

// Run keeps the store up to date and calls the handler until ctx ends. It returns
// nil then, once the handler's last call has returned, or ErrHandlerBlocked if that
// takes longer than ten seconds. It can be run once: ErrAlreadyRunning, ErrStopped.
func (c *Controller) Run(ctx context.Context) error { return c.runner.run(ctx) }

// HasSynced tells whether the store holds a first full state of the collection and
// the handler's calls for all of it have returned.
func (c *Controller) HasSynced() bool { return c.runner.engine.HasSynced() }

// WaitForSync waits until HasSynced. If that does not happen before ctx ends, or
// cannot happen any more, the error says what stands in the way: Forbidden, say, or
// connection refused.
func (c *Controller) WaitForSync(ctx context.Context) error {
	if c.runner.invalid != nil {
		return c.runner.invalid
	}
	return c.runner.engine.WaitForSync(ctx)
}

// LastSyncResourceVersion returns the version of the collection that the store has
// reached, empty before the first list.
func (c *Controller) LastSyncResourceVersion() string {
	return c.runner.engine.Reflector().LastSyncResourceVersion()
}

// Status returns the informer's condition.
func (c *Controller) Status() Status { return c.runner.status(c.HasSynced()) }
