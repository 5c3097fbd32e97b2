// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// listWatchOf returns the list and watch functions that a controller-runtime cache creates for
// objects like obj, and the example that it passes to the informer. The cache is never started.
func listWatchOf(t *testing.T, config *rest.Config, obj client.Object) (clientcache.ListerWatcherWithContext, runtime.Object) {
	t.Helper()
	var (
		created clientcache.ListerWatcherWithContext
		example runtime.Object
	)
	c, err := ctrlcache.New(config, ctrlcache.Options{
		NewInformer: func(lw clientcache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
			created, example = clientcache.ToListerWatcherWithContext(lw), obj
			return clientcache.NewSharedIndexInformer(lw, obj, resync, indexers)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetInformer(t.Context(), obj, ctrlcache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	if created == nil {
		t.Fatal("the cache has created no informer")
	}
	return created, example
}

// toListWatch returns a ListWatch of client-go functions. streaming says that they return the
// server's response unchanged.
func toListWatch(lw clientcache.ListerWatcherWithContext, streaming bool) *cache.ListWatch {
	return &cache.ListWatch{ListFunc: lw.ListWithContext, WatchFunc: lw.WatchWithContext, Streaming: streaming}
}
