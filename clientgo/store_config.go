package clientgo

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/store"
)

// storeConfig describes values of any type to the store.
func storeConfig(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers) store.Config[any] {
	return store.Config[any]{
		Key: func(obj any) (string, error) {
			key, err := keyFunc(obj)
			if err != nil {
				return "", clientcache.KeyError{Obj: obj, Err: err}
			}
			return key, nil
		},
		Identity: identity,
		Indexers: indexFuncs(indexers),
		Report: func(key string, err error) {
			utilruntime.HandleErrorWithContext(context.Background(), err, "Object kept out of the cache, or of an index", "object", key)
		},
	}
}

// identity returns a value's UID and resourceVersion, empty where it has none.
func identity(obj any) (uid, resourceVersion string) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", ""
	}
	return string(accessor.GetUID()), accessor.GetResourceVersion()
}

func indexFuncs(indexers clientcache.Indexers) map[string]store.IndexFunc[any] {
	functions := make(map[string]store.IndexFunc[any], len(indexers))
	for name, index := range indexers {
		functions[name] = store.IndexFunc[any](index)
	}
	return functions
}
