// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/fake"
)

// A real clientset watches the Nodes of the server.
func ExampleStartAPIServer() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(ctx) }()

	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}
	w, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	if err := server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		log.Fatal(err)
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
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(list.(*corev1.PodList).ResourceVersion)
	// Output:
	// the server has received too many requests and has asked us to try again later
	// 2
}

// The code under test writes through a fake clientset of client-go, and the test sees it in the
// collection.
func ExampleListerWatcher_Serve() {
	client := clientset.NewClientset()
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.Serve(client, "pods")

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}}
	if _, err := client.CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	stored, exists := pods.Get("default/web-0")
	fmt.Println(stored.Name, exists)
	// Output: web-0 true
}

// A watch from a version before the compaction ends with 410 Expired. An informer then
// relists.
func ExampleListerWatcher_Compact() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	version := pods.ResourceVersion()
	pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}})
	pods.Compact()

	w, err := pods.Watch(context.Background(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Reason)
	// Output: ERROR Expired
}

// A restart of the API server loses the changes of its watch cache. etcd still has the older
// states, so that a list at an exact version succeeds.
func ExampleListerWatcher_TruncateWatchCache() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	version := pods.ResourceVersion()
	pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}})
	pods.TruncateWatchCache()

	w, err := pods.Watch(context.Background(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Reason)
	list, err := pods.List(context.Background(), metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(meta.LenList(list), "Pods at version", version)
	// Output:
	// ERROR Expired
	// 0 Pods at version 1
}

// The server ends every open watch with an error.
func ExampleErrorEvent() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	w, err := pods.Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	pods.Send(fake.ErrorEvent(fake.InternalError()))
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Code)
	// Output: ERROR 500
}

// These errors are those that informers meet most often.
func ExampleFault() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	for _, err := range []error{fake.Expired(), fake.Forbidden(), fake.TooManyRequests(7), fake.InternalError(), fake.TooLargeResourceVersion()} {
		pods.InjectListFault(1, fake.Fault{Err: err})
		_, err := pods.List(context.Background(), metav1.ListOptions{})
		fmt.Println(apierrors.ReasonForError(err))
	}
	// Output:
	// Expired
	// Forbidden
	// TooManyRequests
	// InternalError
	// Timeout
}

// A server that ignores the end of a WatchList never says that the initial state is complete.
func ExampleDropInitialEventsEndBookmark() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}})
	pods.InjectWatchFault(1, fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
	w, err := pods.Watch(context.Background(), metav1.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		log.Fatal(err)
	}
	pods.CloseWatches()
	for event := range w.ResultChan() {
		fmt.Println(event.Type)
	}
	// Output: ADDED
}

// The next list of Pods gets a 429, and the client retries it after Retry-After.
func ExampleAPIServer_InjectFault() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
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
	server.InjectFault(1, isPodList, fake.Fault{Err: fake.TooManyRequests(1)})
	server.InjectFault(1, isPodList, fake.Fault{}) // no fault, but counts the retry

	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list.Items), "Pods after", lists, "requests")
	// Output: 0 Pods after 2 requests
}

// A test writes to the server without HTTP.
func ExampleAPIServer_Create() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	if err := server.Create(node); err != nil {
		log.Fatal(err)
	}
	fmt.Println("created at", node.ResourceVersion)
	node.Labels = map[string]string{"zone": "west"}
	if err := server.Update(node); err != nil {
		log.Fatal(err)
	}
	fmt.Println("updated at", node.ResourceVersion)
	// Output:
	// created at 2
	// updated at 3
}

// Two managers apply the same field of a ConfigMap by server-side apply.
func ExampleStartAPIServer_apply() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(ctx) }()
	client := kubernetes.NewForConfigOrDie(server.Config())
	apply := func(manager, value string) error {
		config := applycorev1.ConfigMap("settings", "default").WithData(map[string]string{"level": value})
		_, err := client.CoreV1().ConfigMaps("default").Apply(ctx, config, metav1.ApplyOptions{FieldManager: manager})
		return err
	}

	fmt.Println(apply("alice", "info"))
	fmt.Println(apply("bob", "debug"))
	// Output:
	// <nil>
	// Apply failed with 1 conflict: conflict with "alice": .data.level
}

// A dynamic client creates a custom resource. The server sets the default and removes the field
// that is not in the schema.
func ExampleCustomResource() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{
		CustomResources: []fake.CustomResource{{Group: "example.com", Versions: []string{"v1"}, Kind: "Widget", Schema: `
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer, default: 1}
      color: {type: string}
`}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	client, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}

	widgets := client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("default")
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "gear"},
		"spec": map[string]any{"color": "red", "colour": "blue"},
	}}
	widget, err = widgets.Create(context.Background(), widget, metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(widget.GetKind(), widget.GetNamespace(), widget.GetName(), widget.Object["spec"])
	// Output: Widget default gear map[color:red replicas:1]
}
