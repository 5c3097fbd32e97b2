// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
)

// TestUpdateOfObjectsWithoutManagedFields writes cached objects back to kube-apiserver: it keeps
// the managedFields that an update lacks.
func TestUpdateOfObjectsWithoutManagedFields(t *testing.T) {
	t.Parallel()
	pods := newPodCollection(t, shared(t), 3)
	pods.fill(t)
	config := shared(t).Config()
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(pods.namespace)
	managedFields := []string{"metadata.managedFields"}
	informer := runOmitting(t, cache.ListWatchOf(client), cache.InformerOptions[*corev1.Pod]{OmitFields: managedFields, Packed: true})
	for _, cached := range informer.Store().List() {
		server, err := client.Get(t.Context(), cached.Name, metav1.GetOptions{})
		if err != nil || len(server.ManagedFields) == 0 || len(cached.ManagedFields) != 0 {
			t.Fatalf("%v on the server: %v, in the cache: %v", err, server.ManagedFields, cached.ManagedFields)
		}
		without := server.DeepCopy()
		if without.ManagedFields = nil; !reflect.DeepEqual(without, cached) {
			t.Errorf("the cache has %v, the server without managedFields %v", cached, without)
		}
		changed := cached.DeepCopy()
		changed.Annotations = map[string]string{"changed": "true"}
		updated, err := client.Update(t.Context(), changed, metav1.UpdateOptions{})
		if err != nil || len(updated.ManagedFields) < len(server.ManagedFields) {
			t.Errorf("%v; managedFields became %v, were %v", err, updated.ManagedFields, server.ManagedFields)
		}
	}
}

// runOmitting runs an informer until the end of the test.
func runOmitting(t *testing.T, lw cache.ListerWatcher, options cache.InformerOptions[*corev1.Pod]) *cache.SharedInformer[*corev1.Pod] {
	t.Helper()
	informer := cache.NewSharedInformer(lw, &corev1.Pod{}, options)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- informer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	waiting, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	if err := informer.WaitForSync(waiting); err != nil {
		t.Fatal(err)
	}
	return informer
}
