// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/kinformer/fake"
)

// A server without the feature gate ignores the shard selector, and returns all objects.
func ExampleAPIServer_SetShardedListAndWatch() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)
	nodes := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Nodes()
	for i := range 8 {
		if err := server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}); err != nil {
			log.Fatal(err)
		}
	}
	half := metav1.ListOptions{ShardSelector: "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"}
	for _, gate := range []bool{false, true} {
		server.SetShardedListAndWatch(gate)
		list, err := nodes.List(ctx, half)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(list.Items), "nodes, a part of them:", list.ShardInfo != nil)
	}
	// Output:
	// 8 nodes, a part of them: false
	// 4 nodes, a part of them: true
}

// The aggregated API server of the metrics goes down: requests for its API get 503 until it is
// back.
func ExampleAPIServer_Aggregate() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)
	if err := server.Aggregate(fake.CustomResource{Group: "metrics.k8s.io", Versions: []string{"v1beta1"}, Kind: "NodeMetrics", Plural: "nodes", ClusterScoped: true}); err != nil {
		log.Fatal(err)
	}
	metrics := dynamic.NewForConfigOrDie(server.Config()).Resource(schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "nodes"})
	for _, available := range []bool{true, false} {
		if err := server.SetAvailable("v1beta1.metrics.k8s.io", available); err != nil {
			log.Fatal(err)
		}
		_, err := metrics.List(ctx, metav1.ListOptions{})
		fmt.Printf("available: %t, reason of the error: %q\n", available, apierrors.ReasonForError(err))
	}
	// Output:
	// available: true, reason of the error: ""
	// available: false, reason of the error: "ServiceUnavailable"
}

// An etcd that is restored from a backup forgets the last writes and assigns their versions again.
// Open watches end.
func ExampleListerWatcher_Restore() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	backup := pods.ResourceVersion()
	pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0"}})
	pods.SkipVersions(10) // writes to other collections
	fmt.Println("at", pods.ResourceVersion())

	pods.Restore(backup)
	_, exists := pods.Get("web-0")
	fmt.Println("at", pods.ResourceVersion(), exists)
	// Output:
	// at 12
	// at 1 false
}

// A server that keeps two changes refuses a watch from before them.
func ExampleListerWatcher_LimitHistory() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.LimitHistory(2)
	version := pods.ResourceVersion()
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		pods.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	pods.Delete("web-0")

	w, err := pods.Watch(context.Background(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Reason)
	// Output: ERROR Expired
}

// A test sees how the code under test has listed and watched.
func ExampleListerWatcher_Requests() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.InjectListFault(-1, fake.Fault{Err: fake.Forbidden()}) // every list, until ClearFaults
	_, err := pods.List(context.Background(), metav1.ListOptions{})
	fmt.Println(err)
	pods.ClearFaults()

	w, err := pods.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pods.OpenWatches(), "open watch")
	w.Stop()
	for _, request := range pods.Requests() {
		fmt.Printf("%s at %q\n", request.Verb, request.Options.ResourceVersion)
	}
	// Output:
	// pods is forbidden: User "test" cannot list resource "pods" in API group "" at the cluster scope
	// 1 open watch
	// list at ""
	// watch at "1"
}

// Bookmarks advance the version of a quiet watch. In a synctest bubble, BookmarkEvery sends them on
// the bubble's clock.
func ExampleListerWatcher_Bookmark() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.BookmarkEvery(0) // the default: none but those of Bookmark
	w, err := pods.Watch(context.Background(), metav1.ListOptions{AllowWatchBookmarks: true})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	pods.SkipVersions(5)
	pods.Bookmark()
	event := <-w.ResultChan()
	fmt.Println(event.Type, event.Object.(*corev1.Pod).ResourceVersion)
	// Output: BOOKMARK 6
}

// A test changes the status of a Pod as a kubelet does, and removes the Pod at once.
func ExampleAPIServer_UpdateStatus() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/web"}}},
	}
	if err := server.Create(pod); err != nil {
		log.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	if err := server.UpdateStatus(pod); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pod.Name, pod.Status.Phase)
	fmt.Println("deleted:", server.Delete(pod))
	// Output:
	// web-0 Running
	// deleted: <nil>
}

// A program that takes an address connects to the server's URL. A fault lasts until it is cleared.
func ExampleAPIServer_ClearFaults() {
	ctx := context.Background()
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(ctx) }()
	fmt.Println("same address:", server.Config().Host == server.URL())

	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}
	server.InjectFault(-1, nil, fake.Fault{Err: fake.Forbidden()})
	_, err = client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	fmt.Println(err)
	server.ClearFaults()
	server.Bookmark() // to the watches that allow bookmarks: none here
	list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list.Items), "Pods")
	// Output:
	// same address: true
	// pods is forbidden: User "test" cannot list resource "pods" in API group "" at the cluster scope
	// 0 Pods
}

func ExampleAPIServer_Objects() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	for _, name := range []string{"b", "a"} {
		if err := server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}); err != nil {
			log.Fatal(err)
		}
	}
	for obj := range server.Objects() {
		if configMap, ok := obj.(*corev1.ConfigMap); ok {
			fmt.Println(configMap.Name)
		}
	}
	// Output:
	// a
	// b
}

func ExampleAPIServer_ServeHTTP() {
	server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close(context.Background()) }()
	response := httptest.NewRecorder()
	server.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/pods/web", nil))
	fmt.Println(response.Code)
	// Output: 404
}
