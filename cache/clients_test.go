// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"strings"
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
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// fakeClient is a collection of one of client-go's fake clients, in namespace ns. Its objects have
// neither a UID nor a resourceVersion, so that an informer cannot recognize unchanged objects.
type fakeClient[T cache.Object] struct {
	lw             func(modify ...func(*metav1.ListOptions)) *cache.ListWatch
	example        T
	create, update func(name, app string) error
	remove         func(name string) error
}

var podGVR = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func typedClient(t *testing.T) fakeClient[*corev1.Pod] {
	t.Helper()
	return podsClient(t, clientset.NewClientset().CoreV1().Pods("ns"))
}

func podsClient(t *testing.T, pods corev1client.PodInterface) fakeClient[*corev1.Pod] {
	t.Helper()
	object := func(name, app string) *corev1.Pod { return cachetest.Pod(name, cachetest.WithLabel("app", app)) }
	return fakeClient[*corev1.Pod]{
		lw:      func(modify ...func(*metav1.ListOptions)) *cache.ListWatch { return cache.ListWatchOf(pods, modify...) },
		example: &corev1.Pod{},
		create: func(name, app string) error {
			_, err := pods.Create(t.Context(), object(name, app), metav1.CreateOptions{})
			return err
		},
		update: func(name, app string) error {
			_, err := pods.Update(t.Context(), object(name, app), metav1.UpdateOptions{})
			return err
		},
		remove: func(name string) error { return pods.Delete(t.Context(), name, metav1.DeleteOptions{}) },
	}
}

func dynamicClient(t *testing.T) fakeClient[*unstructured.Unstructured] {
	t.Helper()
	pods := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{podGVR: "PodList"}).Resource(podGVR).Namespace("ns")
	object := func(name, app string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{
			"namespace": "ns", "name": name, "labels": map[string]any{"app": app},
		}}}
	}
	return fakeClient[*unstructured.Unstructured]{
		lw:      func(modify ...func(*metav1.ListOptions)) *cache.ListWatch { return cache.ListWatchOf(pods, modify...) },
		example: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}},
		create: func(name, app string) error {
			_, err := pods.Create(t.Context(), object(name, app), metav1.CreateOptions{})
			return err
		},
		update: func(name, app string) error {
			_, err := pods.Update(t.Context(), object(name, app), metav1.UpdateOptions{})
			return err
		},
		remove: func(name string) error { return pods.Delete(t.Context(), name, metav1.DeleteOptions{}) },
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
		return &metav1.PartialObjectMetadata{TypeMeta: cachetest.TypeMeta("Pod"), ObjectMeta: cachetest.Pod(name, cachetest.WithLabel("app", app)).ObjectMeta}
	}
	return fakeClient[*metav1.PartialObjectMetadata]{
		lw:      func(modify ...func(*metav1.ListOptions)) *cache.ListWatch { return cache.ListWatchOf(pods, modify...) },
		example: &metav1.PartialObjectMetadata{},
		create: func(name, app string) error {
			_, err := pods.CreateFake(object(name, app), metav1.CreateOptions{})
			return err
		},
		update: func(name, app string) error {
			_, err := pods.UpdateFake(object(name, app), metav1.UpdateOptions{})
			return err
		},
		remove: func(name string) error { return pods.Delete(t.Context(), name, metav1.DeleteOptions{}) },
	}
}

// TestInformersOfClientGoFakes runs informers with the fake typed, dynamic and metadata clients.
func TestInformersOfClientGoFakes(t *testing.T) {
	cachetest.RunInBubble(t, "typed", func(t *testing.T) { testFakeClient(t, typedClient(t)) })
	cachetest.RunInBubble(t, "dynamic", func(t *testing.T) { testFakeClient(t, dynamicClient(t)) })
	cachetest.RunInBubble(t, "metadata", func(t *testing.T) { testFakeClient(t, metadataClient(t)) })
}

func testFakeClient[T cache.Object](t *testing.T, c fakeClient[T]) {
	t.Helper()
	write := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	}
	write(c.create("a", "x"), c.create("b", "y"))
	everything, expectEverything := labelsOf(t, c.lw(), c.example)
	selected, expectSelected := labelsOf(t, c.lw(cache.WithLabelSelector(labels.SelectorFromSet(labels.Set{"app": "x"}))), c.example)
	expectEverything("A a x, A b y")
	if selected.Store().Len() != 1 {
		t.Errorf("the informer with a label selector holds %v", selected.Store().ListKeys())
	}
	expectSelected("A a x")
	write(c.update("a", "z"), c.update("a", "z"), c.create("c", "x"), c.remove("b"), c.create("b", "y"))
	expectEverything("U a x z, U a z z, A c x, D b y, A b y")
	if got := len(everything.Store().ListKeys()); got != 3 {
		t.Errorf("%d objects, want 3", got)
	}
}

// labelsOf returns an informer and a function that checks its events since the last call, by the
// objects' labels.
func labelsOf[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T) (informer *cache.SharedInformer[T], expect func(want string)) {
	t.Helper()
	var events []string
	note := func(verb string, objs ...T) {
		word := verb + " " + objs[0].GetName()
		for _, obj := range objs {
			word += " " + obj.GetLabels()["app"]
		}
		events = append(events, word)
	}
	informer = cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs[T]{
		AddFunc:    func(obj T) { note("A", obj) },
		UpdateFunc: func(old, obj T) { note("U", old, obj) },
		DeleteFunc: func(obj T) { note("D", obj) },
	}, cache.HandlerOptions{}); err != nil {
		t.Fatal(err)
	}
	start(t, informer)
	synctest.Wait() // until the watch is open: the fakes do not send earlier events
	return informer, func(want string) {
		t.Helper()
		synctest.Wait()
		if got := strings.Join(events, ", "); got != want {
			t.Errorf("events [%s], want [%s]", got, want)
		}
		events = nil
	}
}
