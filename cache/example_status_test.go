// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example prints the condition of an informer and of its handler.
func ExampleSharedInformer_Status() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{Name: "nodes"})
	registration, err := nodes.AddKeyHandler(func(cache.KeyEvent) {}, cache.HandlerOptions{Name: "queue"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	<-registration.Synced()

	status := nodes.Status()
	fmt.Println(status.Name, "synced:", status.Synced, "error:", status.Err)
	fmt.Println(status.Store.Objects, "object at", status.Freshness.ResourceVersion)
	fmt.Println("up to date less than a minute ago:", status.Freshness.Staleness < time.Minute)
	for _, handler := range status.Handlers {
		fmt.Println(handler.Name, "is behind by", handler.Backlog)
	}
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// nodes synced: true error: <nil>
	// 1 object at 2
	// up to date less than a minute ago: true
	// queue is behind by 0
	// stopped: <nil>
}

// This example serves the health of an informer beside a program's other pages.
func ExampleSharedInformer_HealthCheck() {
	client := clientset.NewClientset(node("node-1", "west"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{Name: "nodes"})
	check := nodes.HealthCheck(cache.HealthOptions{MaxStaleness: 5 * time.Minute, FailOnQuarantined: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	ask := func() {
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		fmt.Println(response.Code, strings.TrimSpace(response.Body.String()))
	}

	ask()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	ask()
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// 503 nodes: Run has not been called
	// 200 ok
	// stopped: <nil>
}

// This example ends a program that has no permission to list its objects. Without cancel, the
// informer would retry until the permission is granted.
func ExampleSharedInformer_WaitForSync() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		ErrorHandler: func(_ context.Context, err error) {
			if apierrors.IsForbidden(err) {
				cancel()
			}
		},
	})
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	err := pods.WaitForSync(ctx)
	fmt.Println("forbidden:", apierrors.IsForbidden(err))
	fmt.Println("stopped:", <-stopped)
	// Output:
	// forbidden: true
	// stopped: <nil>
}

// This example waits until an informer has synced or its request has failed.
func ExampleSharedInformer_StatusChanged() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()})
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{ErrorHandler: func(context.Context, error) {}})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	for {
		changed := pods.StatusChanged()
		if status := pods.Status(); status.Synced || status.Err != nil {
			fmt.Println(status.Phase, "forbidden:", apierrors.IsForbidden(status.Err))
			break
		}
		<-changed
	}
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// Retrying forbidden: true
	// stopped: <nil>
}

// This example runs informers of several types, waits for them and shows them together, as packages
// metrics and debug do.
func ExampleGroup() {
	client := clientset.NewClientset(node("node-1", "west"), webPod("web-0", "node-1"))
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{Name: "nodes"})
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "pods"})
	var group cache.Group
	group.Add(nodes, pods)

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- group.Run(ctx) }()
	if err := group.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	for _, view := range group.Views() {
		keys, found := view.FindKeys("", 10)
		fmt.Println(view.UniqueName(), view.Kind(), keys, found, view.Indexes())
	}
	fmt.Println("unhealthy:", group.HealthCheck(cache.HealthOptions{})(nil))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// nodes Node [node-1] 1 map[]
	// pods Pod [default/web-0] 1 map[]
	// unhealthy: <nil>
	// stopped: <nil>
}
