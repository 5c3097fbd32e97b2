// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/informer"
)

// NewInformer returns a store of lw's objects and a controller, which keeps the store up to date
// and calls handler for each change while its Run method runs. It is a [SharedInformer] with one
// handler and without options: example is that of NewSharedInformer, and resyncPeriod is
// InformerOptions.ResyncPeriod.
//
// Nothing happens before Run. Run returns an error for invalid arguments: those of
// NewSharedInformer, or an invalid handler.
func NewInformer[T Object](lw ListerWatcher, example T, resyncPeriod time.Duration, handler EventHandler[T]) (Reader[T], *Controller) {
	shared := NewSharedInformer(lw, example, InformerOptions[T]{ResyncPeriod: resyncPeriod})
	core := shared.core
	if err := checkHandler(handler); err != nil {
		core.invalid = errors.Join(core.invalid, fmt.Errorf("informer of %s: %w", core.report.name, err))
	} else if core.invalid == nil {
		_, core.invalid = shared.AddEventHandler(handler, HandlerOptions{})
	}
	return shared.Store(), &Controller{core}
}

// Controller runs an informer with one handler. Its methods are safe for concurrent use.
type Controller struct{ core core }

// NewAdaptedController returns the controller of an informer of package clientgo. Its argument is
// internal, so that only that package can call it: programs call clientgo.ControllerOf.
func NewAdaptedController(adapted informer.Adapted) *Controller {
	return &Controller{core{
		engine:  adapted.Engine,
		runner:  adapted.Run,
		source:  adapted.Source,
		kind:    adapted.Kind,
		report:  newReporter(adapted.Name, nil, klog.Logger{}, clock.RealClock{}),
		clock:   clock.RealClock{},
		invalid: adapted.Invalid,
		key:     func(obj Object) (string, error) { return adapted.Key(obj) },
		admits:  func(_, _ Object) error { return nil }, // the informer's selection is not known
		scopes:  adapted.Scopes,
	}}
}

// Run keeps the store up to date and calls the handler until ctx ends. It returns as
// SharedInformer.Run does.
func (c *Controller) Run(ctx context.Context) error { return c.core.run(ctx) }

// HasDelivered reports whether SharedInformer.HasSynced does, and the handler's calls for the
// initial list have returned.
func (c *Controller) HasDelivered() bool { return c.core.engine.HasSynced() }

// WaitForDelivery blocks until HasDelivered reports true. Its errors are those of
// SharedInformer.WaitForSync; see there why ctx needs a timeout.
func (c *Controller) WaitForDelivery(ctx context.Context) error {
	return c.core.wait(ctx, c.core.engine.WaitForSync)
}

// WaitForResourceVersion blocks until the store has reached a resourceVersion; see
// SharedInformer.WaitForResourceVersion, also for why ctx needs a deadline.
func (c *Controller) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	return c.core.waitForResourceVersion(ctx, resourceVersion)
}

// WaitForObject blocks until the store has seen obj, the result of a write; see
// SharedInformer.WaitForObject, also for why ctx needs a deadline.
func (c *Controller) WaitForObject(ctx context.Context, obj Object) error {
	return c.core.waitForObject(ctx, obj, obj)
}

// WaitForDelete blocks until the store no longer holds obj; see SharedInformer.WaitForDelete, also
// for why ctx needs a deadline.
func (c *Controller) WaitForDelete(ctx context.Context, obj Object) error {
	return c.core.waitForDelete(ctx, obj)
}

// LastSyncResourceVersion returns Status().Freshness.ResourceVersion.
func (c *Controller) LastSyncResourceVersion() string {
	return c.core.engine.Reflector().LastSyncResourceVersion()
}

// Status returns the informer's status.
func (c *Controller) Status() Status { return c.core.status() }

// StatusChanged returns a channel that is closed at the next change of the informer's status; see
// SharedInformer.StatusChanged.
func (c *Controller) StatusChanged() <-chan struct{} { return c.core.engine.StatusChanged() }

// HealthCheck returns a check for a health endpoint; see SharedInformer.HealthCheck.
func (c *Controller) HealthCheck(options HealthOptions) func(*http.Request) error {
	return healthCheck(c.core.status, c.core.clock, options)
}

// Views returns a view of the informer.
func (c *Controller) Views() []View { return c.core.views() }

func (c *Controller) hasStopped() bool { return c.core.hasStopped() }

// RunAll calls functions, each in a goroutine: the Run methods of informers, controllers,
// reflectors, factories and groups, and others, such as one that runs the workers of a queue. Once
// one of them returns an error, RunAll ends the context of the others. It returns once all have
// returned, with their joined errors.
//
//	err := cache.RunAll(ctx, nodes.Run, pods.Run, runWorkers)
func RunAll(ctx context.Context, functions ...func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, run := range functions {
		running.Go(func() {
			if errs[i] = run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
