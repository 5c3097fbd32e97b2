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

// The next list of Pods is answered with 429, and the client waits and tries again, as it would with a real server.
func ExampleAPIServer_InjectFault() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close(ctx) }()
	met := 0
	lists := func(r fake.APIRequest) bool {
		isList := r.Verb == "list" && r.Resource == "pods"
		if isList {
			met++
		}
		return isList
	}
	server.InjectFault(1, lists, fake.RequestFault{Err: fake.TooManyRequests(1)})
	server.InjectFault(1, lists, fake.RequestFault{})

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
	fmt.Println(len(list.Items), "Pods after", met, "requests")
	// Output: 0 Pods after 2 requests
}
