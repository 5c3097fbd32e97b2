// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This controller keeps three Pods. Each of its writes enqueues the key again, so that it may
// process the key before its cache has the Pods. It creates none too many.
func ExampleConsistencyStore() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	queue := workqueue.NewTyped[string]()
	writes := cache.NewConsistencyStore(queue.Add)

	created := 0
	create := func(key string) {
		created++
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", key, created)}}
		pod = server.Create(pod) // or client.CoreV1().Pods("default").Create
		writes.WroteAt(key, pods, pod)
		queue.Add(key)
	}
	reconcile := func(key string) (done bool) {
		defer queue.Done(key)
		if err := writes.EnsureReady(key); err != nil {
			return false // the queue gets the key once the cache has the Pods
		}
		missing := 3 - pods.Store().Len()
		for range missing {
			create(key)
		}
		return missing == 0
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	queue.Add("web")
	for done := false; !done; {
		key, _ := queue.Get()
		done = reconcile(key)
	}
	fmt.Println(pods.Store().Len(), "Pods,", created, "created")
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 3 Pods, 3 created
	// stopped: <nil>
}
