package cache

import (
	"time"

	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// NewReflector returns a reflector as [clientgo.Constructors.NewReflector] does.
func NewReflector(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewReflector(lw, expectedType, store, resyncPeriod)
}

// NewNamedReflector returns a reflector as [clientgo.Constructors.NewNamedReflector] does.
func NewNamedReflector(name string, lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, resyncPeriod time.Duration) *clientgo.Reflector {
	return constructors().NewNamedReflector(name, lw, expectedType, store, resyncPeriod)
}

// NewReflectorWithOptions returns a reflector as [clientgo.Constructors.NewReflectorWithOptions] does.
func NewReflectorWithOptions(lw clientcache.ListerWatcher, expectedType any, store clientcache.ReflectorStore, options clientcache.ReflectorOptions) *clientgo.Reflector {
	return constructors().NewReflectorWithOptions(lw, expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector returns an indexer and a reflector as
// [clientgo.Constructors.NewNamespaceKeyedIndexerAndReflector] does.
func NewNamespaceKeyedIndexerAndReflector(lw clientcache.ListerWatcher, expectedType any, resyncPeriod time.Duration) (clientcache.Indexer, *clientgo.Reflector) {
	return constructors().NewNamespaceKeyedIndexerAndReflector(lw, expectedType, resyncPeriod)
}
