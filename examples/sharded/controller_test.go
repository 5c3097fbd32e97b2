// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// A ConfigMap in the store whose slot this replica does not own is tried again, until it is
// deleted.
func TestConfigMapOfAnotherReplicaIsTriedAgain(t *testing.T) {
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
	server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "test", Name: "a"}})
	c.configMaps = cache.NewSharedInformer(server, &corev1.ConfigMap{}, cache.InformerOptions[*corev1.ConfigMap]{}) // of all slots
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- c.configMaps.Run(ctx) }()
	if err := c.configMaps.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	c.queue.Add("test/a")
	for n := 1; n <= 3; n++ {
		if c.processNext(ctx); c.queue.NumRequeues("test/a") != n {
			t.Fatalf("after %d attempts: %d requeues", n, c.queue.NumRequeues("test/a"))
		}
	}
	if err := c.configMaps.WaitForDelete(ctx, server.Delete("test/a")); err != nil {
		t.Fatal(err)
	}
	if c.processNext(ctx); c.queue.NumRequeues("test/a") != 0 {
		t.Error("a deleted ConfigMap is tried again")
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A write that is under way when the program ends is not cut off, and the slots are handed over
// after it.
func TestWriteUnderWayIsFinished(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	ctx, cancel := context.WithCancel(t.Context())
	held, writing := make(chan struct{}), make(chan struct{})
	server.InjectFault(1, func(r fake.APIRequest) bool {
		isWrite := r.Verb == "update" && r.Resource == "configmaps"
		if isWrite {
			close(writing)
		}
		return isWrite
	}, fake.Fault{Hold: held})
	o := options{namespace: "test", configMaps: 1, changes: 1, leaseDuration: 10 * time.Second}
	data, err := newCollection(server.Config(), o)
	if err == nil {
		err = data.create(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := connectController(server.Config(), "a", o)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- c.Run(ctx) }()
	<-writing
	cancel()
	for !c.queue.ShuttingDown() {
		runtime.Gosched()
	}
	if len(c.member.Slots()) == 0 {
		t.Error("the slots were handed over before the write has ended")
	}
	close(held)
	if err := <-stopped; err != nil || c.stamped.Load() != 1 || len(c.member.Slots()) != 0 {
		t.Errorf("error %v, %d stamps, and %d slots at the end", err, c.stamped.Load(), len(c.member.Slots()))
	}
}
