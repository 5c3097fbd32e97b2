// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/cache"
)

// This example shares one informer of Pods between two parts of a program. The informer stops some
// time after both have released it.
func ExampleFactory() {
	client := clientset.NewClientset(webPod("web-0", "node-1"))
	factory := cache.NewFactory(cache.FactoryOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- factory.Run(ctx) }()

	scheduler, err := cache.InformerFor(factory, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	defer scheduler.Release()
	autoscaler, err := cache.InformerFor(factory, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	defer autoscaler.Release()
	fmt.Println("shared:", scheduler.Informer() == autoscaler.Informer())

	if err := factory.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(scheduler.Informer().Store().ListKeys(), factory.HasSynced())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// shared: true
	// [default/web-0] true
	// stopped: <nil>
}

// This example adds a handler to a shared informer. The user removes its own handler, and then
// releases the informer, which other users may go on using.
func ExampleInformerFor() {
	client := clientset.NewClientset(webPod("web-0", "node-1"))
	factory := cache.NewFactory(cache.FactoryOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- factory.Run(ctx) }()

	pods, err := cache.InformerFor(factory, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	if err != nil {
		log.Fatal(err)
	}
	added := make(chan string)
	registration, err := pods.Informer().AddKeyHandler(func(event cache.KeyEvent) { added <- event.Key }, cache.HandlerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-added)
	if err := registration.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	pods.Release()
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// default/web-0
	// stopped: <nil>
}

// This example declares the namespace of a dynamic client, which a Factory must know to share the
// informer.
func ExampleListWatch_InNamespace() {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, webPod("web-0", "node-1"))
	factory := cache.NewFactory(cache.FactoryOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- factory.Run(ctx) }()

	inDefault := client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("default")
	kind := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	pods, err := cache.InformerFor(factory, cache.ListWatchOf(inDefault).InNamespace("default"), kind, cache.InformerOptions[*unstructured.Unstructured]{})
	if err != nil {
		log.Fatal(err)
	}
	defer pods.Release()
	if err := factory.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Informer().Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}
