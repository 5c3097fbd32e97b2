// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

func webPod(name, nodeName string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: nodeName},
	}
}

// This example runs an informer of the Nodes of a fake clientset.
func ExampleNewInformer() {
	client := clientset.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	joined := make(chan string)
	store, controller := cache.NewInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, 0,
		cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc: func(node *corev1.Node) { joined <- node.Name },
		})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- controller.Run(ctx) }()
	fmt.Println("joined:", <-joined)
	if err := controller.WaitForDelivery(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("nodes:", store.ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// joined: node-1
	// nodes: [node-1]
	// stopped: <nil>
}

// This example is a controller that receives keys and reads objects with a Lister.
func ExampleSharedInformer() {
	client := clientset.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)},
	})
	queue := make(chan string, 1)
	_, err := pods.AddKeyHandler(func(event cache.KeyEvent) { queue <- event.Key }, cache.HandlerOptions{})
	if err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-queue)
	lister := cache.NewLister(pods.Store(), corev1.Resource("pods"))
	fmt.Println(len(lister.Namespace("default").List(nil)), "in the namespace")
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// default/web
	// 1 in the namespace
	// stopped: <nil>
}

// This example keeps a Store equal to a collection, without handlers.
func ExampleReflector() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))

	store := cache.NewStore[*corev1.Node](nil, nil)
	reflector := cache.NewReflector(server, &corev1.Node{}, store, cache.ReflectorOptions{})
	server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()}) // ListAndWatch returns this error
	err := reflector.ListAndWatch(context.Background())
	fmt.Println("error:", err)
	fmt.Println("stored:", store.ListKeys(), "at", reflector.LastSyncResourceVersion())
	// Output:
	// error: watch: too old resource version: 1 (2)
	// stored: [node-1] at 2
}

// This example runs two informers. If one fails, the other ends, too.
func ExampleRunAll() {
	client := clientset.NewClientset(node("node-1", "west"), webPod("web-0", "node-1"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- cache.RunAll(ctx, nodes.Run, pods.Run) }()
	for _, informer := range []interface{ WaitForSync(context.Context) error }{nodes, pods} {
		if err := informer.WaitForSync(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(slices.Concat(nodes.Store().ListKeys(), pods.Store().ListKeys()))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [node-1 default/web-0]
	// stopped: <nil>
}
