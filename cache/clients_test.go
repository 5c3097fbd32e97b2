// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientset "k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fakeClient is a collection of one of client-go's fake clients, in namespace ns. Its objects have
// neither a UID nor a resourceVersion, so that an informer cannot recognize unchanged objects.
type fakeClient[T cache.Object] struct {
	lw      func(modify ...func(*metav1.ListOptions)) cache.ListerWatcher
	example T
	create  func(name, app string)
	update  func(name, app string)
	remove  func(name string)
}

var podGVR = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func typedClient(t *testing.T) fakeClient[*corev1.Pod] {
	t.Helper()
	pods := clientset.NewClientset().CoreV1().Pods("ns")
	must := func(_ any, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	ctx := context.Background()
	return fakeClient[*corev1.Pod]{
		lw: func(modify ...func(*metav1.ListOptions)) cache.ListerWatcher {
			return cache.ListWatchOf(pods, modify...)
		},
		example: &corev1.Pod{},
		create: func(name, app string) {
			must(pods.Create(ctx, cachetest.Pod(name, cachetest.WithLabel("app", app)), metav1.CreateOptions{}))
		},
		update: func(name, app string) {
			must(pods.Update(ctx, cachetest.Pod(name, cachetest.WithLabel("app", app)), metav1.UpdateOptions{}))
		},
		remove: func(name string) { must(nil, pods.Delete(ctx, name, metav1.DeleteOptions{})) },
	}
}

func unstructuredPod(name, app string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
	u.SetNamespace("ns")
	u.SetName(name)
	u.SetLabels(map[string]string{"app": app})
	return u
}

func dynamicClient(t *testing.T) fakeClient[*unstructured.Unstructured] {
	t.Helper()
	pods := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{podGVR: "PodList"}).Resource(podGVR).Namespace("ns")
	must := func(_ any, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	ctx := context.Background()
	return fakeClient[*unstructured.Unstructured]{
		lw: func(modify ...func(*metav1.ListOptions)) cache.ListerWatcher {
			return cache.ListWatchOf(pods, modify...)
		},
		example: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}},
		create:  func(name, app string) { must(pods.Create(ctx, unstructuredPod(name, app), metav1.CreateOptions{})) },
		update:  func(name, app string) { must(pods.Update(ctx, unstructuredPod(name, app), metav1.UpdateOptions{})) },
		remove:  func(name string) { must(nil, pods.Delete(ctx, name, metav1.DeleteOptions{})) },
	}
}

func metadataClient(t *testing.T) fakeClient[*metav1.PartialObjectMetadata] {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pods := metadatafake.NewSimpleMetadataClient(scheme).Resource(podGVR).Namespace("ns").(metadatafake.MetadataClient)
	object := func(name, app string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"app": app}},
		}
	}
	must := func(_ any, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	return fakeClient[*metav1.PartialObjectMetadata]{
		lw: func(modify ...func(*metav1.ListOptions)) cache.ListerWatcher {
			return cache.ListWatchOf(pods, modify...)
		},
		example: &metav1.PartialObjectMetadata{},
		create:  func(name, app string) { must(pods.CreateFake(object(name, app), metav1.CreateOptions{})) },
		update:  func(name, app string) { must(pods.UpdateFake(object(name, app), metav1.UpdateOptions{})) },
		remove:  func(name string) { must(nil, pods.Delete(context.Background(), name, metav1.DeleteOptions{})) },
	}
}

// TestInformersOfClientGoFakes runs informers with the fake typed, dynamic and metadata clients.
func TestInformersOfClientGoFakes(t *testing.T) {
	t.Run("typed", func(t *testing.T) { testFakeClient(t, typedClient) })
	t.Run("dynamic", func(t *testing.T) { testFakeClient(t, dynamicClient) })
	t.Run("metadata", func(t *testing.T) { testFakeClient(t, metadataClient) })
}

func testFakeClient[T cache.Object](t *testing.T, newClient func(*testing.T) fakeClient[T]) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t)
		c.create("a", "x")
		c.create("b", "y")
		everything, selected := informerOf(t, c.lw(), c.example), informerOf(t, c.lw(cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))), c.example)
		everything.expect(t, "A a x, A b y")
		if selected.store.Len() != 1 {
			t.Errorf("the informer with a label selector holds %v", selected.store.ListKeys())
		}
		selected.expect(t, "A a x")
		c.update("a", "z")
		c.update("a", "z")
		c.create("c", "x")
		c.remove("b")
		c.create("b", "y")
		everything.expect(t, "U a x z, U a z z, A c x, D b y, A b y")
		if got := len(everything.store.ListKeys()); got != 3 {
			t.Errorf("%d objects, want 3", got)
		}
		everything.stop(t)
		selected.stop(t)
	})
}

// informerOfAny is an informer that records its events with the objects' labels.
type informerOfAny[T cache.Object] struct {
	store   cache.Reader[T]
	cancel  context.CancelFunc
	stopped chan error

	mu     sync.Mutex // guards events
	events []string
}

func informerOf[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T) *informerOfAny[T] {
	t.Helper()
	i := &informerOfAny[T]{stopped: make(chan error, 1)}
	note := func(verb string, objs ...T) {
		i.mu.Lock()
		defer i.mu.Unlock()
		word := verb + " " + objs[0].GetName()
		for _, obj := range objs {
			word += " " + obj.GetLabels()["app"]
		}
		i.events = append(i.events, word)
	}
	var controller *cache.Controller
	i.store, controller = cache.NewInformer(lw, example, 0, cache.ResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { note("A", obj) },
		UpdateFunc: func(old, obj T) { note("U", old, obj) },
		DeleteFunc: func(obj T) { note("D", obj) },
	})
	var ctx context.Context
	ctx, i.cancel = context.WithCancel(t.Context())
	go func() { i.stopped <- controller.Run(ctx) }()
	if err := controller.WaitForDelivery(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until the watch is open: the fakes do not send earlier events
	return i
}

func (i *informerOfAny[T]) expect(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	i.mu.Lock()
	defer i.mu.Unlock()
	if got := strings.Join(i.events, ", "); got != want {
		t.Errorf("events [%s], want [%s]", got, want)
	}
	i.events = nil
}

func (i *informerOfAny[T]) stop(t *testing.T) {
	t.Helper()
	i.cancel()
	if err := <-i.stopped; err != nil {
		t.Error(err)
	}
}
