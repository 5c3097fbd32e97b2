// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// omittedOfPods are the fields that the following tests omit from the Pods of startPodServer.
var omittedOfPods = []string{"metadata.managedFields", "metadata.annotations[number]", "metadata.labels[changed]"}

// clearOmitted is a Transform that clears omittedOfPods.
func clearOmitted[T cache.Object](obj T) (T, error) {
	annotations, labels := obj.GetAnnotations(), obj.GetLabels()
	delete(annotations, "number")
	delete(labels, "changed")
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetManagedFields(nil)
	obj.SetAnnotations(annotations)
	obj.SetLabels(labels)
	return obj, nil
}

// TestOmittedFieldsEqualClearedOnes compares informers that omit fields with one whose Transform
// clears them, for each kind of client, after a list and after a watch event.
func TestOmittedFieldsEqualClearedOnes(t *testing.T) {
	config, client := startPodServer(t)
	streaming := rest.CopyConfig(config)
	cache.EnableStreaming(streaming)
	pod := &unstructured.Unstructured{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	for name, config := range map[string]*rest.Config{"streamed": streaming, "not streamed": config} {
		t.Run("typed, "+name, func(t *testing.T) {
			expectOmitted(t, client, &corev1.Pod{}, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("")))
		})
		t.Run("unstructured, "+name, func(t *testing.T) {
			expectOmitted(t, client, pod, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(podGVR)))
		})
		t.Run("unstructured without a kind, "+name, func(t *testing.T) {
			expectOmitted(t, client, &unstructured.Unstructured{}, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(podGVR)))
		})
		t.Run("metadata, "+name, func(t *testing.T) {
			expectOmitted(t, client, &metav1.PartialObjectMetadata{}, cache.ListWatchOf(metadata.NewForConfigOrDie(config).Resource(podGVR)))
		})
	}
}

func expectOmitted[T cache.Object](t *testing.T, client kubernetes.Interface, example T, lw *cache.ListWatch) {
	t.Helper()
	lookup := cache.Indexers[T]{"number": cache.ByMetadata[T](func(m cache.Metadata) ([]string, error) {
		return []string{m.GetAnnotations()["number"]}, nil
	})}
	want := runInformer(t, lw, example, cache.InformerOptions[T]{Transform: clearOmitted[T], Indexers: lookup})
	var informers []*cache.SharedInformer[T]
	for _, options := range []cache.InformerOptions[T]{
		{}, {Packed: true}, {ShareEqual: true}, {DetectMutations: true},
		{Filter: func(obj T) bool { return obj.GetManagedFields() == nil && obj.GetAnnotations() == nil }},
		{Packed: true, Transform: func(obj T) (T, error) { return obj, nil }},
	} {
		options.OmitFields, options.NeverWritten, options.Indexers = omittedOfPods, true, lookup
		informers = append(informers, runInformer(t, lw, example, options))
	}
	pods := client.CoreV1().Pods("ns0")
	patch := fmt.Sprintf(`{"metadata":{"labels":{"changed":"%d"}}}`, len(t.Name()))
	pod, err := pods.Patch(t.Context(), "pod-02", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := append(informers, want)
	for _, informer := range all {
		if err := informer.WaitForResourceVersion(testContext(t), pod.ResourceVersion); err != nil {
			t.Fatal(err)
		}
	}
	for i, informer := range all {
		if diff := cmp.Diff(slices.Collect(values(want.Store())), slices.Collect(values(informer.Store()))); diff != "" {
			t.Errorf("informer %d: cleared by a transform (-), omitted (+): %s", i, diff)
		}
		if keys, err := informer.Store().IndexKeys("number", ""); err != nil || len(keys) != 21 {
			t.Errorf("informer %d: the index has %d objects without the annotation, %v, want all", i, len(keys), err)
		}
		if status := informer.Status(); status.Store.Quarantined != 0 || len(status.Store.OmitFieldsNotFound) > 0 && i < len(informers) {
			t.Errorf("informer %d: status %+v", i, status)
		}
	}
}

// values returns a store's objects in the order of their keys.
func values[T cache.Object](reader cache.Reader[T]) func(yield func(T) bool) {
	return func(yield func(T) bool) {
		for _, obj := range reader.Snapshot().All() {
			if !yield(obj) {
				return
			}
		}
	}
}

// TestOmittedFieldsOfObjectsOfOthers covers a list function whose objects the program goes on
// using.
func TestOmittedFieldsOfObjectsOfOthers(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}, Annotations: map[string]string{"a": "1", "b": "2"},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "e"}}}}}}
	original := pod.DeepCopy()
	lw := fake.NewListerWatcher(&corev1.Pod{})
	lw.Create(pod)
	informer := runInformer(t, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		OmitFields: []string{"metadata.managedFields", "metadata.annotations[a]", "spec.containers.env"}, NeverWritten: true,
	})
	got, _ := informer.Store().GetByKey("a")
	if got.ManagedFields != nil || got.Spec.Containers[0].Env != nil || len(got.Annotations) != 1 {
		t.Errorf("the store has %v", got)
	}
	if stored, ok := lw.Get("a"); !ok || len(stored.ManagedFields) != 1 || len(stored.Annotations) != 2 || len(stored.Spec.Containers[0].Env) != 1 {
		t.Errorf("the server's object became %v, was created from %v", stored, original)
	}
}

