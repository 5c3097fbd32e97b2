// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/source"
)

// sharedIndexInformer implements client-go's SharedIndexInformer on internal/informer; comments on
// its methods say what client-go's do not.
type sharedIndexInformer struct {
	engine      *informer.Informer
	indexer     *indexer
	objects     codec.ObjectType
	source      source.Source
	watchErrors watchErrors
	errors      *objectLog
	name        string // of its done channel
	options     settings
	mutations   clientcache.MutationDetector
	scopes      *scope.Set // nil if it has the whole collection
	invalid     error      // why it cannot run

	mu      sync.Mutex      // guards the fields below; the user's functions are called without it
	running context.Context // of Run, ended when Run returns; nil before it
	// transform is written before Run, and read without mu by Run's goroutines.
	transform   clientcache.TransformFunc
	transformed atomic.Bool // transform is set; may be read at any time
}

func newInformer(lw clientcache.ListerWatcher, example runtime.Object, options settings) *sharedIndexInformer {
	s := &sharedIndexInformer{
		options:   options,
		name:      fmt.Sprintf("SharedIndexInformer %T", example),
		indexer:   &indexer{key: clientcache.DeletionHandlingMetaNamespaceKeyFunc},
		mutations: clientcache.NewCacheMutationDetector(fmt.Sprintf("%T", example)),
	}
	s.objects = codec.TypeOf(reflect.TypeOf(example), example)
	description := describe(s.objects)
	s.options.ObjectDescription = cmp.Or(options.ObjectDescription, s.objects.Name(example), description)
	s.errors = newObjectLog(true, "informer", s.options.ObjectDescription)
	s.watchErrors.reflector = newReflectorFunc("kinformer", cmp.Or(options.ObjectDescription, description)) // as client-go's
	s.watchErrors.clock = clock.RealClock{}
	if options.Scopes != nil {
		if scopes := options.Scopes(example); scopes != nil {
			s.scopes = scope.SetOf(scopes)
		}
	}
	assembled, err := engine.New(s.spec(lw))
	s.engine, s.source, s.invalid = assembled.Informer, assembled.Source, errors.Join(err, options.check())
	if s.scopes != nil {
		s.invalid = errors.Join(s.invalid, s.scopes.Err())
	}
	s.indexer.init(s.engine.Store(), options.Indexers)
	if options.Group != nil {
		options.Group.Add(s.controller())
	}
	return s
}

func (s *sharedIndexInformer) spec(lw clientcache.ListerWatcher) engine.Spec {
	values := storeConfig(s.indexer.key, s.options.Indexers, s.errors.report)
	values.ItemKeys, values.Transforms = true, s.transformed.Load
	values.ItemIndexers = itemIndexers(s.options.Indexers)
	values.EmitUnchanged = s.options.RelistUpdates
	values.EmitUnstoredDeletions = true
	spec := engine.Spec{
		Collection: s.options.collection(lw, s.objects, s.watchErrors.report),
		Informer: informer.Config{
			Name:         s.options.ObjectDescription,
			Store:        values,
			Scopes:       s.scopes,
			HandlerGrace: -1, // client-go waits for handlers without limit
			Terminating: func(obj any) bool {
				accessor, err := meta.Accessor(obj)
				return err == nil && accessor.GetDeletionTimestamp() != nil
			},
		},
		OmitFields:   s.options.OmitFields,
		NeverWritten: s.options.NeverWritten,
		Packed:       s.options.Packed,
		Decode:       func(item feed.Item) (any, error) { return codec.Decode[any](item) },
		Transform:    func(_ string, obj any) (any, error) { return s.transform(obj) },
		Track: func(_ string, value any) {
			if object, ok := value.(runtime.Object); ok && !s.options.Packed {
				s.mutations.AddObject(object) // client-go's detector
			}
		},
	}
	spec.Wrap = func(items feed.Source) feed.Source { return withMetrics(items, s.options.SharedIndexInformerOptions) }
	if filter := s.options.Filter; filter != nil {
		spec.Informer.Filter = func(obj runtime.Object) bool { return filter(obj) }
	}
	return spec
}

