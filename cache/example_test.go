// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
)

// This example keeps the Nodes of a cluster in memory and prints their changes.
func Example() {
	// A program calls kubernetes.NewForConfig(config), after cache.EnableStreaming(config).
	client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	ctx, cancel := context.WithCancel(context.Background())

	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	registration, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Node]{
		AddFunc:    func(node *corev1.Node) { fmt.Println("added", node.Name) },
		UpdateFunc: func(before, after *corev1.Node) { fmt.Println("updated", after.Name) },
		DeleteFunc: func(node *corev1.Node) { fmt.Println("deleted", node.Name) },
	}, cache.HandlerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil { // all Nodes are in the store
		log.Fatal(err)
	}
	<-registration.Synced() // the handler has received them
	if node, exists := nodes.Store().GetByKey("node-1"); exists {
		fmt.Println("found", node.Name, "among", nodes.Store().Len())
	}

	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// added node-1
	// found node-1 among 1
	// stopped: <nil>
}
