// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

func constructors() clientgo.Constructors { return clientgo.With(clientgo.Options{}) }

// NewSharedInformer calls [clientgo.Constructors.NewSharedInformer].
func NewSharedInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) clientcache.SharedInformer {
	return constructors().NewSharedInformer(lw, exampleObject, defaultEventHandlerResyncPeriod)
}

// NewSharedIndexInformer calls [clientgo.Constructors.NewSharedIndexInformer].
func NewSharedIndexInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return constructors().NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, indexers)
}

// NewSharedIndexInformerWithOptions calls
// [clientgo.Constructors.NewSharedIndexInformerWithOptions].
func NewSharedIndexInformerWithOptions(lw clientcache.ListerWatcher, exampleObject runtime.Object, options clientcache.SharedIndexInformerOptions) clientcache.SharedIndexInformer {
	return constructors().NewSharedIndexInformerWithOptions(lw, exampleObject, options)
}

// NewStore calls [clientgo.Constructors.NewStore].
func NewStore(keyFunc clientcache.KeyFunc, options ...clientcache.StoreOption) clientcache.Store {
	return constructors().NewStore(keyFunc, options...)
}

// NewIndexer calls [clientgo.Constructors.NewIndexer].
func NewIndexer(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, options ...clientcache.StoreOption) clientcache.Indexer {
	return constructors().NewIndexer(keyFunc, indexers, options...)
}

// NewInformer calls [clientgo.Constructors.NewInformer].
func NewInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler) (clientcache.Store, clientcache.Controller) {
	return constructors().NewInformer(lw, objType, resyncPeriod, h)
}

// NewIndexerInformer calls [clientgo.Constructors.NewIndexerInformer].
func NewIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers) (clientcache.Indexer, clientcache.Controller) {
	return constructors().NewIndexerInformer(lw, objType, resyncPeriod, h, indexers)
}

// NewTransformingInformer calls [clientgo.Constructors.NewTransformingInformer].
func NewTransformingInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, transformer clientcache.TransformFunc) (clientcache.Store, clientcache.Controller) {
	return constructors().NewTransformingInformer(lw, objType, resyncPeriod, h, transformer)
}

// NewTransformingIndexerInformer calls [clientgo.Constructors.NewTransformingIndexerInformer].
func NewTransformingIndexerInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler, indexers clientcache.Indexers, transformer clientcache.TransformFunc) (clientcache.Indexer, clientcache.Controller) {
	return constructors().NewTransformingIndexerInformer(lw, objType, resyncPeriod, h, indexers, transformer)
}

// NewInformerWithOptions calls [clientgo.Constructors.NewInformerWithOptions].
func NewInformerWithOptions(options clientcache.InformerOptions) (clientcache.Store, clientcache.Controller) {
	return constructors().NewInformerWithOptions(options)
}

// NewReflector calls [clientgo.Constructors.NewReflector].
func NewReflector(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewReflector(lw, expectedType, store, resyncPeriod)
}

// NewNamedReflector calls [clientgo.Constructors.NewNamedReflector].
func NewNamedReflector(name string, lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewNamedReflector(name, lw, expectedType, store, resyncPeriod)
}

// NewReflectorWithOptions calls [clientgo.Constructors.NewReflectorWithOptions].
func NewReflectorWithOptions(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, options clientcache.ReflectorOptions) *clientgo.Reflector {
	return constructors().NewReflectorWithOptions(lw, expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector calls
// [clientgo.Constructors.NewNamespaceKeyedIndexerAndReflector].
func NewNamespaceKeyedIndexerAndReflector(lw clientcache.ListerWatcher, expectedType any, resyncPeriod time.Duration) (clientcache.Indexer, *clientgo.Reflector) {
	return constructors().NewNamespaceKeyedIndexerAndReflector(lw, expectedType, resyncPeriod)
}