// TestOmitFieldsNotFound has the same paths for unstructured objects and for those of a Go type,
// which has all of them.
func TestOmitFieldsNotFound(t *testing.T) {
	paths := []string{"metadata.managedFields", "metadata.annotations[a]", "spec.containers.env", "spec.ephemeralContainers"}
	typed := fake.NewListerWatcher(&corev1.Pod{})
	typed.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	expectNotFound(t, typed, &corev1.Pod{}, paths, nil)
	untyped := fake.NewListerWatcher(&unstructured.Unstructured{})
	untyped.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"containers": []any{map[string]any{"env": []any{map[string]any{"name": "e"}}}}},
	}})
	expectNotFound(t, untyped, &unstructured.Unstructured{}, paths, []string{"spec.ephemeralContainers"})
}

func expectNotFound[T cache.Object](t *testing.T, lw cache.ListerWatcher, example T, paths, want []string) {
	t.Helper()
	logger, logged := bufferedLogger(5)
	t.Cleanup(func() { // after the informer has stopped
		log := logged()
		lines := strings.Count(log, "Fields to omit were not found")
		if lines != min(len(want), 1) || lines == 1 && !strings.Contains(log, fmt.Sprintf("fields=%q", want)) {
			t.Errorf("%T: the log is %s, want one line with %q, or none", example, log, want)
		}
	})
	informer := runInformer(t, lw, example, cache.InformerOptions[T]{OmitFields: paths, NeverWritten: true, Logger: logger})
	if missing := informer.Status().Store.OmitFieldsNotFound; !slices.Equal(missing, want) {
		t.Errorf("%T: OmitFieldsNotFound = %q, want %q", example, missing, want)
	}
}

// TestUpdateOfOmittedFieldsIsDelivered covers an update of which nothing is left: it has a new
// version.
func TestUpdateOfOmittedFieldsIsDelivered(t *testing.T) {
	config, client := startPodServer(t)
	cache.EnableStreaming(config)
	informer := runInformer(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns0")), &corev1.Pod{},
		cache.InformerOptions[*corev1.Pod]{OmitFields: omittedOfPods, NeverWritten: true})
	updates := make(chan string, 10)
	handle(t, informer, func(event cache.Event[*corev1.Pod]) {
		if event.Type == cache.EventUpdate {
			updates <- cachetest.NameAtVersion(event.New)
		}
	})
	pod, err := client.CoreV1().Pods("ns0").Patch(t.Context(), "pod-02", types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"number":"0"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := <-updates, cachetest.NameAtVersion(pod); got != want {
		t.Errorf("delivered %s, want %s", got, want)
	}
}

// TestUpdateOfCachedObjectsIsSent writes cached objects back: the server keeps the managedFields
// that they lack, and other fields are erased, as NeverWritten says.
func TestUpdateOfCachedObjectsIsSent(t *testing.T) {
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"managedFields": {OmitFields: omittedOfPods[:1]},
		"other fields":  {OmitFields: []string{"spec.containers.args"}, NeverWritten: true},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := startPodServer(t)
			cache.EnableStreaming(config)
			client := kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns0")
			informer := runInformer(t, cache.ListWatchOf(client), &corev1.Pod{}, options)
			cached, _ := informer.Store().GetByKey("ns0/pod-02")
			updated, err := client.Update(t.Context(), cached.DeepCopy(), metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if hasArgs := len(updated.Spec.Containers[0].Args) > 0; len(updated.ManagedFields) == 0 || hasArgs == options.NeverWritten {
				t.Errorf("the server has %v", updated)
			}
		})
	}
}

// TestFilterOfWaitForObjectGetsOmittedFields has a Filter whose result depends on an omitted field.
func TestFilterOfWaitForObjectGetsOmittedFields(t *testing.T) {
	config, client := startPodServer(t)
	cache.EnableStreaming(config)
	informer := runInformer(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns0")), &corev1.Pod{},
		cache.InformerOptions[*corev1.Pod]{
			OmitFields: []string{"metadata.annotations"}, NeverWritten: true,
			Filter: func(pod *corev1.Pod) bool { return len(pod.Annotations) == 0 },
		})
	pod, err := client.CoreV1().Pods("ns0").Get(t.Context(), "pod-02", metav1.GetOptions{})
	if err != nil || len(pod.Annotations) == 0 {
		t.Fatalf("the server has %v, %v", pod, err)
	}
	if err := informer.WaitForObject(testContext(t), pod); err != nil {
		t.Errorf("WaitForObject of a stored object returned %v", err)
	}
}

func TestInvalidOmitFields(t *testing.T) {
	for _, paths := range [][]string{{"spec.colour"}, {"metadata.name"}, {"spec.nodeName"}} {
		informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{OmitFields: paths})
		if err := informer.Run(t.Context()); err == nil || !strings.Contains(err.Error(), paths[0]) {
			t.Errorf("Run with OmitFields %q returned %v", paths, err)
		}
	}
}
