package cache_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
)

// An informer on the nodes of a cluster; here, of client-go's fake one.
func ExampleNewInformer() {
	client := clientset.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	joined := make(chan string)
	store, controller := cache.NewInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, 0,
		cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc: func(node *corev1.Node) { joined <- node.Name },
		})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- controller.Run(ctx) }()
	fmt.Println("joined:", <-joined)
	if err := controller.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("nodes:", store.ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// joined: node-1
	// nodes: [node-1]
	// stopped: <nil>
}
