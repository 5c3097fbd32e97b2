// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// A handler that is behind receives one event for an update and the removal of the scope.
func TestCoalescedRemovalOfScopeIsLeftScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.ConfigMap{})
		scopes := cache.NewScopes(namespaces("a", "b")...)
		informer := cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		resume, events := make(chan struct{}), make(chan cache.Event[*corev1.ConfigMap], 10000)
		if _, err := informer.AddEventHandler(cache.EventHandlerFunc[*corev1.ConfigMap](func(e cache.Event[*corev1.ConfigMap]) {
			<-resume
			events <- e
		}), cache.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		if err := informer.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		server.Create(configMap("a/1"))
		resume <- struct{}{}
		server.Update(configMap("a/1", "n=0")) // which the handler holds
		synctest.Wait()
		server.Update(configMap("a/1", "n=1"))
		server.Create(configMap("b/1"))
		for n := range 10_100 { // more than are kept apart
			server.Update(configMap("b/1", fmt.Sprintf("n=%d", n)))
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		_ = scopes.Remove(namespaces("a")...)
		synctest.Wait()
		close(resume)
		synctest.Wait()
		close(events)
		deletions := 0
		for e := range events {
			if e.Key == "a/1" && e.Type == cache.EventDelete {
				deletions++
				if !e.LeftScope {
					t.Errorf("deletion without LeftScope; coalesced: %d", e.Coalesced)
				}
			}
		}
		if deletions != 1 {
			t.Errorf("%d deletions", deletions)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
