// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/e2e/cluster"
	"github.com/kinformer/kinformer/fake"
)

const namespace = "controller-runtime"

// TestControllerRuntimeFunctionsStream checks that the list and watch functions of a
// controller-runtime cache are streamed, if EnableStreaming has prepared the config, and return the
// same objects.
func TestControllerRuntimeFunctionsStream(t *testing.T) {
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	for name, config := range map[string]func(*testing.T) *rest.Config{"fake": fakeServer, "kube-apiserver": realServer} {
		t.Run(name, func(t *testing.T) {
			config := config(t)
			pods := createPods(t, config)
			t.Run("typed", func(t *testing.T) {
				expectStreamed[*corev1.Pod](t, config, pods, &corev1.Pod{}, "application/vnd.kubernetes.protobuf")
			})
			t.Run("unstructured", func(t *testing.T) {
				example := &unstructured.Unstructured{}
				example.SetGroupVersionKind(pod)
				expectStreamed[*unstructured.Unstructured](t, config, pods, example, "application/json")
			})
			t.Run("metadata", func(t *testing.T) {
				example := &metav1.PartialObjectMetadata{}
				example.SetGroupVersionKind(pod)
				expectStreamed[*metav1.PartialObjectMetadata](t, config, pods, example, "application/vnd.kubernetes.protobuf")
			})
		})
	}
}

func fakeServer(t *testing.T) *rest.Config {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Config()
}

func realServer(t *testing.T) *rest.Config { return cluster.New(t, cluster.Options{}).Config() }

// pods creates Pods and has their names.
type pods struct {
	client *kubernetes.Clientset
	names  []string
}

// initialPods is the number of Pods created before the first list.
const initialPods = 20

func createPods(t *testing.T, config *rest.Config) *pods {
	t.Helper()
	p := &pods{client: kubernetes.NewForConfigOrDie(rest.CopyConfig(config))}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := p.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range initialPods {
		p.create(t, fmt.Sprintf("pod-%02d", i))
	}
	return p
}

func (p *pods) create(t *testing.T, name string) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
	}
	if _, err := p.client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.names = append(p.names, name)
}

// object is an object of both libraries.
type object interface {
	cache.Object
	client.Object
}

// withoutKind returns a metadata object without its kind. controller-runtime's functions set the
// kind in the returned objects, which streaming bypasses; the example has the kind.
func withoutKind(obj runtime.Object) runtime.Object {
	if metadata, ok := obj.(*metav1.PartialObjectMetadata); ok {
		obj = metadata.DeepCopy()
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj
}

// expectStreamed runs two informers with controller-runtime's functions for an example, one of them
// with Streaming set, and checks that this one streams and that both hold the same objects.
func expectStreamed[T object](t *testing.T, config *rest.Config, p *pods, example T, contentType string) {
	t.Helper()
	recorded := &responses{}
	config = rest.CopyConfig(config)
	config.Wrap(recorded.wrap) // before EnableStreaming, so that it sees the server's responses
	cache.EnableStreaming(config)
	lw, given := listWatchOf(t, config, example)
	if _, ok := given.(T); !ok {
		t.Fatalf("the informer's example is %T, not %T", given, example)
	}
	streaming, decoding := start(t, toListWatch(lw, true), given.(T)), start(t, toListWatch(lw, false), given.(T))
	streaming.awaitPods(t, p.names)
	recorded.expect(t, contentType)
	decoding.awaitPods(t, p.names)
	p.create(t, strings.ToLower("late-"+reflect.TypeFor[T]().Elem().Name()))
	streaming.awaitPods(t, p.names)
	decoding.awaitPods(t, p.names)
	if status := streaming.controller.Status(); !status.Requests.Streaming {
		t.Errorf("not streaming: %s", status.Requests.NotStreamingReason)
	}
	if status := decoding.controller.Status(); status.Requests.Streaming {
		t.Error("streaming, although Streaming is not set")
	}
	for key, want := range decoding.store.Snapshot().All() {
		if got, ok := streaming.store.GetByKey(key); !ok || !reflect.DeepEqual(withoutKind(got), withoutKind(want)) {
			t.Fatalf("streamed\n%#v\nnot streamed\n%#v", got, want)
		}
	}
}
