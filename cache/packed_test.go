// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/json"
	"errors"
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

// startPodServer starts a server with 20 Pods of two ReplicaSets and one Pod without an owner, on
// three nodes.
func startPodServer(t *testing.T) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{})
	config := server.Config()
	client := kubernetes.NewForConfigOrDie(config)
	for i := range 21 {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns" + fmt.Sprint(i%2), Name: fmt.Sprintf("pod-%02d", i),
				Labels: map[string]string{"even": fmt.Sprint(i%2 == 0)}, Annotations: map[string]string{"number": fmt.Sprint(i)},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "test", Operation: metav1.ManagedFieldsOperationUpdate}},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%3), Containers: []corev1.Container{{Name: "main", Image: fmt.Sprintf("web:%d", i), Args: []string{"--number", fmt.Sprint(i)}}}},
		}
		if i < 20 {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: types.UID("owner-" + fmt.Sprint(i%2)), Controller: new(true)}}
		}
		if _, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return config, client
}

// expectEqual compares the stores of two informers of one collection.
func expectEqual[T cache.Object](t *testing.T, live, packed cache.Reader[T]) {
	t.Helper()
	var want, got []T
	for _, obj := range live.Snapshot().All() {
		want = append(want, obj)
	}
	for key, obj := range packed.Snapshot().All() {
		got = append(got, obj)
		if one, ok := packed.GetByKey(key); !ok || any(one) != any(obj) {
			t.Errorf("GetByKey(%s) is not the object of the snapshot, which is still referenced", key)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%d objects; packed differ from live (-live +packed):\n%s", len(got), diff)
	}
}

// TestPackedObjectsEqualUnpacked compares a packed with an unpacked informer for each kind of
// client, after a list and after a watch event.
func TestPackedObjectsEqualUnpacked(t *testing.T) {
	config, client := startPodServer(t)
	streaming := rest.CopyConfig(config)
	cache.EnableStreaming(streaming)
	pod := &unstructured.Unstructured{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	t.Run("typed, streamed", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, &corev1.Pod{}, cache.ListWatchOf(kubernetes.NewForConfigOrDie(streaming).CoreV1().Pods("")))
	})
	t.Run("typed, not streamed", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, &corev1.Pod{}, cache.ListWatchOf(client.CoreV1().Pods("")))
	})
	t.Run("unstructured, streamed", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, pod, cache.ListWatchOf(dynamic.NewForConfigOrDie(streaming).Resource(podGVR)))
	})
	t.Run("unstructured, example without a kind", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, &unstructured.Unstructured{}, cache.ListWatchOf(dynamic.NewForConfigOrDie(streaming).Resource(podGVR)))
	})
	t.Run("unstructured, not streamed", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, pod, cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(podGVR)))
	})
	t.Run("metadata", func(t *testing.T) {
		expectEqualAfterUpdate(t, client, &metav1.PartialObjectMetadata{}, cache.ListWatchOf(metadata.NewForConfigOrDie(streaming).Resource(podGVR)))
	})
}

func expectEqualAfterUpdate[T cache.Object](t *testing.T, client kubernetes.Interface, example T, lw *cache.ListWatch) {
	t.Helper()
	live := runInformer(t, lw, example, cache.InformerOptions[T]{})
	packed := runInformer(t, lw, example, cache.InformerOptions[T]{Packed: true})
	expectEqual(t, live.Store(), packed.Store())

	pods := client.CoreV1().Pods("ns0")
	pod, err := pods.Get(t.Context(), "pod-02", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Labels["changed"] = t.Name()[len(t.Name())-3:]
	if pod, err = pods.Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, informer := range []*cache.SharedInformer[T]{live, packed} {
		if err := informer.WaitForResourceVersion(testContext(t), pod.ResourceVersion); err != nil {
			t.Fatal(err)
		}
	}
	expectEqual(t, live.Store(), packed.Store())
}

// TestPackedNumbersEqualUnpacked compares packed with unpacked unstructured objects that are
// encoded for packing: those of a list function, and those that Transform has changed. A value that
// would change is an error on that object, which names the field.
func TestPackedNumbersEqualUnpacked(t *testing.T) {
	example := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	lw := fake.NewListerWatcher(example)
	for _, name := range []string{"a", "b"} {
		object := example.DeepCopy()
		object.SetName(name)
		object.Object["spec"] = map[string]any{"float": 1.0, "integer": int64(1), "list": []any{-2.0, 1e6, 0.5, int64(-3)}}
		lw.Create(object)
	}
	addTotal := func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		u.Object["total"] = 3.0
		return u, nil
	}
	addCount := func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		if u.GetName() == "b" {
			u.Object["spec"].(map[string]any)["count"] = 4711
		}
		return u, nil
	}
	for name, transform := range map[string]func(*unstructured.Unstructured) (*unstructured.Unstructured, error){"list": nil, "transform": addTotal} {
		t.Run(name, func(t *testing.T) {
			live := runInformer(t, lw, example, cache.InformerOptions[*unstructured.Unstructured]{Transform: transform})
			packed := runInformer(t, lw, example, cache.InformerOptions[*unstructured.Unstructured]{Transform: transform, Packed: true})
			expectEqual(t, live.Store(), packed.Store())
		})
	}
	errs := make(chan error, 10)
	packed := runInformer(t, lw, example, cache.InformerOptions[*unstructured.Unstructured]{
		Transform: addCount, Packed: true, ErrorHandler: func(_ context.Context, err error) { errs <- err },
	})
	var object *cache.ObjectError
	if err := <-errs; !errors.As(err, &object) || object.Key != "b" || !strings.Contains(err.Error(), "spec.count: ") || strings.Contains(err.Error(), "4711") {
		t.Errorf("error %v", err)
	}
	if keys := packed.Store().ListKeys(); !slices.Equal(keys, []string{"a"}) {
		t.Errorf("the store holds %q", keys)
	}
}

