package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/source"
)

// NewSharedIndexInformer returns an informer of lw's objects that does not run yet, as
// client-go's function of that name does. The example says their type, and the kind of
// unstructured ones; nothing of it is kept.
func NewSharedIndexInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, Options{ResyncPeriod: defaultEventHandlerResyncPeriod, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is NewSharedIndexInformer with options.
func NewSharedIndexInformerWithOptions(lw clientcache.ListerWatcher, exampleObject runtime.Object, options Options) clientcache.SharedIndexInformer {
	return newInformer(lw, exampleObject, options)
}

// sharedIndexInformer is client-go's SharedIndexInformer on our engine.
type sharedIndexInformer struct {
	engine    *informer.Informer[any]
	indexer   *indexer
	objects   codec.ObjectType
	source    source.Source
	lw        clientcache.ListerWatcher
	failures  failures
	typeName  string // of the example
	options   Options
	mutations clientcache.MutationDetector

	mu      sync.Mutex // guards what follows; no function of the user is called under it
	running context.Context
	stopped bool
	// transform is written before it runs, and read without mu from then on.
	transform   clientcache.TransformFunc
	transformed atomic.Bool // whether transform is set; may be read at any time
}

var _ clientcache.SharedIndexInformer = (*sharedIndexInformer)(nil)

func newInformer(lw clientcache.ListerWatcher, example runtime.Object, options Options) *sharedIndexInformer {
	s := &sharedIndexInformer{
		lw:        lw,
		options:   options,
		typeName:  fmt.Sprintf("%T", example),
		indexer:   &indexer{key: clientcache.DeletionHandlingMetaNamespaceKeyFunc},
		mutations: clientcache.NewCacheMutationDetector(fmt.Sprintf("%T", example)),
	}
	if s.options.ObjectDescription == "" {
		s.options.ObjectDescription = describe(example)
	}
	s.failures.of = reflectorOf(s.options.ObjectDescription)
	s.objects = codec.TypeOf(reflect.TypeOf(example), example)
	s.source = source.New(source.Config{
		ListerWatcher: listerWatcher{lw},
		Objects:       s.objects,
		Streaming:     options.Streaming,
		Codec:         codec.Options{ShareEqual: options.ShareEqual, Packed: options.Packed},
	})
	s.engine = informer.New(s.config())
	s.indexer.keep(s.engine.Store(), options.Indexers)
	return s
}

// listerWatcher is client-go's ListerWatcher with the methods of ours. It passes the request's
// context on.
type listerWatcher struct{ clientcache.ListerWatcher }

var errNoLister = errors.New("the ListerWatcher is nil")

func (lw listerWatcher) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).ListWithContext(ctx, options)
}

func (lw listerWatcher) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if lw.ListerWatcher == nil {
		return nil, errNoLister
	}
	return clientcache.ToListerWatcherWithContext(lw.ListerWatcher).WatchWithContext(ctx, options)
}

// Run runs the informer until stopCh is closed.
func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext keeps the store up to date and tells handlers until ctx ends. It returns
// once the handlers have.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.begin(ctx) {
		klog.FromContext(ctx).Info("Warning: the informer was started already, and runs once", "type", s.options.ObjectDescription)
		return
	}
	defer s.end()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.mutations.Run(ctx.Done())
	}()
	if err := s.engine.Run(ctx); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Informer has failed", "type", s.options.ObjectDescription)
	}
	cancel()
	<-watched
}

// mayWatchList tells whether the initial state may be asked for by a watch: as client-go
// does, by its feature gate, and not of a source that declares not to know it.
func (s *sharedIndexInformer) mayWatchList() bool {
	return features.FeatureGates().Enabled(features.WatchListClient) && !watchlist.DoesClientNotSupportWatchListSemantics(s.lw)
}

// begin notes that the informer runs, and tells whether it may.
func (s *sharedIndexInformer) begin(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return false
	}
	s.running = ctx
	return true
}

func (s *sharedIndexInformer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
}

// IsStopped tells whether the informer has been told to stop.
func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped || s.running != nil && s.running.Err() != nil
}

// beforeRun calls set, unless the informer was started.
func (s *sharedIndexInformer) beforeRun(set func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return errStarted
	}
	set()
	return nil
}

var errStarted = errors.New("informer has already started")

// SetTransform sets what is called for each object received, before it is stored. It may
// return an object of another name, version, or type.
func (s *sharedIndexInformer) SetTransform(transform clientcache.TransformFunc) error {
	return s.beforeRun(func() { s.setTransform(transform) })
}

// transforms reports whether a transform is set.
func (s *sharedIndexInformer) transforms() bool { return s.transformed.Load() }

func (s *sharedIndexInformer) setTransform(transform clientcache.TransformFunc) {
	s.transform = transform
	s.transformed.Store(transform != nil)
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext.
func (s *sharedIndexInformer) SetWatchErrorHandler(handler clientcache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *clientcache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets what hears of each failed attempt to list or watch.
// The reflector that it is given is there to be read.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler clientcache.WatchErrorHandlerWithContext) error {
	return s.beforeRun(func() { s.failures.handler = handler })
}

// HasSynced tells whether the store holds a first full state of the collection.
func (s *sharedIndexInformer) HasSynced() bool { return clientcache.IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker is done once HasSynced.
func (s *sharedIndexInformer) HasSyncedChecker() clientcache.DoneChecker {
	return doneChecker{name: s.name, done: s.engine.Reflector().Synced()}
}

func (s *sharedIndexInformer) name() string { return "SharedIndexInformer " + s.typeName }

// LastSyncResourceVersion returns the version that the store has reached.
func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	return s.engine.Reflector().LastSyncResourceVersion()
}

// GetStore returns the store, which is there before, during and after Run.
func (s *sharedIndexInformer) GetStore() clientcache.Store { return s.indexer }

// GetIndexer returns the store with its indexes.
func (s *sharedIndexInformer) GetIndexer() clientcache.Indexer { return s.indexer }

// AddIndexers adds indexes to the store, before Run or while it runs.
func (s *sharedIndexInformer) AddIndexers(indexers clientcache.Indexers) error {
	if s.IsStopped() {
		return errors.New("indexer was not added because it has stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController returns a controller whose Run does nothing, as client-go does.
func (s *sharedIndexInformer) GetController() clientcache.Controller { return idleController{s} }

// idleController tells of an informer and cannot run it.
type idleController struct{ informer *sharedIndexInformer }

func (c idleController) RunWithContext(context.Context) {}
func (c idleController) Run(<-chan struct{})            {}
func (c idleController) HasSynced() bool                { return c.informer.HasSynced() }
func (c idleController) HasSyncedChecker() clientcache.DoneChecker {
	return c.informer.HasSyncedChecker()
}
func (c idleController) LastSyncResourceVersion() string { return c.informer.LastSyncResourceVersion() }

// doneChecker is something that will be done.
type doneChecker struct {
	name func() string
	done <-chan struct{}
}

func (c doneChecker) Name() string          { return c.name() }
func (c doneChecker) Done() <-chan struct{} { return c.done }

// describe names an example's type in words: of an unstructured object its kind.
func describe(example runtime.Object) string {
	if example == nil {
		return "<unspecified>"
	}
	if kind := example.GetObjectKind(); kind != nil {
		if _, ok := example.(runtime.Unstructured); ok && !kind.GroupVersionKind().Empty() {
			return kind.GroupVersionKind().String()
		}
	}
	return fmt.Sprintf("%T", example)
}
