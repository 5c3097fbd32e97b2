// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// The ConfigMaps in the store are added to the queue with the first value of Changes, as with others.
func TestRequeue(t *testing.T) {
	client := clientset.NewClientset()
	member, err := shard.New(client.CoordinationV1().Leases("test"), shard.Options{Group: appName, Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newController(client, "test", member)
	if err != nil {
		t.Fatal(err)
	}
	server := fake.NewListerWatcher(&corev1.ConfigMap{})
	for n := range 3 {
		server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: name(n)}})
	}
	c.configMaps = cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{})
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 2)
	go func() { stopped <- c.configMaps.Run(ctx) }()
	if err := c.configMaps.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	go func() { stopped <- c.requeue(ctx) }()
	seen := make(map[string]bool)
	for len(seen) < 3 {
		key, _ := c.queue.Get()
		seen[key] = true
		c.queue.Done(key)
	}
	cancel()
	if err := errors.Join(<-stopped, <-stopped); err != nil {
		t.Error(err)
	}
}