// TestPackedMetadataIndexes checks that indexes find the same Pods with and without streaming.
func TestPackedMetadataIndexes(t *testing.T) {
	config, client := startPodServer(t)
	t.Run("objects", func(t *testing.T) { expectIndexes(t, client) })
	cache.EnableStreaming(config)
	t.Run("streamed", func(t *testing.T) { expectIndexes(t, kubernetes.NewForConfigOrDie(config)) })
}

func expectIndexes(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	informer := runInformer(t, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Packed: true,
		Indexers: cache.Indexers[*corev1.Pod]{
			cache.NamespaceIndex: byMetadata(cache.MetaNamespaceIndexFunc),
			"label":              byMetadata(func(m cache.Metadata) ([]string, error) { return []string{m.GetLabels()["even"]}, nil }),
			"number":             byMetadata(func(m cache.Metadata) ([]string, error) { return []string{m.GetAnnotations()["number"]}, nil }),
			"owner": byMetadata(func(m cache.Metadata) (uids []string, _ error) {
				for _, owner := range m.GetOwnerReferences() {
					uids = append(uids, string(owner.UID))
				}
				return uids, nil
			}),
			"broken": byMetadata(func(cache.Metadata) ([]string, error) { return nil, errors.New("no index") }),
		},
		ErrorHandler: func(_ context.Context, err error) {},
	})
	store := informer.Store()
	for _, c := range []struct {
		index, value string
		want         int
	}{{cache.NamespaceIndex, "ns0", 11}, {"label", "true", 11}, {"number", "7", 1}, {"owner", "owner-1", 10}, {"broken", "", 0}} {
		keys, err := store.IndexKeys(c.index, c.value)
		if err != nil || len(keys) != c.want {
			t.Errorf("index %q finds %d under %q, want %d: %v", c.index, len(keys), c.value, c.want, err)
		}
	}
	if keys := store.ListKeys(); len(keys) != 21 {
		t.Errorf("%d keys", len(keys))
	}
}

// TestPackedWithTransformAndFilter checks that the results of Transform are packed.
func TestPackedWithTransformAndFilter(t *testing.T) {
	_, client := startPodServer(t)
	informer := runInformer(t, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Packed: true,
		Filter: func(pod *corev1.Pod) bool { return pod.Labels["even"] == "true" },
		Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
			pod.Spec, pod.UID, pod.ResourceVersion = corev1.PodSpec{NodeName: "transformed"}, "", ""
			return pod, nil
		},
		Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: byMetadata(cache.MetaNamespaceIndexFunc)},
	})
	pods, err := informer.Store().ByIndex(cache.NamespaceIndex, "ns0")
	if err != nil || len(pods) != 11 || informer.Store().Len() != 11 {
		t.Fatalf("%d of %d Pods in the index: %v", len(pods), informer.Store().Len(), err)
	}
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "transformed" || pod.UID != "" }); i >= 0 {
		out, _ := json.Marshal(pods[i])
		t.Errorf("not transformed: %s", out)
	}
}

// byMetadata returns an index of Pods on their metadata.
func byMetadata(index func(cache.Metadata) ([]string, error)) cache.Index[*corev1.Pod] {
	return cache.ByMetadata[*corev1.Pod](index)
}
