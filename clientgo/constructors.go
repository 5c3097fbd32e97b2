// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// With returns client-go's constructors with options. A variable with the name of client-go's
// package replaces the import, and the calls remain as they are:
//
//	var informers = clientgo.With(clientgo.Options{Packed: true})
//
//	factory := informers.NewSharedInformerFactory(client, 0)
//
// If a file of the program still imports client-go's package, give the variable another name, or
// make it local.
func With(options Options) Constructors { return Constructors{options} }

// Constructors has as methods NewStore, NewIndexer and the constructors of informers, their
// factories and reflectors of client-go's packages tools/cache, informers and
// dynamic/dynamicinformer. They make those of this package or, with Options.UseClientGo,
// client-go's. The signatures are client-go's, except that a reflector is always a *[Reflector].
type Constructors struct{ options Options }

// NewSharedInformer replaces the function of package tools/cache. See
// [Constructors.NewSharedIndexInformer].
func (c Constructors) NewSharedInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) clientcache.SharedInformer {
	return c.NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, clientcache.Indexers{})
}

// NewSharedIndexInformer replaces the function of package tools/cache. It returns an informer of
// lw's objects that is not running. exampleObject states the type of the objects and, if they are
// unstructured, their kind. The informer does not keep it.
func (c Constructors) NewSharedIndexInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return c.NewSharedIndexInformerWithOptions(lw, exampleObject, clientcache.SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions replaces the function of package tools/cache. See
// [Constructors.NewSharedIndexInformer].
func (c Constructors) NewSharedIndexInformerWithOptions(lw clientcache.ListerWatcher, exampleObject runtime.Object, options clientcache.SharedIndexInformerOptions) clientcache.SharedIndexInformer {
	if c.options.usesClientGo() {
		options.Indexers = notNil(options.Indexers)
		return clientcache.NewSharedIndexInformerWithOptions(lw, exampleObject, options)
	}
	return newInformer(lw, exampleObject, settings{SharedIndexInformerOptions: options, Options: c.options})
}

// NewStore replaces the function of package tools/cache. See [Constructors.NewIndexer].
func (c Constructors) NewStore(keyFunc clientcache.KeyFunc, options ...clientcache.StoreOption) clientcache.Store {
	return c.NewIndexer(keyFunc, clientcache.Indexers{}, options...)
}

// NewInformer replaces the function of package tools/cache. See
// [Constructors.NewInformerWithOptions].
func (c Constructors) NewInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler) (clientcache.Store, clientcache.Controller) {
	return c.NewTransformingInformer(lw, objType, resyncPeriod, h, nil)
}

// NewIndexerInformer replaces the function of package tools/cache. See
// [Constructors.NewInformerWithOptions].
func (c Constructors) NewIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers) (clientcache.Indexer, clientcache.Controller) {
	return c.NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, indexers, nil)
}

// NewTransformingInformer replaces the function of package tools/cache. See
// [Constructors.NewInformerWithOptions].
func (c Constructors) NewTransformingInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, transformer clientcache.TransformFunc) (clientcache.Store, clientcache.Controller) {
	return c.NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, nil, transformer)
}

// NewTransformingIndexerInformer replaces the function of package tools/cache. See
// [Constructors.NewInformerWithOptions].
func (c Constructors) NewTransformingIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers, transformer clientcache.TransformFunc) (clientcache.Indexer, clientcache.Controller) {
	return newController(clientcache.InformerOptions{
		ListerWatcher: lw,
		ObjectType:    objType,
		Handler:       h,
		ResyncPeriod:  resyncPeriod,
		Indexers:      indexers,
		Transform:     transformer,
	}, c.options)
}

// NewInformerWithOptions replaces the function of package tools/cache. It returns a store that is
// empty, and a controller that fills it, and delivers its changes to options.Handler, while it
// runs. The controller has synced once the handler has returned for the whole initial list. A nil
// handler receives nothing.
//
// Run logs to options.Logger, and RunWithContext to the logger of its context.
//
// The handler has a goroutine of its own, so the store may contain later changes than the one that
// is delivered. In client-go, the store waits for the handler.
func (c Constructors) NewInformerWithOptions(options clientcache.InformerOptions) (clientcache.Store, clientcache.Controller) {
	return newController(options, c.options)
}

// notNil returns indexers to which client-go's stores can add others.
func notNil(indexers clientcache.Indexers) clientcache.Indexers {
	if indexers == nil {
		return clientcache.Indexers{}
	}
	return indexers
}

// controller implements client-go's Controller: it runs an informer with one handler.
type controller struct {
	informer *sharedIndexInformer
	synced   clientcache.DoneChecker // of the handler, or of the store without one
	logger   klog.Logger             // of Run
}

func newController(options clientcache.InformerOptions, own Options) (clientcache.Indexer, clientcache.Controller) {
	if own.usesClientGo() {
		options.Indexers = notNil(options.Indexers) // otherwise, client-go returns a Store
		if options.Handler == nil {
			options.Handler = clientcache.ResourceEventHandlerFuncs{} // client-go calls it
		}
		store, c := clientcache.NewInformerWithOptions(options)
		return store.(clientcache.Indexer), c
	}
	s := newInformer(options.ListerWatcher, options.ObjectType, settings{
		SharedIndexInformerOptions: clientcache.SharedIndexInformerOptions{
			Indexers:                options.Indexers,
			Identifier:              options.Identifier,
			InformerMetricsProvider: options.InformerMetricsProvider,
		},
		Options:         own,
		minWatchTimeout: options.MinWatchTimeout,
	})
	s.setTransform(options.Transform)
	c := &controller{informer: s, synced: s.HasSyncedChecker(), logger: klog.Background()}
	if options.Logger != nil {
		c.logger = *options.Logger
	}
	if options.Handler == nil {
		return s.indexer, c
	}
	if handle, err := s.addHandler(options.Handler, c.logger, options.ResyncPeriod); err == nil { // fails only after Run
		c.synced = handle.HasSyncedChecker()
	}
	return s.indexer, c
}

func (c *controller) Run(stopCh <-chan struct{}) {
	c.RunWithContext(klog.NewContext(wait.ContextForChannel(stopCh), c.logger))
}

// RunWithContext fills the store and calls the handler until ctx ends. It returns after the
// handler's last call. A second call returns at once.
func (c *controller) RunWithContext(ctx context.Context) { c.informer.RunWithContext(ctx) }

func (c *controller) HasSynced() bool                           { return clientcache.IsDone(c.synced) }
func (c *controller) HasSyncedChecker() clientcache.DoneChecker { return c.synced }
func (c *controller) LastSyncResourceVersion() string           { return c.informer.LastSyncResourceVersion() }
