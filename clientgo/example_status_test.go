// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// The listers of an informer have an object that the program has written once WaitForObject
// returns.
func ExampleControllerOf() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	factory := clientgo.With(clientgo.Options{}).NewSharedInformerFactory(clientset, 0)
	pods := factory.Core().V1().Pods()
	controller := clientgo.ControllerOf(pods.Informer())
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-2"}}
	pod, err := clientset.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := controller.WaitForObject(ctx, pod); err != nil {
		log.Fatal(err)
	}
	pod, err = pods.Lister().Pods("default").Get("web-2")
	fmt.Println(pod.Name, err)
	fmt.Println("unhealthy:", controller.HealthCheck(cache.HealthOptions{})(nil))
	cancel()
	factory.Shutdown()
	// Output:
	// web-2 <nil>
	// unhealthy: <nil>
}

// A program reads the condition of one informer, and of all informers that a factory has made.
func ExampleStatusOf() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	factory := clientgo.With(clientgo.Options{}).NewSharedInformerFactory(clientset, 0)
	pods := factory.Core().V1().Pods().Informer()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}

	status := clientgo.StatusOf(pods)
	fmt.Println(status.Name, "synced:", status.Synced, "streaming:", status.Requests.Streaming)
	for _, controller := range clientgo.ControllersOf(factory) {
		fmt.Println(controller.Status().Store.Objects, "objects")
	}
	cancel()
	factory.Shutdown()
	// Output:
	// Pod synced: true streaming: true
	// 2 objects
}

// Packages metrics and debug show the informers of a factory by its views.
func ExampleViews() {
	config, closeServer := cluster()
	defer closeServer()
	factory := clientgo.With(clientgo.Options{}).NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	views := clientgo.Views(factory) // as in metrics.NewCollector(clientgo.Views(factory))

	factory.Core().V1().Pods().Informer()
	for _, view := range views.Views() {
		fmt.Println(view.Kind(), view.Status().Phase)
	}
	// Output: Pod Idle
}
