package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
)

// NewInformer returns a store and a controller as [clientgo.Constructors.NewInformer] does.
func NewInformer(lw clientcache.ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h clientcache.ResourceEventHandler) (clientcache.Store, clientcache.Controller) {
	return constructors().NewInformer(lw, objType, resyncPeriod, h)
}

// NewIndexerInformer returns an indexer and a controller as [clientgo.Constructors.NewIndexerInformer]
// does.
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
