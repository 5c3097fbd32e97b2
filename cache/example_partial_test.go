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

// nodeFields are the fields of a Node that the program reads.
type nodeFields struct {
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
}

// This example keeps the metadata and one field of each Node, and finds Nodes by the field.
func ExamplePartialObject() {
	type partialNode = cache.PartialObject[*corev1.Node, nodeFields]
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &partialNode{}, cache.InformerOptions[*partialNode]{
		Indexers: cache.Indexers[*partialNode]{"unschedulable": cache.ByField[*partialNode]("spec.unschedulable")},
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	cordoned := node("node-1", "west")
	cordoned.Spec.Unschedulable = true
	written := server.Create(cordoned) // or client.CoreV1().Nodes().Create
	if err := cache.WaitForAPIObject(ctx, nodes, written); err != nil {
		log.Fatal(err)
	}
	unschedulable, _ := nodes.Store().ByIndex("unschedulable", "true")
	for _, cached := range unschedulable {
		fmt.Println(cached.Name, cached.Labels, cached.Fields.Spec.Unschedulable)
	}
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 map[topology.kubernetes.io/zone:west] true
	// stopped: <nil>
}
