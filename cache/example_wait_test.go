// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example waits until the store has an object that the program has written.
func ExampleSharedInformer_WaitForObject() {
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	written := server.Create(node("node-1", "west")) // or client.CoreV1().Nodes().Create
	if err := nodes.WaitForObject(ctx, written); err != nil {
		log.Fatal(err)
	}
	fmt.Println(nodes.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [node-1]
	// stopped: <nil>
}

// This example waits until an object that the program has deleted is gone from the store.
func ExampleSharedInformer_WaitForDelete() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}

	stored, _ := nodes.Store().GetByKey("node-1")
	server.Delete("node-1") // or client.CoreV1().Nodes().Delete
	if err := nodes.WaitForDelete(ctx, stored); err != nil {
		log.Fatal(err)
	}
	fmt.Println(nodes.Store().Len(), "nodes")
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 0 nodes
	// stopped: <nil>
}

// This example waits until the store has caught up with a version that another process has read.
func ExampleSharedInformer_WaitForResourceVersion() {
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	server.Create(node("node-1", "west"))
	server.Create(node("node-2", "east"))
	version := server.ResourceVersion() // or the resourceVersion of a list
	if err := nodes.WaitForResourceVersion(ctx, version); err != nil {
		log.Fatal(err)
	}
	fmt.Println(nodes.Store().Len(), "nodes at", nodes.Store().Snapshot().ResourceVersion())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 2 nodes at 3
	// stopped: <nil>
}
