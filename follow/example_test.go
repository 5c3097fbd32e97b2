// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/follow"
)

// widgets is the resource of these examples. No server serves it until its definition is created.
var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func definition() *unstructured.Unstructured {
	return fake.CustomResource{Group: widgets.Group, Versions: []string{widgets.Version}, Kind: "Widget"}.Definition()
}

// cluster starts a server, and returns the configuration of its clients.
func cluster() (server *fake.APIServer, config *rest.Config, closeServer func()) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	config = server.Config()
	cache.EnableStreaming(config)
	return server, config, func() { _ = server.Close(context.Background()) }
}

// newFollower returns a follower of what a server serves.
func newFollower(config *rest.Config) *follow.Follower {
	return follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
}

// start calls Run methods. The returned function stops them.
func start(run ...func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, run...) }()
	return func() error {
		cancel()
		return <-stopped
	}
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": name},
	}}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// An informer of Widgets is started before the server serves them. It lists them once their
// CustomResourceDefinition is there, and delivers their deletions once that is deleted.
func Example() {
	server, config, closeServer := cluster()
	defer closeServer()
	follower := follow.New(metadata.NewForConfigOrDie(config), discovery.NewDiscoveryClientForConfigOrDie(config), follow.Options{})
	client := dynamic.NewForConfigOrDie(config)
	informer := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(widgets)), widget(""), cache.InformerOptions[*unstructured.Unstructured]{
		Served: follower.Resource(widgets),
	})
	events := make(chan cache.Event[*unstructured.Unstructured], 10)
	_, err := informer.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](func(event cache.Event[*unstructured.Unstructured]) {
		events <- event
	}), cache.HandlerOptions{})
	must(err)
	stop := start(follower.Run, informer.Run)

	for _, name := range []string{"gear", "lever"} {
		must(server.Create(definition())) // as kubectl apply does
		must(server.Create(widget(name)))
		event := <-events
		fmt.Println(event.Type, event.Key)
		for follower.Status().Definitions == 0 { // of a definition that it has not seen, it does not see the deletion
			<-time.After(time.Millisecond)
		}
		must(server.Delete(definition()))
		event = <-events
		fmt.Println(event.Type, event.Key, "still exists:", event.LeftScope)
		_, exists := informer.Store().GetByKey(event.Key)
		fmt.Println("stored:", exists, informer.Store().KeyError(event.Key)) // which is not ErrNotServed
	}
	fmt.Println("stopped:", stop())
	// Output:
	// Add default/gear
	// Delete default/gear still exists: false
	// stored: false <nil>
	// Add default/lever
	// Delete default/lever still exists: false
	// stored: false <nil>
	// stopped: <nil>
}

// A part of a program that has nothing to do without a resource waits for it, such as a controller
// of controller-runtime before it is added to its manager.
func ExampleFollower_WaitForServed() {
	server, config, closeServer := cluster()
	defer closeServer()
	follower := newFollower(config)
	stop := start(follower.Run)

	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err := follower.WaitForServed(ctx, widgets) // the error says why
	fmt.Println("not served:", errors.Is(err, cache.ErrNotServed))
	must(server.Create(definition()))
	fmt.Println("served:", follower.WaitForServed(context.Background(), widgets) == nil)
	fmt.Println("stopped:", stop())
	// Output:
	// not served: true
	// served: true
	// stopped: <nil>
}

// The informers of a client-go factory follow, too. A read of what is not served is no NotFound.
func ExampleFollower_Resource_clientgo() {
	server, config, closeServer := cluster()
	defer closeServer()
	follower := newFollower(config)
	informers := clientgo.With(clientgo.Options{Served: follower.Resource})
	factory := informers.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0)
	lister := factory.ForResource(widgets).Lister()
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	stop := start(follower.Run)

	_, err := lister.ByNamespace("default").Get("gear")
	fmt.Println("not served:", errors.Is(err, cache.ErrNotServed))
	must(server.Create(definition()))
	must(server.Create(widget("gear")))
	factory.WaitForCacheSync(ctx.Done())
	_, err = lister.ByNamespace("default").Get("gear")
	fmt.Println("served:", err == nil)
	cancel()
	factory.Shutdown()
	fmt.Println("stopped:", stop())
	// Output:
	// not served: true
	// served: true
	// stopped: <nil>
}

// Status says what a follower knows, and Views are for packages metrics and debug.
func ExampleFollower_Status() {
	server, config, closeServer := cluster()
	defer closeServer()
	must(server.Create(definition()))
	follower := newFollower(config)
	stop := start(follower.Run)
	must(follower.WaitForServed(context.Background(), widgets))

	status := follower.Status()
	for ; status.Definitions == 0; status = follower.Status() { // until it has listed them
		<-time.After(time.Millisecond)
	}
	fmt.Println("definitions:", status.Definitions, "error:", status.Err)
	var shown cache.Group
	shown.Add(follower)
	for _, view := range shown.Views() {
		fmt.Println(view.UniqueName())
	}
	fmt.Println("stopped:", stop())
	// Output:
	// definitions: 1 error: <nil>
	// CustomResourceDefinition
	// APIService
	// stopped: <nil>
}
