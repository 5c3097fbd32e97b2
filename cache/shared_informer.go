// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/mutation"
)

// SharedInformer keeps a store equal to a collection of the API and delivers changes to any number
// of handlers, each at its own pace. Its methods are safe for concurrent use, also by handlers, and
// may be called before, during and after Run.
type SharedInformer[T Object] struct {
	core    core
	store   Reader[T]
	options InformerOptions[T]
	objects codec.ObjectType
	omitted *fields.Omitted // nil if there are none

	mutations *mutation.Detector // nil unless mutations are to be detected
}

// NewSharedInformer returns an informer of lw's objects.
//
// The example states the type of the objects, which is T. For unstructured and metadata-only
// objects its apiVersion and kind state their kind, too; if these are empty, or the example is a
// nil pointer, objects of any kind are accepted. The informer does not keep the example.
//
// Nothing happens before Run. If an argument is invalid, Run and every other method that returns an
// error return an error that names it. Invalid arguments are, among others: a nil ListerWatcher, a
// ListWatch that lists another type, a T that is no pointer type, a negative ResyncPeriod, an Index
// without a function or of a field that T does not have, a Backoff with Steps and without a
// Duration, invalid OmitFields or Scopes, and options that cannot be combined.
func NewSharedInformer[T Object](lw ListerWatcher, example T, options InformerOptions[T]) *SharedInformer[T] {
	objects, err := objectsOf(lw, example)
	report := options.reflectorOptions().reporter(objects, example)
	indexers, indexErr := options.Indexers.resolve(objects)
	spec := options.spec(lw, objects, indexers, report)
	s := &SharedInformer[T]{options: options, objects: objects, mutations: options.mutationDetector()}
	if s.mutations != nil {
		spec.Track = func(key string, value any) { s.mutations.Add(key, as[T](value)) }
	}
	assembled, omitErr := engine.New(spec)
	if err = errors.Join(err, options.check(), indexErr, omitErr, checkOmitted(indexers, assembled.Omitted)); err != nil {
		err = fmt.Errorf("informer of %s: %w", report.name, err)
	}
	s.store, s.omitted = Reader[T]{assembled.Store(), keyOf(KeyFunc[T](nil))}, assembled.Omitted
	s.core = core{
		engine: assembled.Informer, runner: assembled.Run, source: assembled.Source, kind: objects.Kind(), report: report, clock: clockOf(options.Clock), invalid: err,
		admits: s.admits(lw), scopes: options.Scopes.internalSet(),
		key: func(obj Object) (string, error) {
			if typed, ok := obj.(T); ok {
				return s.store.key(typed)
			}
			return "", fmt.Errorf("expected %s, got %T", objects, obj)
		},
	}
	if s.mutations != nil {
		s.core.detect = s.detectMutations
	}
	return s
}

