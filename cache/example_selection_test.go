// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example reads lists and watches straight from the response, for every client of a config.
func ExampleEnableStreaming() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()

	config := server.Config() // or rest.InClusterConfig()
	cache.EnableStreaming(config)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	if err := nodes.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("streaming:", nodes.Status().Requests.Streaming)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// streaming: true
	// stopped: <nil>
}

// This example caches the Pods of one node. The server selects them.
func ExampleWithFieldSelector() {
	client := clientset.NewClientset()
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Serve(client, "pods")
	server.Create(webPod("web-0", "node-1"))
	server.Create(webPod("web-1", "node-2"))

	onNode := cache.WithFieldSelector(fields.OneTermEqualSelector("spec.nodeName", "node-1"))
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(""), onNode), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}

// This example caches the Pods with a label. The server selects them.
func ExampleWithLabelSelector() {
	client := clientset.NewClientset()
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Serve(client, "pods")
	server.Create(webPod("web-0", "node-1"))
	server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "database"}})

	web := cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "web"}))
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods(""), web), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}

// This example caches custom resources as unstructured objects. The example object states their
// kind.
func ExampleListWatchOf_unstructured() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	config := server.Config()
	cache.EnableStreaming(config)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}

	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	kind := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	widgets := cache.NewSharedInformer(cache.ListWatchOf(client.Resource(resource)), kind, cache.InformerOptions[*unstructured.Unstructured]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- widgets.Run(ctx) }()

	widget := kind.DeepCopy()
	widget.SetName("gear")
	if widget, err = client.Resource(resource).Namespace("default").Create(ctx, widget, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	if err := widgets.WaitForObject(ctx, widget); err != nil {
		log.Fatal(err)
	}
	fmt.Println(widgets.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/gear]
	// stopped: <nil>
}

// This example caches the metadata of Pods. The server sends nothing else.
func ExampleListWatchOf_metadata() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	if err := server.Create(webPod("web-0", "node-1")); err != nil {
		log.Fatal(err)
	}
	config := server.Config()
	cache.EnableStreaming(config)
	client, err := metadata.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}

	lw := cache.ListWatchOf(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")))
	kind := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pods := cache.NewSharedInformer(lw, kind, cache.InformerOptions[*metav1.PartialObjectMetadata]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	web, exists := pods.Store().GetByKey("default/web-0")
	fmt.Println(web.Labels, exists)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// map[app:web] true
	// stopped: <nil>
}

// This example makes a ListWatch of a REST client, such as that of an API group, and the name of a
// resource.
func ExampleNewListWatchFromClient() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	if err := server.Create(webPod("web-0", "node-1")); err != nil {
		log.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}

	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "default", fields.OneTermEqualSelector("spec.nodeName", "node-1"))
	pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}

// This example makes an informer of a ListerWatcher of client-go.
func ExampleListWatchFromClientGo() {
	client := clientset.NewClientset(webPod("web-0", "node-1"))
	lw := clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("default").List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("default").Watch(ctx, options)
		},
	}, client)

	pods := cache.NewSharedInformer(cache.ListWatchFromClientGo(lw), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}

// This example makes a ListWatch of the program's own functions, both of which must pass the
// context and the options on. Streaming says that they return the server's response unchanged.
func ExampleListWatch() {
	client := clientset.NewClientset(webPod("web-0", "node-1"))
	lw := &cache.ListWatch{
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("default").List(ctx, options)
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("default").Watch(ctx, options)
		},
		Streaming: true,
	}

	pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [default/web-0]
	// stopped: <nil>
}
