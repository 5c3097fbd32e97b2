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

// This example keeps the metadata and one field of each Node.
func ExamplePartialObject() {
	type partialNode = cache.PartialObject[*corev1.Node, nodeFields]
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &partialNode{}, cache.InformerOptions[*partialNode]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	cordoned := node("node-1", "west")
	cordoned.Spec.Unschedulable = true
	written := server.Create(cordoned) // or client.CoreV1().Nodes().Create
	if err := cache.WaitForAPIObject(ctx, nodes, written); err != nil {
		log.Fatal(err)
	}
	cached, _ := nodes.Store().GetByKey("node-1")
	fmt.Println(cached.Name, cached.Labels, cached.Fields.Spec.Unschedulable)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 map[topology.kubernetes.io/zone:west] true
	// stopped: <nil>
}

// This example reads two fields of packed Pods, by an index, without decoding the Pods.
func ExampleProjectionOf() {
	type podFields struct {
		Spec struct {
			Containers []struct {
				Image string `json:"image"`
			} `json:"containers"`
		} `json:"spec"`
	}
	server := fake.NewListerWatcher(&corev1.Pod{})
	web := webPod("web-0", "node-1")
	web.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1.2"}}
	server.Create(web)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Packed:   true,
		Indexers: cache.Indexers[*corev1.Pod]{"node": cache.ByField[*corev1.Pod]("spec.nodeName")},
	})
	images, err := cache.ProjectionOf[podFields](pods)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	for pod, err := range images.ByIndex("node", "node-1") {
		fmt.Println(pod.Key, pod.Fields.Spec.Containers[0].Image, err)
	}
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// default/web-0 web:1.2 <nil>
	// stopped: <nil>
}
