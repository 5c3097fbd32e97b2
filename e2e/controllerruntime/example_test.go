// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
