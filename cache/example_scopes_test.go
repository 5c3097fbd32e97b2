// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func podIn(namespace, name string, labels ...string) *corev1.Pod {
	pod := webPod(name, "node-1")
	pod.Namespace = namespace
	for _, label := range labels {
		key, value, _ := strings.Cut(label, "=")
		metav1.SetMetaDataLabel(&pod.ObjectMeta, key, value)
	}
	return pod
}

// This example holds the Pods of two namespaces, one of which leaves while the informer runs, and
// another one is added. A Pod of the namespace that leaves is not deleted.
func ExampleNewScopes() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	for _, namespace := range []string{"blue", "green", "red"} {
		server.Create(podIn(namespace, "web"))
	}
	blue, green, red := cache.Scope{Namespace: "blue"}, cache.Scope{Namespace: "green"}, cache.Scope{Namespace: "red"}
	scopes := cache.NewScopes(blue, green)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
	events := make(chan cache.Event[*corev1.Pod])
	if _, err := pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(event cache.Event[*corev1.Pod]) {
		events <- event
	}), cache.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	<-events
	<-events
	fmt.Println(pods.Store().Len(), "Pods")

	if err := scopes.Remove(blue); err != nil {
		log.Fatal(err)
	}
	event := <-events
	fmt.Println(event.Type, event.Key, "left scope:", event.LeftScope)
	if err := scopes.Add(red); err != nil {
		log.Fatal(err)
	}
	event = <-events
	fmt.Println(event.Type, event.Key, "in initial list:", event.InInitialList)
	server.Delete("green/web")
	event = <-events
	fmt.Println(event.Type, event.Key, "left scope:", event.LeftScope)
	fmt.Println(scopes.All())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 2 Pods
	// Delete blue/web left scope: true
	// Add red/web in initial list: true
	// Delete green/web left scope: false
	// [namespace "green" namespace "red"]
	// stopped: <nil>
}

// This example holds the Pods of two namespaces with the permissions of Roles in these namespaces:
// a request for all namespaces would be refused.
func ExampleListWatchByNamespace() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	server.InjectFault(-1, func(r fake.APIRequest) bool { return r.Namespace == "" }, fake.Fault{Err: fake.Forbidden()})
	for _, namespace := range []string{"blue", "green", "red"} {
		if err := server.Create(podIn(namespace, "web")); err != nil {
			log.Fatal(err)
		}
	}
	client := kubernetes.NewForConfigOrDie(server.Config())

	scopes := cache.NewScopes(cache.Scope{Namespace: "blue"}, cache.Scope{Namespace: "red"})
	lw := cache.ListWatchByNamespace(client.CoreV1().Pods) // not of a call: the method itself
	pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(slices.Sorted(slices.Values(pods.Store().ListKeys())))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [blue/web red/web]
	// stopped: <nil>
}

// This example holds the Pods of the namespaces with a label. One of them loses the label while the
// informers run: its Pods leave the store, although they are not deleted.
func ExampleNamespaceScopes() {
	namespaceServer := fake.NewListerWatcher(&corev1.Namespace{})
	namespaceServer.Create(namespace("checkout", "shop"))
	namespaceServer.Create(namespace("payments", "shop"))
	namespaceServer.Create(namespace("search", "web"))
	podServer := fake.NewListerWatcher(&corev1.Pod{})
	for _, name := range []string{"checkout", "payments", "search"} {
		podServer.Create(podIn(name, "api"))
	}
	namespaces := cache.NewSharedInformer(namespaceServer, &corev1.Namespace{}, cache.InformerOptions[*corev1.Namespace]{})
	scopes, err := cache.NamespaceScopes(namespaces, labels.SelectorFromSet(labels.Set{"team": "shop"}))
	if err != nil {
		log.Fatal(err)
	}
	pods := cache.NewSharedInformer(podServer, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
	events := make(chan cache.Event[*corev1.Pod])
	if _, err := pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(event cache.Event[*corev1.Pod]) {
		events <- event
	}), cache.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, namespaces.Run, pods.Run) }()
	<-events
	<-events
	fmt.Println(slices.Sorted(slices.Values(pods.Store().ListKeys())))

	namespaceServer.Update(namespace("payments", "web"))
	event := <-events
	fmt.Println(event.Type, event.Key, "left scope:", event.LeftScope)
	fmt.Println(scopes.All())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [checkout/api payments/api]
	// Delete payments/api left scope: true
	// [namespace "checkout"]
	// stopped: <nil>
}

