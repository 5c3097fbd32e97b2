package cache_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// A controller receives keys and reads objects with a Lister.
func ExampleSharedInformer() {
	client := clientset.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)},
	})
	queue := make(chan string, 1)
	_, err := pods.AddKeyHandler(func(key string) { queue <- key }, cache.HandlerOptions{})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	fmt.Println(<-queue, err)
	lister := cache.NewLister(pods.Store(), corev1.Resource("pods"))
	fmt.Println(len(lister.Namespace("default").List(nil)), "in the namespace; synced:", pods.WaitForSync(ctx))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// default/web <nil>
	// 1 in the namespace; synced: <nil>
	// stopped: <nil>
}

// A controller's queue is fed with keys, and reads the state when it gets to them.
func ExampleSharedInformer_AddKeyHandler() {
	client := clientset.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	queue := make(chan string, 1)
	if _, err := nodes.AddKeyHandler(func(key string) { queue <- key }, cache.HandlerOptions{}); err != nil {
		fmt.Println(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	lister := cache.NewLister(nodes.Store(), corev1.Resource("nodes"))
	node, err := lister.Get(<-queue)
	fmt.Println(node.Name, err)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 <nil>
	// stopped: <nil>
}

// Whoever has written waits until the store has seen it.
func ExampleSharedInformer_WaitForObject() {
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	written := server.Create(node("node-1", "a"))
	if err := nodes.WaitForObject(ctx, written); err != nil {
		fmt.Println(err)
	}
	fmt.Println(nodes.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [node-1]
	// stopped: <nil>
}
