// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestReadBeforeTheFirstVerdictIsNoNotFound reads from an informer before Run, and after its first
// list.
func TestReadBeforeTheFirstVerdictIsNoNotFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
		must(err)
		must(server.Create(definition()))
		config := server.Config()
		follower := newFollower(config)
		informer := cache.NewSharedInformer(cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(widgets)), widget(""),
			cache.InformerOptions[*unstructured.Unstructured]{Served: follower.Resource(widgets)})
		if err := informer.Store().KeyError("default/gear"); !errors.Is(err, cache.ErrNotServed) {
			t.Errorf("before Run: %v, want ErrNotServed", err)
		}
		stop := start(follower.Run, informer.Run)
		must(informer.WaitForSync(t.Context()))
		if err := informer.Store().KeyError("default/gear"); err != nil {
			t.Errorf("after the list: %v, want none", err)
		}
		must(stop())
		must(server.Close(context.Background()))
	})
}
