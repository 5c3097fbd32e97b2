package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/source"
)

// NewInformer returns a store of lw's objects, and the controller that keeps it up to date and
// calls handler for each change while it runs.
//
// The example states the type of the objects and, for unstructured and metadata-only objects, their
// kind (apiVersion and kind set; without them, any kind). The informer does not keep it. Every
// resyncPeriod the handler receives an update of each object to itself; zero disables that, which
// is right for nearly all programs.
//
// Nothing happens before Run. Run returns an error for invalid arguments: a nil lister or handler,
// a negative resyncPeriod, a ListWatch of another type, an interface as T.
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

// Controller runs an informer of one handler. Its methods are safe for concurrent use.
type Controller struct{ core core }

// Run keeps the store up to date and calls the handler until ctx ends. It then returns nil once the
// handler's last call has returned, or ErrHandlerBlocked if that takes longer than ten seconds. A
// controller can run once: ErrAlreadyRunning, ErrStopped.
func (c *Controller) Run(ctx context.Context) error { return c.core.run(ctx) }

// HasSynced reports whether the initial list has been stored and the handler's calls for it have
// returned.
func (c *Controller) HasSynced() bool { return c.core.engine.HasSynced() }

// WaitForSync blocks until HasSynced, and otherwise as SharedInformer.WaitForSync.
func (c *Controller) WaitForSync(ctx context.Context) error {
	return c.core.wait(ctx, c.core.engine.WaitForSync)
}

// WaitForResourceVersion blocks until the store has reached a resourceVersion; see
// SharedInformer.WaitForResourceVersion.
func (c *Controller) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	return c.core.waitForResourceVersion(ctx, resourceVersion)
}

// WaitForObject blocks until the store has a write of obj; see SharedInformer.WaitForObject.
func (c *Controller) WaitForObject(ctx context.Context, obj Object) error {
	return c.core.waitForObject(ctx, obj)
}

// WaitForDelete blocks until the store no longer holds obj; see SharedInformer.WaitForDelete.
func (c *Controller) WaitForDelete(ctx context.Context, obj Object) error {
	return c.core.waitForDelete(ctx, obj)
}

// LastSyncResourceVersion returns the resourceVersion that the store has reached. It is empty
// before the first list.
func (c *Controller) LastSyncResourceVersion() string {
	return c.core.engine.Reflector().LastSyncResourceVersion()
}

// Status returns the informer's condition.
func (c *Controller) Status() Status { return c.core.status(c.HasSynced()) }

// HealthCheck returns a check for a health endpoint; see SharedInformer.HealthCheck.
func (c *Controller) HealthCheck(maxStaleness time.Duration) func(*http.Request) error {
	return healthCheck(c.Status, c.core.clock, maxStaleness)
}

// core is what all informers have, whatever the type of their objects.
type core struct {
	engine  engine
	source  source.Source
	report  *reporter
	clock   clock.Clock
	invalid error // why it cannot run
	// key returns an object's key, and admits an error if the informer does not hold it.
	key    func(obj Object) (string, error)
	admits func(obj Object) error
}

// engine is an *informer.Informer of any type.
type engine interface {
	Run(ctx context.Context) error
	HasSynced() bool
	WaitForSync(ctx context.Context) error
	WaitForResourceVersion(ctx context.Context, version string) error
	WaitForDelete(ctx context.Context, key, uid string) error
	IsQuarantined(key string) bool
	Reflector() *reflector.Reflector
	Handlers() []informer.HandlerStatus
	Size() (objects, quarantined int)
}

func (c *core) run(ctx context.Context) error {
	if c.invalid != nil {
		return c.invalid
	}
	return c.engine.Run(c.report.begin(ctx))
}

func (c *core) status(synced bool) Status {
	s := reflectorStatus(c.report.name, c.invalid, c.engine.Reflector(), c.source, synced)
	if c.invalid != nil {
		return s
	}
	s.Objects, s.Quarantined = c.engine.Size()
	for _, h := range c.engine.Handlers() {
		s.Handlers = append(s.Handlers, HandlerStatus(h))
	}
	return s
}

// notRunningAfter is how long a wait blocks before it logs that the informer is not running.
const notRunningAfter = 5 * time.Second

// wait calls a function that blocks until ctx ends. An informer that is not running may be about
// to be run by another goroutine; if it never is, the log and the error say so.
func (c *core) wait(ctx context.Context, wait func(context.Context) error) error {
	if c.invalid != nil {
		return c.invalid
	}
	if c.hasRun() {
		return wait(ctx)
	}
	done := make(chan struct{})
	defer close(done)
	go c.logNotRunning(ctx, done)
	err := wait(ctx)
	if err != nil && !c.hasRun() {
		return fmt.Errorf("%w: %w", err, errNotStarted)
	}
	return err
}

func (c *core) hasRun() bool { return c.engine.Reflector().Status().Phase != reflector.Idle }

func (c *core) logNotRunning(ctx context.Context, done <-chan struct{}) {
	timer := c.clock.NewTimer(notRunningAfter)
	defer timer.Stop()
	select {
	case <-timer.C():
		if !c.hasRun() {
			c.report.named(ctx).Info("Waiting for an informer that is not running: Run has not been called")
		}
	case <-done:
	}
}

func (c *core) waitForResourceVersion(ctx context.Context, resourceVersion string) error {
	return c.wait(ctx, func(ctx context.Context) error { return c.engine.WaitForResourceVersion(ctx, resourceVersion) })
}

func (c *core) waitForObject(ctx context.Context, obj Object) error {
	if c.invalid != nil {
		return c.invalid
	}
	key, err := c.key(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", c.report.name, err)
	}
	if err := c.admits(obj); err != nil {
		return fmt.Errorf("%s does not hold %q: %w", c.report.name, key, err)
	}
	if err := c.waitForResourceVersion(ctx, obj.GetResourceVersion()); err != nil {
		return err
	}
	if c.engine.IsQuarantined(key) {
		return fmt.Errorf("%s has received %q at %s, but keeps an older state of it: %w", c.report.name, key, obj.GetResourceVersion(), ErrNotStored)
	}
	return nil
}

func (c *core) waitForDelete(ctx context.Context, obj Object) error {
	if c.invalid != nil {
		return c.invalid
	}
	key, err := c.key(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", c.report.name, err)
	}
	return c.wait(ctx, func(ctx context.Context) error {
		if version := obj.GetResourceVersion(); version != "" {
			if err := c.engine.WaitForResourceVersion(ctx, version); err != nil {
				return err
			}
		}
		return c.engine.WaitForDelete(ctx, key, string(obj.GetUID()))
	})
}

// RunAll runs informers, controllers, reflectors or factories until ctx ends or one of them returns
// an error, which ends the others. It returns once all have returned, with their joined errors.
func RunAll(ctx context.Context, runners ...interface {
	Run(ctx context.Context) error
}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(runners))
	done := make(chan struct{})
	for i, runner := range runners {
		go func() {
			defer func() { done <- struct{}{} }()
			if errs[i] = runner.Run(ctx); errs[i] != nil {
				cancel()
			}
		}()
	}
	for range runners {
		<-done
	}
	return errors.Join(errs...)
}
