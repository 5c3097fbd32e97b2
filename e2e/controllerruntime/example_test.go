// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// The option NewInformer replaces the informers of a manager's cache. They stream because
// EnableStreaming has prepared the config.
func Example_manager() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	_ = server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
	config := server.Config()
	cache.EnableStreaming(config)

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	manager.GetCache().WaitForCacheSync(ctx)

	var pod corev1.Pod
	err = manager.GetClient().Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-0"}, &pod)
	fmt.Println(pod.Name, err)
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// web-0 <nil>
	// <nil>
}

// The informers of a manager's cache hold the objects of some namespaces, which may change while
// the manager runs. Nodes have no namespace.
func Example_namespaces() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	_ = server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	for _, namespace := range []string{"blue", "green", "red"} {
		_ = server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"}})
	}
	namespaces := cache.NewScopes(cache.Scope{Namespace: "blue"}, cache.Scope{Namespace: "green"})
	scopes := func(example runtime.Object) *cache.Scopes {
		switch example.(type) {
		case *corev1.Node, *corev1.Namespace:
			return nil
		}
		return namespaces
	}
	manager, err := ctrl.NewManager(server.Config(), ctrl.Options{
		Cache:   ctrlcache.Options{NewInformer: clientgo.Options{Scopes: scopes}.NewInformer},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	manager.GetCache().WaitForCacheSync(ctx)

	var pods corev1.PodList
	var nodes corev1.NodeList
	fmt.Println(manager.GetClient().List(ctx, &pods), len(pods.Items))
	fmt.Println(manager.GetClient().List(ctx, &nodes), len(nodes.Items))
	var pod corev1.Pod
	err = manager.GetClient().Get(ctx, client.ObjectKey{Namespace: "red", Name: "web-0"}, &pod)
	fmt.Println(apierrors.IsNotFound(err))
	if err := namespaces.Add(cache.Scope{Namespace: "red"}); err != nil {
		panic(err)
	}
	for len(pods.Items) < 3 {
		_ = manager.GetClient().List(ctx, &pods)
	}
	cancel()
	fmt.Println(<-stopped)
	// Output:
	// <nil> 2
	// <nil> 1
	// true
	// <nil>
}
