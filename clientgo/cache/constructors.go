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

// NewSharedIndexInformer returns an informer as [clientgo.Constructors.NewSharedIndexInformer] does.
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
