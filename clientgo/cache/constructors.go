// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// constructors returns the constructors of this package.
func constructors() clientgo.Constructors { return clientgo.With(clientgo.Options{}) }

// NewSharedInformer returns an informer as [clientgo.Constructors.NewSharedInformer] does.
func NewSharedInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) clientcache.SharedInformer {
	return constructors().NewSharedInformer(lw, exampleObject, defaultEventHandlerResyncPeriod)
}

// NewSharedIndexInformer returns an informer as [clientgo.Constructors.NewSharedIndexInformer]
// does.
func NewSharedIndexInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return constructors().NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, indexers)
}

// NewSharedIndexInformerWithOptions returns an informer as
// [clientgo.Constructors.NewSharedIndexInformerWithOptions] does.
func NewSharedIndexInformerWithOptions(lw clientcache.ListerWatcher, exampleObject runtime.Object, options clientcache.SharedIndexInformerOptions) clientcache.SharedIndexInformer {
	return constructors().NewSharedIndexInformerWithOptions(lw, exampleObject, options)
}

// NewStore returns a store as [clientgo.Constructors.NewStore] does.
func NewStore(keyFunc clientcache.KeyFunc, options ...clientcache.StoreOption) clientcache.Store {
	return constructors().NewStore(keyFunc, options...)
}

// NewIndexer returns a store with indexes as [clientgo.Constructors.NewIndexer] does.
func NewIndexer(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, options ...clientcache.StoreOption) clientcache.Indexer {
	return constructors().NewIndexer(keyFunc, indexers, options...)
}

// NewInformer returns a store and a controller as [clientgo.Constructors.NewInformer] does.
func NewInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler) (clientcache.Store, clientcache.Controller) {
	return constructors().NewInformer(lw, objType, resyncPeriod, h)
}

// NewIndexerInformer returns an indexer and a controller as
// [clientgo.Constructors.NewIndexerInformer] does.
func NewIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers) (clientcache.Indexer, clientcache.Controller) {
	return constructors().NewIndexerInformer(lw, objType, resyncPeriod, h, indexers)
}

// NewTransformingInformer returns a store and a controller as
// [clientgo.Constructors.NewTransformingInformer] does.
func NewTransformingInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, transformer clientcache.TransformFunc) (clientcache.Store, clientcache.Controller) {
	return constructors().NewTransformingInformer(lw, objType, resyncPeriod, h, transformer)
}

// NewTransformingIndexerInformer returns an indexer and a controller as
// [clientgo.Constructors.NewTransformingIndexerInformer] does.
func NewTransformingIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers, transformer clientcache.TransformFunc) (clientcache.Indexer, clientcache.Controller) {
	return constructors().NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, indexers, transformer)
}

// NewInformerWithOptions returns a store and a controller as
// [clientgo.Constructors.NewInformerWithOptions] does.
func NewInformerWithOptions(options clientcache.InformerOptions) (clientcache.Store, clientcache.Controller) {
	return constructors().NewInformerWithOptions(options)
}

// NewReflector returns a reflector as [clientgo.Constructors.NewReflector] does.
func NewReflector(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewReflector(lw, expectedType, store, resyncPeriod)
}

// NewNamedReflector returns a reflector as [clientgo.Constructors.NewNamedReflector] does.
func NewNamedReflector(name string, lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewNamedReflector(name, lw, expectedType, store, resyncPeriod)
}

// NewReflectorWithOptions returns a reflector as [clientgo.Constructors.NewReflectorWithOptions]
// does.
func NewReflectorWithOptions(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, options clientcache.ReflectorOptions) *clientgo.Reflector {
	return constructors().NewReflectorWithOptions(lw, expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector returns an indexer and a reflector as
// [clientgo.Constructors.NewNamespaceKeyedIndexerAndReflector] does.
func NewNamespaceKeyedIndexerAndReflector(lw clientcache.ListerWatcher, expectedType any, resyncPeriod time.Duration) (clientcache.Indexer, *clientgo.Reflector) {
	return constructors().NewNamespaceKeyedIndexerAndReflector(lw, expectedType, resyncPeriod)
}
