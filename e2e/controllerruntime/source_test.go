package controllerruntime

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/kinformer/cache"
)

// sourceOf returns the functions that a controller-runtime cache makes to list and watch what obj is an example of, and
// the example that it would give its informer. The cache itself is never started.
func sourceOf(t *testing.T, config *rest.Config, obj client.Object) (clientcache.ListerWatcherWithContext, runtime.Object) {
	t.Helper()
	var (
		made    clientcache.ListerWatcherWithContext
		example runtime.Object
	)
	c, err := ctrlcache.New(config, ctrlcache.Options{
		NewInformer: func(lw clientcache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
			made, example = clientcache.ToListerWatcherWithContext(lw), obj
			return clientcache.NewSharedIndexInformer(lw, obj, resync, indexers)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetInformer(t.Context(), obj, ctrlcache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	if made == nil {
		t.Fatal("the cache has made no informer")
	}
	return made, example
}

// listWatchOf makes a ListWatch of somebody else's functions. Streaming says that they return what the server answered.
func listWatchOf(lw clientcache.ListerWatcherWithContext, streaming bool) *cache.ListWatch {
	return &cache.ListWatch{ListFunc: lw.ListWithContext, WatchFunc: lw.WatchWithContext, Streaming: streaming}
}
