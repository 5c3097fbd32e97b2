// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// A backup program knows the objects of all custom resources, those of definitions that are
// installed while it runs included. It reads only metadata.
func ExampleAll() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{CustomResources: []fake.CustomResource{
		{Group: "example.com", Versions: []string{"v1"}, Kind: "Gadget"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	config := server.Config()
	cache.EnableStreaming(config)
	client := metadata.NewForConfigOrDie(config)

	follower := follow.New(client, discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
	events := make(chan string)
	all, err := follow.All(follower, follow.AllOptions[*metav1.PartialObjectMetadata]{
		Select: func(r follow.Resource) bool { return r.CustomResource && slices.Contains(r.Verbs, "create") },
		Client: func(gvr schema.GroupVersionResource) *cache.ListWatch { return cache.ListWatchOf(client.Resource(gvr)) },
		Handler: func(r follow.Resource, event cache.Event[*metav1.PartialObjectMetadata]) {
			events <- fmt.Sprintln(event.Type, r.Resource, event.Key)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, follower.Run, all.Run) }()

	widgets := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}.Definition()
	create := func(obj *unstructured.Unstructured) {
		if err := server.Create(obj); err != nil {
			log.Fatal(err)
		}
	}
	create(object("Gadget", "clock"))
	fmt.Print(<-events)
	create(widgets) // as kubectl apply does
	create(object("Widget", "gear"))
	fmt.Print(<-events)
	reader, err := all.Reader(schema.GroupResource{Group: "example.com", Resource: "widgets"})
	for ; err != nil; reader, err = all.Reader(schema.GroupResource{Group: "example.com", Resource: "widgets"}) {
		<-time.After(time.Millisecond) // the resource is not served, not selected or not listed
	}
	fmt.Println(reader.ListKeys())
	for _, status := range all.Status() {
		fmt.Println(status.Resource.Kind, status.Informer.Store.Objects, status.Err)
	}
	var shown cache.Group // for packages metrics and debug
	shown.Add(follower, all)
	for _, view := range shown.Views() {
		fmt.Println(view.Status().Name)
	}
	if err := server.Delete(widgets); err != nil {
		log.Fatal(err)
	}
	fmt.Print(<-events)

	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// Add gadgets default/clock
	// Add widgets default/gear
	// [default/gear]
	// Gadget 1 <nil>
	// Widget 1 <nil>
	// CustomResourceDefinition
	// APIService
	// gadgets.example.com
	// widgets.example.com
	// Delete widgets default/gear
	// stopped: <nil>
}

// A policy engine follows the resources that its configuration names, which changes while it runs.
// The objects of a resource that it no longer names leave, and are not deleted.
func ExampleInformers_Reselect() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	client := metadata.NewForConfigOrDie(server.Config())

	var configured atomic.Value // the resource that the configuration names
	configured.Store("pods")
	follower := follow.New(client, discovery.NewDiscoveryClientForConfigOrDie(server.Config()), follow.Options{})
	events := make(chan string)
	all, err := follow.All(follower, follow.AllOptions[*metav1.PartialObjectMetadata]{
		Select: func(r follow.Resource) bool { return r.GroupResource().String() == configured.Load() },
		Client: func(gvr schema.GroupVersionResource) *cache.ListWatch { return cache.ListWatchOf(client.Resource(gvr)) },
		Handler: func(r follow.Resource, event cache.Event[*metav1.PartialObjectMetadata]) {
			events <- fmt.Sprintln(event.Type, r.Resource, event.Key, "still exists:", event.LeftScope)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, follower.Run, all.Run) }()

	pod := object("Pod", "web")
	pod.SetAPIVersion("v1")
	if err := server.Create(pod); err != nil {
		log.Fatal(err)
	}
	fmt.Print(<-events)
	configured.Store("deployments.apps")
	all.Reselect()
	fmt.Print(<-events)

	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// Add pods default/web still exists: false
	// Delete pods default/web still exists: true
	// stopped: <nil>
}

// object returns an object of group example.com.
func object(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{"namespace": "default", "name": name},
	}}
}