// This example adds a scope, waits until the store has its objects, and reads its condition.
func ExampleSharedInformer_InScope() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(podIn("dev", "web"))
	server.Create(podIn("prod", "web"))
	dev, prod := cache.Scope{Namespace: "dev"}, cache.Scope{Namespace: "prod"}
	scopes := cache.NewScopes(dev)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods", Scopes: scopes})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()

	if err := scopes.Add(prod); err != nil {
		log.Fatal(err)
	}
	view := pods.InScope(prod)
	if err := view.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	status, err := view.Status()
	fmt.Println(status.Store.Objects, "object at", status.Freshness.ResourceVersion, err)
	written := server.Create(podIn("prod", "api"))
	if err := view.WaitForResourceVersion(ctx, written.ResourceVersion); err != nil {
		log.Fatal(err)
	}
	fmt.Println("healthy:", view.HealthCheck(cache.HealthOptions{})(nil) == nil)

	if err := scopes.Remove(prod); err != nil {
		log.Fatal(err)
	}
	err = view.WaitForSync(ctx)
	for err == nil { // until the informer has seen the removal
		err = view.WaitForSync(ctx)
	}
	fmt.Println(errors.Is(err, cache.ErrNoScope), err)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 1 object at 3 <nil>
	// healthy: true
	// true pods: scope of namespace "prod": the informer does not hold the scope
	// stopped: <nil>
}

// halves returns two scopes that divide a collection by the hashes of the objects' UIDs.
func halves() (lower, upper cache.Scope) {
	lower.Hash = cache.HashRange{Field: cache.HashUID, First: 0, Last: math.MaxUint64 / 2}
	upper.Hash = cache.HashRange{Field: cache.HashUID, First: math.MaxUint64/2 + 1, Last: math.MaxUint64}
	return lower, upper
}

// This example divides a collection between two informers, as two replicas of a program do. The
// server knows the shard selector and sends each of them its half.
func ExampleSharedInformer_ScopeStatus() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.SetShardedListAndWatch(true) // as kube-apiserver with this feature gate
	for n := range 100 {
		server.Create(podIn("default", fmt.Sprint("web-", n)))
	}
	lower, upper := halves()
	options := cache.InformerOptions[*corev1.Pod]{Scopes: cache.NewScopes(lower)}
	first := cache.NewSharedInformer(server, &corev1.Pod{}, options)
	options.Scopes = cache.NewScopes(upper)
	second := cache.NewSharedInformer(server, &corev1.Pod{}, options)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, first.Run, second.Run) }()

	objects := 0
	for _, pods := range []*cache.SharedInformer[*corev1.Pod]{first, second} {
		if err := pods.WaitForSync(ctx); err != nil {
			log.Fatal(err)
		}
		for _, status := range pods.ScopeStatus() {
			objects += status.Store.Objects
			fmt.Printf("%v: sharded: %v, passed over: %d\n", status.Scope, status.Sharded, status.OutOfScope)
		}
	}
	fmt.Println(objects, "objects")
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// hashes 0000000000000000-7fffffffffffffff of object.metadata.uid: sharded: true, passed over: 0
	// hashes 8000000000000000-ffffffffffffffff of object.metadata.uid: sharded: true, passed over: 0
	// 100 objects
	// stopped: <nil>
}

// This example takes the other half of a collection over, from a replica that has ended. No object
// of the half that the informer already has is deleted or added again, as its scope is in the new
// set, too.
func ExampleScopes_Set() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	for n := range 100 {
		server.Create(podIn("default", fmt.Sprint("web-", n)))
	}
	lower, upper := halves()
	scopes := cache.NewScopes(lower)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: scopes})
	events := make(chan cache.Event[*corev1.Pod])
	if _, err := pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(event cache.Event[*corev1.Pod]) {
		events <- event
	}), cache.HandlerOptions{}); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}

	if err := scopes.Set(lower, upper); err != nil {
		log.Fatal(err)
	}
	if err := pods.InScope(upper).WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().Len(), "objects of", len(scopes.All()), "scopes")
	server.Delete("default/web-0")
	counts := make(map[cache.EventType]int)
	for counts[cache.EventDelete] == 0 {
		counts[(<-events).Type]++
	}
	fmt.Println(counts)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 100 objects of 2 scopes
	// map[Add:100 Delete:1]
	// stopped: <nil>
}
