// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example handles each type of event. An object that exists when the handler starts is an
// addition in the initial list.
func ExampleSharedInformer_AddEventHandler() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	lines := make(chan string)
	handler := func(event cache.Event[*corev1.Node]) {
		zone := event.Object().Labels[corev1.LabelTopologyZone]
		switch event.Type {
		case cache.EventAdd:
			lines <- fmt.Sprintf("%s is in %s, initial list: %t", event.Key, zone, event.InInitialList)
		case cache.EventUpdate:
			lines <- fmt.Sprintf("%s moves from %s to %s", event.Key, event.Old.Labels[corev1.LabelTopologyZone], zone)
		case cache.EventDelete:
			lines <- fmt.Sprintf("%s leaves %s", event.Key, zone)
		}
	}
	if _, err := nodes.AddEventHandler(cache.EventHandlerFunc[*corev1.Node](handler), cache.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	fmt.Println(<-lines)
	server.Update(node("node-1", "east"))
	fmt.Println(<-lines)
	server.Delete("node-1")
	fmt.Println(<-lines)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 is in west, initial list: true
	// node-1 moves from west to east
	// node-1 leaves east
	// stopped: <nil>
}

// This example writes the events of a batch in one transaction.
func ExampleSharedInformer_AddBatchHandler() {
	client := clientset.NewClientset(node("node-1", "west"), node("node-2", "east"), node("node-3", "west"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	var table []string
	registration, err := nodes.AddBatchHandler(func(events []cache.Event[*corev1.Node]) {
		var rows []string // events is valid only during the call
		for _, event := range events {
			rows = append(rows, event.Key)
		}
		table = append(table, rows...)
	}, cache.HandlerOptions{})
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	<-registration.Synced()
	fmt.Println(slices.Sorted(slices.Values(table)))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [node-1 node-2 node-3]
	// stopped: <nil>
}

// This example feeds the work queue of a controller, which reads the latest state of each key.
func ExampleSharedInformer_AddKeyHandler() {
	client := clientset.NewClientset(node("node-1", "west"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	queue := make(chan string, 1)
	if _, err := nodes.AddKeyHandler(func(event cache.KeyEvent) { queue <- event.Key }, cache.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	lister := cache.NewLister(nodes.Store(), corev1.Resource("nodes"))
	node, err := lister.Get(<-queue)
	fmt.Println(node.Name, err)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 <nil>
	// stopped: <nil>
}

// This example is a handler that must see every state, such as an audit log. With the default,
// updates are coalesced once it is far behind.
func ExampleHandlerOptions() {
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	zones := make(chan string)
	_, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs[*corev1.Node]{
		AddFunc:    func(node *corev1.Node) { zones <- node.Labels[corev1.LabelTopologyZone] },
		UpdateFunc: func(_, node *corev1.Node) { zones <- node.Labels[corev1.LabelTopologyZone] },
	}, cache.HandlerOptions{
		Name:       "audit",
		EveryEvent: true,
		WithoutOld: true, // UpdateFunc does not read the old object
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	server.Create(node("node-1", "west"))
	server.Update(node("node-1", "east"))
	server.Update(node("node-1", "north"))
	fmt.Println(<-zones, <-zones, <-zones)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// west east north
	// stopped: <nil>
}

// This example adds a handler to a running informer, waits until it has received the stored
// objects, and removes it.
func ExampleRegistration() {
	client := clientset.NewClientset(node("node-1", "west"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}

	handler := cache.ResourceEventHandlerFuncs[*corev1.Node]{AddFunc: func(node *corev1.Node) { fmt.Println("added", node.Name) }}
	registration, err := nodes.AddEventHandler(handler, cache.HandlerOptions{Name: "printer"})
	if err != nil {
		log.Fatal(err)
	}
	<-registration.Synced()
	status := registration.Status()
	fmt.Println(status.Name, "has synced:", status.Synced, "and returned from", status.Calls, "call")
	registration.Cancel()                           // does not wait, so that a handler may remove itself
	fmt.Println("removed:", registration.Stop(ctx)) // also waits until its last call has returned
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// added node-1
	// printer has synced: true and returned from 1 call
	// removed: <nil>
	// stopped: <nil>
}

// This example handles the Nodes of one zone. A Node that leaves the zone is a deletion.
func ExampleFilteringResourceEventHandler() {
	events := make(chan string)
	handler := cache.FilteringResourceEventHandler[*corev1.Node]{
		FilterFunc: func(node *corev1.Node) bool { return strings.HasPrefix(node.Labels[corev1.LabelTopologyZone], "west") },
		Handler: cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc:    func(node *corev1.Node) { events <- "added " + node.Name },
			DeleteFunc: func(node *corev1.Node) { events <- "deleted " + node.Name },
		},
	}
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "east"))
	server.Create(node("node-2", "west"))
	_, controller := cache.NewInformer(server, &corev1.Node{}, 0, handler)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- controller.Run(ctx) }()
	fmt.Println(<-events)
	server.Update(node("node-2", "east"))
	fmt.Println(<-events)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// added node-2
	// deleted node-2
	// stopped: <nil>
}