// detectMutations checks the store's objects in the background, once a second. stop makes a last
// check and returns after it.
func (s *SharedInformer[T]) detectMutations(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ticking, ok := s.options.Clock.(clock.WithTicker)
	if !ok {
		ticking = clock.RealClock{}
	}
	stored := func(key string, object runtime.Object) bool {
		current, exists := s.core.engine.Store().Get(key)
		return exists && current == any(object)
	}
	var running sync.WaitGroup
	running.Go(func() {
		s.mutations.Run(ctx, ticking, time.Second, stored, func(err error) { s.core.report.handle(ctx, err) })
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// admits returns a function that returns ErrNotSelected for an object that the informer does not
// hold.
func (s *SharedInformer[T]) admits(lw ListerWatcher) func(obj, written Object) error {
	selected, filter := asListWatch(lw).selected, s.options.Filter
	return func(obj, written Object) error {
		if err := selected.check(written); err != nil || filter == nil {
			return err
		}
		filtered := s.omitted.Without(obj).(T)
		accepts, err := feed.CatchPanic(func() (bool, error) { return filter(filtered), nil })
		switch {
		case err != nil:
			return fmt.Errorf("filter: %w", err)
		case !accepts:
			return fmt.Errorf("%w: its Filter refuses it", ErrNotSelected)
		}
		return nil
	}
}

// keptOf returns the object that the informer keeps for one of the server's.
func (s *SharedInformer[T]) keptOf(obj Object) (kept T, err error) {
	if codec.IsNil(obj) {
		return kept, errNilObject
	}
	if err := s.objects.Check(obj); err != nil {
		return kept, err
	}
	object, err := s.objects.Kept(s.omitted.Without(obj))
	if err != nil {
		return kept, err
	}
	return object.(T), nil
}

// AddEventHandler adds a handler, and does not block. A handler that is added while the informer
// runs first receives an addition of each stored object, with InInitialList set, and then the later
// events. For events that arrive faster than the handler returns, see HandlerOptions.EveryEvent.
// After the informer has stopped, AddEventHandler returns ErrStopped.
func (s *SharedInformer[T]) AddEventHandler(handler EventHandler[T], options HandlerOptions) (*Registration, error) {
	err := checkHandler(handler)
	if _, filters := asFiltering(handler); filters && options.WithoutOld {
		err = errors.Join(err, errFilterNeedsOld)
	}
	goType, _, _ := strings.Cut(fmt.Sprintf("%T", handler), "[") // without type arguments
	return s.addHandler(err, goType, options, func(config *informer.HandlerConfig) {
		switch any(handler).(type) {
		case ResourceEventHandlerFuncs[T], *ResourceEventHandlerFuncs[T]:
			config.WithoutOldOfDeletions = true
		}
		config.OnEvent = func(e informer.Event) { handler.OnEvent(eventOf[T](&e)) }
	})
}

// AddBatchHandler is AddEventHandler for a function that receives events in batches of up to a few
// dozen, in order. The slice is valid only during the call.
func (s *SharedInformer[T]) AddBatchHandler(handler func(events []Event[T]), options HandlerOptions) (*Registration, error) {
	var err error
	if handler == nil {
		err = errNoHandler
	}
	return s.addHandler(err, "func([]cache.Event)", options, func(config *informer.HandlerConfig) {
		var events []Event[T] // reused by the handler's goroutine
		config.OnBatch = func(batch []informer.Event) {
			for i := range batch {
				events = append(events, eventOf[T](&batch[i]))
			}
			defer func() {
				clear(events)
				events = events[:0]
			}()
			handler(events)
		}
	})
}

// AddKeyHandler is AddEventHandler for a function that receives only the keys of changed objects,
// to add them to a work queue. A key that changes again before it is delivered is delivered once
// (but see KeyEvent), so the backlog is bounded by the number of keys, and no object is decoded.
func (s *SharedInformer[T]) AddKeyHandler(handler func(event KeyEvent), options HandlerOptions) (*Registration, error) {
	var err error
	switch {
	case handler == nil:
		err = errNoHandler
	case options.EveryEvent:
		err = errKeysCoalesce
	}
	return s.addHandler(err, "func(cache.KeyEvent)", options, func(config *informer.HandlerConfig) {
		config.OnKey = func(event informer.KeyEvent) { handler(KeyEvent(event)) }
	})
}

var (
	errFilterNeedsOld = errors.New("WithoutOld must not be set: a FilteringResourceEventHandler reads the old state")
	errKeysCoalesce   = errors.New("EveryEvent must not be set: keys are always coalesced")
)

func (s *SharedInformer[T]) addHandler(err error, name string, options HandlerOptions, set func(*informer.HandlerConfig)) (*Registration, error) {
	name = cmp.Or(options.Name, name)
	switch {
	case s.core.invalid != nil:
		return nil, s.core.invalid
	case errors.Is(err, errNoHandler) && options.Name == "":
		return nil, fmt.Errorf("informer of %s: %w", s.core.report.name, err)
	case err != nil:
		return nil, fmt.Errorf("informer of %s: handler %s: %w", s.core.report.name, name, err)
	}
	config := informer.HandlerConfig{
		Name:            name,
		Resync:          cmp.Or(options.ResyncPeriod, s.options.ResyncPeriod),
		EveryEvent:      options.EveryEvent,
		WithoutOld:      options.WithoutOld,
		ContinueOnPanic: options.ContinueOnPanic,
		OnPanic: func(ctx context.Context, key string, recovered any) {
			s.core.report.handle(ctx, &HandlerError{Handler: name, Key: key, Panic: recovered})
		},
	}
	set(&config)
	added, err := s.core.engine.Add(config)
	if err != nil {
		return nil, err
	}
	return &Registration{added}, nil
}

// Store returns the informer's store.
func (s *SharedInformer[T]) Store() Reader[T] { return s.store }

// Run keeps the store up to date and delivers changes until ctx ends. It then returns nil once the
// last call of each handler has returned. If a handler, or a function in the options, is blocked,
// it returns an error that wraps ErrHandlerBlocked or ErrFunctionBlocked.
//
// An informer can run once: a second call returns ErrAlreadyRunning or, after the first has
// returned, ErrStopped.
func (s *SharedInformer[T]) Run(ctx context.Context) error { return s.core.run(ctx) }

// HasSynced reports whether the initial list has been stored and, unless the client is known to be
// that of a server, the first watch has been open or has failed, or 1 s has passed: the fakes of
// client-go do not send changes that were made before. It says nothing about handlers; see
// Registration.HasSynced. While the server does not serve the resource, it is false; see
// InformerOptions.Served.
func (s *SharedInformer[T]) HasSynced() bool { return s.core.engine.StoreHasSynced() }

// WaitForSync blocks until HasSynced reports true. It may be called before Run. If ctx ends first,
// or the informer stops, it returns an error with the cause, such as Forbidden, an object that the
// client cannot decode (see EnableStreaming), or that Run has not been called.
//
// Pass a context with a timeout, or end it in the ErrorHandler: the informer retries failed
// requests, so that WaitForSync blocks as long as the cause and the context last.
func (s *SharedInformer[T]) WaitForSync(ctx context.Context) error {
	return s.core.wait(ctx, s.core.engine.WaitForStoreSync)
}

// WaitForResourceVersion blocks until the store has reached a resourceVersion, such as that of a
// list or of a written object. Events, bookmarks and lists advance the store. The version of a
// write to another collection is reached by a bookmark, of which API servers send about one a
// minute, if no event arrives before.
//
// It returns an error immediately if resourceVersion is not a positive decimal number, and as soon
// as the informer is in PhaseNotServed. If ctx ends first, or the informer stops, the error says
// which version the store has reached, and the cause.
//
// Pass a context with a deadline: a restore of etcd sets the server back to an older version, and
// WaitForResourceVersion then blocks until new writes have reached this one, which may take days.
func (s *SharedInformer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	return s.core.waitForResourceVersion(ctx, resourceVersion)
}

// WaitForObject blocks until the store has seen obj, the result of a write, so that a program reads
// its own writes. The store then holds that state or a later one, or the object has been deleted
// since:
//
//	pod, err := client.Create(ctx, pod, metav1.CreateOptions{})
//	err = pods.WaitForObject(ctx, pod)
//	// pods.Store() has seen the Pod
//
// For an object outside of the informer's namespace, selectors or Filter it returns ErrNotSelected
// immediately. It knows the namespace and selectors of a ListWatch made by ListWatchOf,
// ListWatchByNamespace or NewListWatchFromClient, but not those of the program's own functions. If
// the object's newest state arrived and could not be stored, the error wraps ErrNotStored and the
// cause, even if the store has an earlier state. Other errors are those of WaitForResourceVersion.
//
// Pass a context with a deadline: if a restore of etcd has undone the write, WaitForObject blocks
// like WaitForResourceVersion. A controller that has a work queue processes the key again after the
// error.
//
// A fake clientset of client-go gives objects no resourceVersion, which is an error here. In tests,
// use fake.ListerWatcher.Serve or fake.APIServer.
func (s *SharedInformer[T]) WaitForObject(ctx context.Context, obj T) error {
	return s.core.waitForObject(ctx, obj, obj)
}

// WaitForDelete blocks until the store has reached obj's resourceVersion and holds no object with
// obj's key and UID. The object was then deleted or recreated, or a selector or Filter no longer
// accepts it. An empty UID stands for any, and an empty resourceVersion is not waited for. If the
// object exists and could never be stored, WaitForDelete goes on blocking. Errors are those of
// WaitForResourceVersion. With Scopes, the error wraps ErrNotSelected and ErrNoScope if no scope
// can hold the object, or none any more: the object may still exist.
//
// Pass a context with a deadline: finalizers may keep the object for any time. If a restore of etcd
// has undone the write that returned obj, WaitForDelete blocks as WaitForResourceVersion does.
func (s *SharedInformer[T]) WaitForDelete(ctx context.Context, obj T) error {
	return s.core.waitForDelete(ctx, obj)
}

// Status returns the informer's status.
func (s *SharedInformer[T]) Status() Status { return s.core.status() }

// StatusChanged returns a channel that is closed at the next change of Phase, Err or Synced of the
// Status, or when a handler has synced, its Backlog has become zero or it has ended. It may also be
// closed after other changes. Changes that follow each other may close it once. An Err that says
// why the scopes of NamespaceScopes or of a shard.Member are not known is no change. A caller that
// waits for a condition must call StatusChanged before Status, each time:
//
//	for {
//		changed := pods.StatusChanged()
//		if pods.Status().Phase == cache.PhaseNotServed {
//			break
//		}
//		<-changed
//	}
//
// An informer of invalid arguments never closes it.
func (s *SharedInformer[T]) StatusChanged() <-chan struct{} { return s.core.engine.StatusChanged() }

// HealthCheck returns a function for a health endpoint: an argument of apiserver's
// healthz.NamedCheck, or a controller-runtime healthz.Checker. The function returns an error if the
// informer is not running, has not synced, or does not meet the options, and nil in PhaseNotServed.
// The request may be nil.
func (s *SharedInformer[T]) HealthCheck(options HealthOptions) func(*http.Request) error {
	return healthCheck(s.core.status, s.core.clock, options)
}

// ScopeStatus returns the status of each scope, in the order in which they were added. It
// returns nil for an informer without Scopes.
func (s *SharedInformer[T]) ScopeStatus() []ScopeStatus { return s.core.scopeStatus() }

// InScope returns one scope of the informer. The scope need not be in the informer's Scopes when
// InScope is called: while it is not, the methods of the result return errors that wrap ErrNoScope.
// If the scope is invalid, or the informer has no Scopes, they return other errors.
func (s *SharedInformer[T]) InScope(scope Scope) InformerScope {
	canonical, err := scope.internal().Canonical()
	switch {
	case s.core.invalid != nil:
		err = s.core.invalid
	case s.options.Scopes == nil:
		err = fmt.Errorf("%s: %w", s.core.report.name, errNoScopes)
	case err != nil:
		err = fmt.Errorf("%s: scope of %v: %w", s.core.report.name, scope, err)
	}
	return InformerScope{&s.core, canonical, err}
}

// Views returns a view of the informer.
func (s *SharedInformer[T]) Views() []View { return s.core.views() }

func (s *SharedInformer[T]) hasStopped() bool { return s.core.hasStopped() }
