// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"cmp"
	"context"
	"errors"
	"path"
	"reflect"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/naming"
	"k8s.io/apimachinery/pkg/util/wait"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/errlog"
	"github.com/kinformer/kinformer/internal/reflector"
)

// Reflector keeps a store equal to a collection of the API. It replaces client-go's type of that
// name, and has the same methods and fields. The fields must not be changed while it runs.
//
// An initial list or a relist is one call of the store's Replace, unless the store implements
// [ItemReplacer]. A watch event is a call of Add, Update or Delete, whatever the store holds. A
// store may implement clientcache.TransformingStore, clientcache.ReflectorBookmarkStore and
// clientcache.ResourceVersionUpdater. The reflector applies the transform of a TransformingStore to
// the objects of every list; the store itself transforms those of events.
//
// An error of Add, Update, Delete or Resync is logged. An error of Replace fails the list, which is
// retried. While the reflector streams, an object that cannot be decoded is logged. A relist keeps
// the store's state of such an object if the store has a method GetByKey, as client-go's stores do,
// unless that state has another UID: its object was deleted. A deletion that cannot be decoded is a
// call of Delete with an object that has only namespace, name, UID and resourceVersion.
type Reflector struct {
	// WatchListPageSize is the limit of list requests. Zero selects 500 for lists at
	// resourceVersion "" or 0, and no limit for others: the API server answers them from its watch
	// cache.
	WatchListPageSize int64
	// ShouldResync, if set, is called once in each resync period. If it returns false, the store's
	// Resync is not called.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration has no effect. The reflector resumes a watch that ends with an
	// internal error. After the fifth such watch at one resourceVersion, it lists again.
	MaxInternalErrorRetryDuration time.Duration

	options       clientcache.ReflectorOptions // with defaults
	store         clientcache.ReflectorStore
	watchErrors   watchErrors
	errors        *objectLog
	collection    engine.Collection
	sink          *storeSink
	invalid       error    // why it cannot run
	withoutEffect []string // the names of Options that are set and have none

	running sync.Mutex                          // held while it lists and watches
	loop    atomic.Pointer[reflector.Reflector] // nil before the first run
}

// NewReflector replaces the function of package tools/cache. See
// [Constructors.NewReflectorWithOptions].
func (c Constructors) NewReflector(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return c.NewNamedReflector("", lw, expectedType, store, resyncPeriod)
}

