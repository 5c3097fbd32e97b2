package fake_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
)

func ExampleStartAPIServer() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close(ctx) }()

	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Stop()
	if err := server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		fmt.Println(err)
		return
	}
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*corev1.Node).Name, event.Object.(*corev1.Node).ResourceVersion)
	// Output: ADDED n1 2
}

func ExampleListerWatcher() {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	lw.InjectListFault(1, fake.Fault{Err: fake.TooManyRequests(7)})

	_, err := lw.List(context.Background(), metav1.ListOptions{})
	fmt.Println(err)
	list, err := lw.List(context.Background(), metav1.ListOptions{})
	fmt.Println(list.(*corev1.PodList).ResourceVersion, err)
	// Output:
	// the server has received too many requests and has asked us to try again later
	// 2 <nil>
}

// The next list of Pods gets a 429, and the client retries it after Retry-After.
func ExampleAPIServer_InjectFault() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close(ctx) }()
	lists := 0
	isPodList := func(r fake.APIRequest) bool {
		if r.Verb != "list" || r.Resource != "pods" {
			return false
		}
		lists++
		return true
	}
	server.InjectFault(1, isPodList, fake.RequestFault{Err: fake.TooManyRequests(1)})
	server.InjectFault(1, isPodList, fake.RequestFault{}) // no fault, but counts the retry

	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(list.Items), "Pods after", lists, "requests")
	// Output: 0 Pods after 2 requests
}
