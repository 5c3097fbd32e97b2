package clientgo

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// storeConfig returns the configuration of a store for values of any type. report receives errors
// about single values.
func storeConfig(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, report func(key string, err error)) store.Config[any] {
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
		Report:   report,
	}
}

// reportObject passes a store's error about one object to utilruntime.HandleError. The effect says
// what the store holds of the object.
func reportObject(ctx context.Context, key string, err error) {
	var effect feed.Effect
	if known, ok := errors.AsType[*feed.EffectError](err); ok {
		effect, err = known.Effect, known.Err
	}
	utilruntime.HandleErrorWithContext(ctx, err, "Failed to process object", "object", key, "effect", effect)
}

// identity returns the UID and resourceVersion of a value, or empty strings if it has no metadata.
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
