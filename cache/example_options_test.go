// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example leaves managedFields and environment variables out of the cached Pods.
func ExampleInformerOptions_omitFields() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Spec: corev1.PodSpec{
			NodeName:   "node-1",
			Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}}},
		},
	})
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		OmitFields:   []string{"metadata.managedFields", "spec.containers.env"},
		NeverWritten: true, // an Update of a cached Pod would delete its environment
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	web, _ := pods.Store().GetByKey("web")
	fmt.Println(web.Spec.NodeName, web.Spec.Containers[0].Name, web.Spec.Containers[0].Env, web.ManagedFields)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 app [] []
	// stopped: <nil>
}

// This example stores Pods as bytes, in a fraction of the memory. Reading a Pod decodes it.
func ExampleInformerOptions_packed() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(webPod("web-0", "node-1"))
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: true})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	web, exists := pods.Store().GetByKey("default/web-0")
	fmt.Println(web.Spec.NodeName, exists)
	fmt.Println("packed:", pods.Status().Store.PackedBytes > 0)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 true
	// packed: true
	// stopped: <nil>
}

// This example keeps only the field of the spec that the program reads. Unlike OmitFields, a
// transform runs after the whole object was decoded. A program must not write such an object back.
func ExampleInformerOptions_transform() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	pod := webPod("web-0", "node-1")
	pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	server.Create(pod)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
			pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
			return pod, nil
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}
	web, _ := pods.Store().GetByKey("default/web-0")
	fmt.Println(web.Spec.NodeName, web.Spec.Containers)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 []
	// stopped: <nil>
}

// This example ignores the states of a Pod that has no node yet.
func ExampleTransformFunc_skip() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(webPod("web-0", "node-1"))
	server.Create(webPod("web-1", ""))
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
			if pod.Spec.NodeName == "" {
				return nil, cache.ErrSkip
			}
			return pod, nil
		},
	})
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

// This example stores the Pods that have not failed. One that fails is a deletion. Prefer a
// selector where the server has one: objects that Filter refuses are transferred all the same.
func ExampleInformerOptions_filter() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(webPod("web-0", "node-1"))
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Filter: func(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodFailed },
	})
	lines := make(chan string)
	_, err := pods.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(event cache.Event[*corev1.Pod]) {
		lines <- fmt.Sprintln(event.Type, event.Key, event.LeftScope)
	}), cache.HandlerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	fmt.Print(<-lines)
	failed := webPod("web-0", "node-1")
	failed.Status.Phase = corev1.PodFailed
	server.Update(failed)
	fmt.Print(<-lines)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// Add default/web-0 false
	// Delete default/web-0 true
	// stopped: <nil>
}

// This example handles the errors of one object, of the server, and all others. An ErrorHandler
// replaces the default, which logs.
func ExampleErrorHandler() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(webPod("web-0", ""))
	lines := make(chan string)
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
			if pod.Spec.NodeName == "" {
				return nil, errors.New("no node")
			}
			return pod, nil
		},
		ErrorHandler: func(ctx context.Context, err error) {
			var line string
			var object *cache.ObjectError
			switch {
			case errors.As(err, &object):
				line = fmt.Sprintf("%s of %s: %v", object.Effect, object.Key, object.Err)
			case apierrors.IsForbidden(err):
				line = "grant the permission to list and watch Pods"
			default:
				line = err.Error()
			}
			select {
			case lines <- line:
			case <-ctx.Done():
			}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	fmt.Println(<-lines)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// Absent of default/web-0: transform: no node
	// stopped: <nil>
}