func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext keeps the store up to date and delivers changes to handlers until ctx ends. It
// returns after the last call of each handler. A second call returns at once.
func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	ctx, cancel := context.WithCancel(s.errors.begin(ctx))
	defer cancel()
	if err := s.beforeRun(func() { s.running = ctx }); err != nil {
		klog.FromContext(ctx).Info("Warning: informer was started before, Run has no effect")
		return
	}
	defer s.errors.Flush()
	defer s.watchErrors.end()
	if s.invalid != nil {
		klog.FromContext(ctx).Error(s.invalid, "Failed to run informer")
		return
	}
	if s.options.Packed && s.objects.GoType == nil {
		klog.FromContext(ctx).Info("Warning: objects are not packed", "reason", "the type of the objects is not known; pass an example object")
	}
	var detector sync.WaitGroup
	detector.Go(func() { s.mutations.Run(ctx.Done()) })
	if err := s.engine.Run(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to run informer")
	}
	cancel()
	detector.Wait()
}

func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil && s.running.Err() != nil
}

// beforeRun calls set. If the informer was started, it returns an error instead.
func (s *sharedIndexInformer) beforeRun(set func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return errors.New("informer has already started")
	}
	set()
	return nil
}

// SetTransform sets a function that is called for each object received, before the object is
// stored. It may return an object with another name, version or type, or cache.ErrSkip to ignore
// the object's new state.
func (s *sharedIndexInformer) SetTransform(transform clientcache.TransformFunc) error {
	return s.beforeRun(func() { s.setTransform(transform) })
}

func (s *sharedIndexInformer) setTransform(transform clientcache.TransformFunc) {
	s.transform = transform
	s.transformed.Store(transform != nil)
}

func (s *sharedIndexInformer) SetWatchErrorHandler(handler clientcache.WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *clientcache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets a function that is called, as in client-go, with the error
// of each failed list and of each watch request that cannot be opened, except for a refused
// connection and a 429. The errors of an open watch are logged. The function may read the
// reflector, but must not run it.
func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler clientcache.WatchErrorHandlerWithContext) error {
	return s.beforeRun(func() { s.watchErrors.handler = handler })
}

// HasSynced reports whether the initial list has been stored and, unless the client is known to be
// that of a server, the first watch has been open or has failed, or 1 s has passed. It says nothing
// about handlers; see the HasSynced of their registrations.
func (s *sharedIndexInformer) HasSynced() bool { return s.engine.HasListed() }

func (s *sharedIndexInformer) HasSyncedChecker() clientcache.DoneChecker {
	return doneChecker{s.name, s.engine.Listed()}
}

func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	return s.engine.Reflector().LastSyncResourceVersion()
}

func (s *sharedIndexInformer) GetStore() clientcache.Store     { return s.indexer }
func (s *sharedIndexInformer) GetIndexer() clientcache.Indexer { return s.indexer }

// AddIndexers adds indexes to the store. It returns an error once the informer is stopping.
func (s *sharedIndexInformer) AddIndexers(indexers clientcache.Indexers) error {
	if s.IsStopped() {
		return errors.New("indexer was not added because it has stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// GetController returns a controller whose Run does nothing, as in client-go.
func (s *sharedIndexInformer) GetController() clientcache.Controller { return idleController{s} }

// idleController describes an informer, and cannot run it.
type idleController struct{ clientcache.Controller }

func (c idleController) RunWithContext(context.Context) {}
func (c idleController) Run(<-chan struct{})            {}

// doneChecker implements clientcache.DoneChecker.
type doneChecker struct {
	name string
	done <-chan struct{}
}

func (c doneChecker) Name() string          { return c.name }
func (c doneChecker) Done() <-chan struct{} { return c.done }

// describe describes the type of objects as client-go does: the kind of unstructured objects,
// otherwise the Go type.
func describe(objects codec.ObjectType) string {
	switch {
	case objects.GoType == nil:
		return "<unspecified>"
	case !objects.GVK.Empty():
		return objects.GVK.String()
	}
	return objects.GoType.String()
}
