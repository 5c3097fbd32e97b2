// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// A deletion waits only for scopes into which this object can have moved: it keeps its namespace.
func TestDeletionDoesNotWaitForOtherNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.ConfigMap{})
		server.BookmarkEvery(time.Minute)
		lw := &rules{ListerWatcher: server, list: func(options metav1.ListOptions) error {
			if strings.Contains(options.FieldSelector, "metadata.namespace=secret") {
				return fake.Forbidden()
			}
			return nil
		}}
		server.Create(configMap("a/1", "env=dev"))
		scopes := cache.NewScopes(cache.Scope{LabelSelector: "env=dev"})
		informer := cache.NewSharedInformer(lw, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{Scopes: scopes})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- informer.Run(ctx) }()
		if err := informer.WaitForSync(ctx); err != nil {
			t.Fatal(err)
		}
		_ = scopes.Add(cache.Scope{Namespace: "secret", LabelSelector: "env=prod"})
		synctest.Wait()
		server.Delete("a/1")
		<-time.After(10 * time.Minute)
		if n := informer.Store().Len(); n != 0 {
			t.Errorf("the store has %d objects", n)
		}
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