// NewNamedReflector replaces the function of package tools/cache. See
// [Constructors.NewReflectorWithOptions].
func (c Constructors) NewNamedReflector(name string, lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return c.NewReflectorWithOptions(lw, expectedType, store, clientcache.ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions replaces the function of package tools/cache. It returns a reflector of
// lw's objects that is not running. expectedType is an example of the objects: it states their type
// and, if they are unstructured, their kind. If it is nil, objects may be of any type.
//
// options.Backoff replaces the limits of requests between failed attempts; see
// cache.InformerOptions.Backoff. Run logs to options.Logger, and RunWithContext to the logger of
// its context. Of the [Options], a Reflector has Streaming, DisableStreaming, StartConsistent,
// Limits and ShareEqual. If UseClientGo, Packed, Filter, OmitFields or Served is set, its first run
// logs a warning.
func (c Constructors) NewReflectorWithOptions(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, options clientcache.ReflectorOptions) *Reflector {
	own := c.options
	if options.Name == "" {
		_, file, _, _ := goruntime.Caller(0)
		options.Name = naming.GetNameFromCallsite("client-go/tools/cache/", file, path.Dir(file)+"/cache/")
	}
	example, isObject := expectedType.(runtime.Object)
	objects := codec.TypeOf(reflect.TypeOf(expectedType), example)
	options.TypeDescription = cmp.Or(options.TypeDescription, describe(objects))
	options.Clock = cmp.Or[clock.Clock](options.Clock, clock.RealClock{})
	r := &Reflector{options: options, store: store, withoutEffect: own.withoutEffectOnReflectors()}
	r.errors = newObjectLog(false, "reflector", options.Name, "type", options.TypeDescription)
	r.watchErrors.reflector, r.watchErrors.clock = newReflectorFunc(options.Name, options.TypeDescription), options.Clock
	own.Served = nil
	own.DisableStreaming = own.DisableStreaming || !isObject && expectedType != nil
	r.sink = newStoreSink(store, objects, r.errors)
	r.collection = settings{Options: own, minWatchTimeout: options.MinWatchTimeout}.collection(lw, objects, r.watchErrors.report)
	r.collection.Reflector.Clock = options.Clock
	if options.Backoff != nil {
		r.collection.Reflector.Backoff = *options.Backoff
	}
	r.invalid = reflector.CheckBackoff(r.collection.Reflector.Backoff)
	return r
}

// NewNamespaceKeyedIndexerAndReflector replaces the function of package tools/cache. It returns an
// indexer with an index by namespace, and a reflector of lw's objects that writes to it.
func (c Constructors) NewNamespaceKeyedIndexerAndReflector(lw clientcache.ListerWatcher, expectedType any, resyncPeriod time.Duration) (clientcache.Indexer, *Reflector) {
	store := c.NewIndexer(clientcache.MetaNamespaceKeyFunc, byNamespace())
	return store, c.NewReflector(lw, expectedType, store, resyncPeriod)
}

// Name returns the reflector's name. The default is the file and line where it was made.
func (r *Reflector) Name() string { return r.options.Name }

// TypeDescription describes the type of the objects.
func (r *Reflector) TypeDescription() string { return r.options.TypeDescription }

// LastSyncResourceVersion returns the resourceVersion that the store has reached. It is empty
// before the first list.
func (r *Reflector) LastSyncResourceVersion() string {
	if loop := r.loop.Load(); loop != nil {
		return loop.LastSyncResourceVersion()
	}
	return ""
}

// Run keeps the store up to date until stopCh is closed. See RunWithContext.
func (r *Reflector) Run(stopCh <-chan struct{}) { r.RunWithContext(r.stopContext(stopCh)) }

// RunWithContext keeps the store up to date until ctx ends. It logs an error and returns at once if
// the reflector is running, or its Backoff is invalid.
func (r *Reflector) RunWithContext(ctx context.Context) {
	err := r.run(ctx, func(ctx context.Context, loop *reflector.Reflector) error { return loop.Run(ctx) })
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to run reflector", "reflector", r.options.Name)
	}
}

// ListAndWatch is ListAndWatchWithContext with a context that ends when stopCh is closed.
func (r *Reflector) ListAndWatch(stopCh <-chan struct{}) error {
	return r.ListAndWatchWithContext(r.stopContext(stopCh))
}

// ListAndWatchWithContext lists once, and then watches for as long as the watch can be resumed. It
// returns an error if the list failed, a watch could not be opened, the reflector runs already, or
// the Backoff is invalid. It returns nil if the last watch was open and cannot be resumed, the
// server refused the connection of a watch or answered it with 429, or ctx has ended.
func (r *Reflector) ListAndWatchWithContext(ctx context.Context) error {
	return r.run(ctx, func(ctx context.Context, loop *reflector.Reflector) error {
		err := loop.ListAndWatch(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // as in client-go
		}
		shown, forCaller := r.watchErrors.handlerError(err)
		if forCaller {
			return shown
		}
		r.watchErrors.log(ctx, errlog.CauseOf(err), shown, false)
		return nil
	})
}

// run calls f, and resyncs the store meanwhile.
func (r *Reflector) run(ctx context.Context, f func(context.Context, *reflector.Reflector) error) error {
	if r.invalid != nil {
		return r.invalid
	}
	if !r.running.TryLock() {
		return errors.New("the reflector is running")
	}
	defer r.running.Unlock()
	defer r.errors.Flush()
	defer r.watchErrors.end()
	ctx, cancel := context.WithCancel(r.errors.begin(ctx))
	loop := r.loop.Load()
	if loop == nil { // made in the first run, since WatchListPageSize is set after the reflector was made
		if len(r.withoutEffect) > 0 {
			klog.FromContext(ctx).Info("Warning: options have no effect on a Reflector: its store is the program's, and client-go's Reflector is of another type",
				"options", r.withoutEffect)
		}
		r.collection.Reflector.PageSize = r.WatchListPageSize
		loop, _ = engine.NewReflector(r.collection, r.sink)
		r.loop.Store(loop)
	}
	var resync sync.WaitGroup
	resync.Go(func() { r.resync(ctx, loop.Synced()) })
	defer resync.Wait()
	defer cancel()
	return f(ctx, loop)
}

// resync calls the store's Resync once in each period after the first list, until ctx ends.
func (r *Reflector) resync(ctx context.Context, synced <-chan struct{}) {
	if r.options.ResyncPeriod <= 0 {
		return
	}
	select {
	case <-synced:
	case <-ctx.Done():
		return
	}
	timer := r.options.Clock.NewTimer(r.options.ResyncPeriod)
	defer timer.Stop()
	for {
		select {
		case <-timer.C():
		case <-ctx.Done():
			return
		}
		if r.ShouldResync == nil || r.ShouldResync() {
			if err := r.store.Resync(); err != nil {
				klog.FromContext(ctx).Error(err, "Failed to resync the store")
			}
		}
		timer.Reset(r.options.ResyncPeriod)
	}
}

// stopContext returns a context that ends when stopCh is closed, with the logger of the options.
func (r *Reflector) stopContext(stopCh <-chan struct{}) context.Context {
	ctx := wait.ContextForChannel(stopCh)
	if r.options.Logger != nil {
		ctx = klog.NewContext(ctx, *r.options.Logger)
	}
	return ctx
}
