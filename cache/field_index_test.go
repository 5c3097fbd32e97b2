// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// gadgetOf returns a custom resource with a spec.
func gadgetOf(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// TestFieldIndexFindsObjectsHoweverTheyArrive compares what indexes by fields find with the Pods,
// which are live and packed, streamed and decoded by the client.
func TestFieldIndexFindsObjectsHoweverTheyArrive(t *testing.T) {
	config, client := startPodServer(t)
	list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string][]string) // keys by node and by image
	for _, pod := range list.Items {
		key := pod.Namespace + "/" + pod.Name
		want[pod.Spec.NodeName] = append(want[pod.Spec.NodeName], key)
		for _, container := range pod.Spec.Containers {
			want[container.Image] = append(want[container.Image], key)
		}
	}
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		lw := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
		informer := runInformer(t, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Packed:   packed,
			Indexers: cache.Indexers[*corev1.Pod]{"node": cache.ByField[*corev1.Pod]("spec.nodeName"), "image": cache.ByField[*corev1.Pod]("spec.containers.image")},
		})
		found := 0
		for _, index := range []string{"node", "image"} {
			values, err := informer.Store().Snapshot().ListIndexValues(index)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range values {
				keys, err := informer.Store().IndexKeys(index, value)
				slices.Sort(keys)
				slices.Sort(want[value])
				if found++; err != nil || !slices.Equal(keys, want[value]) {
					t.Errorf("%s %s finds %q, %v, want %q", index, value, keys, err, want[value])
				}
			}
		}
		if found != len(want) {
			t.Errorf("the indexes have %d values, want %d", found, len(want))
		}
	})
}

// TestFieldIndexDecodesNothing counts the decoded objects of a packed informer with an index by a
// field and a handler of keys.
func TestFieldIndexDecodesNothing(t *testing.T) {
	config, _ := startPodServer(t)
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	informer := runInformer(t, cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Packed:   true,
		Indexers: cache.Indexers[*corev1.Pod]{"node": cache.ByField[*corev1.Pod]("spec.nodeName"), "image": cache.ByField[*corev1.Pod]("spec.containers.image")},
	})
	written, err := client.CoreV1().Pods("ns1").Patch(t.Context(), "pod-01", types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"1"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := informer.WaitForObject(testContext(t), written); err != nil {
		t.Fatal(err)
	}
	if decoded := informer.Status().Requests.Decoded; decoded != 0 {
		t.Errorf("decoded %d objects", decoded)
	}
	keys, err := informer.Store().IndexKeys("image", "web:4")
	if err != nil || !slices.Equal(keys, []string{"ns0/pod-04"}) {
		t.Errorf("image web:4 finds %v, %v", keys, err)
	}
}

// TestInvalidFieldIndexIsAnErrorOfTheInformer checks that Run names the index and the field.
func TestInvalidFieldIndexIsAnErrorOfTheInformer(t *testing.T) {
	server := fake.NewListerWatcher(&corev1.Pod{})
	for _, test := range []struct {
		path string
		omit []string
		want string
	}{
		{"spec.node", nil, `index "a": field "spec.node": v1.PodSpec has no field "node"`},
		{"spec.nodeName", []string{"spec"}, `index "a": OmitFields "spec" leaves it out`},
	} {
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			OmitFields: test.omit, NeverWritten: true, Indexers: cache.Indexers[*corev1.Pod]{"a": cache.ByField[*corev1.Pod](test.path)},
		})
		if err := informer.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.path, err)
		}
	}
	partial := cache.NewSharedInformer(server, &partialPod{}, cache.InformerOptions[*partialPod]{
		Indexers: cache.Indexers[*partialPod]{"host": cache.ByField[*partialPod]("spec.hostname")},
	})
	if err := partial.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `has no field "hostname"`) {
		t.Errorf("a field that is not kept: %v", err)
	}
}

// grade is a type that reads and writes itself by methods of its pointer.
type grade struct{ value int }

func (g *grade) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"grade %d"`, g.value), nil }

func (g *grade) UnmarshalJSON(text []byte) error {
	_, err := fmt.Sscanf(string(text), `"grade %d"`, &g.value)
	return err
}

func (g *grade) DeepCopyInto(out *grade) { *out = *g }

// TestPartialObjectMarshalsByPointer packs an object whose field writes itself, and encodes a copy
// of it.
func TestPartialObjectMarshalsByPointer(t *testing.T) {
	type fields struct {
		Spec struct {
			Grade grade `json:"grade"`
		} `json:"spec"`
	}
	type gadget = cache.PartialObject[*unstructured.Unstructured, fields]
	gadgets := fake.NewListerWatcher(gadgetOf("", nil))
	gadgets.Create(gadgetOf("a", map[string]any{"grade": "grade 7"}))
	informer := runInformer(t, gadgets, &gadget{}, cache.InformerOptions[*gadget]{Packed: true})
	got, ok := informer.Store().GetByKey("a")
	if !ok || got.Fields.Spec.Grade.value != 7 {
		t.Fatalf("got %+v, %v", got, ok)
	}
	text, err := json.Marshal(map[string]gadget{"a": *got})
	if err != nil || !strings.Contains(string(text), `"apiVersion":"partial.kinformer.dev/v1"`) || !strings.Contains(string(text), `"grade 7"`) {
		t.Errorf("a copy is encoded as %s, %v", text, err)
	}
}

// podValue is an Object that is no pointer.
type podValue struct{ *corev1.Pod }

// TestIndexOfInvalidTypeIsAnError makes stores and informers whose objects have no fields that can
// be found.
func TestIndexOfInvalidTypeIsAnError(t *testing.T) {
	type misspelled struct {
		Spec struct {
			Node string `json:"node"`
		} `json:"spec"`
	}
	type pod = cache.PartialObject[*corev1.Pod, misspelled]
	store := cache.NewStore(nil, cache.Indexers[*pod]{"node": cache.ByField[*pod]("spec.node")})
	if err := store.Add(&pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err == nil || !strings.Contains(err.Error(), "field Spec.Node") {
		t.Errorf("a store of objects with a misspelled field: %v", err)
	}
	values := cache.NewStore(nil, cache.Indexers[podValue]{"node": cache.ByField[podValue]("spec.nodeName")})
	if err := values.Add(podValue{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}); err == nil || !strings.Contains(err.Error(), "is no pointer") {
		t.Errorf("a store of values: %v", err)
	}
	informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), podValue{}, cache.InformerOptions[podValue]{})
	if err := informer.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is no pointer") {
		t.Errorf("an informer of values: %v", err)
	}
	type nested = cache.PartialObject[*partialPod, struct{}]
	inside := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &nested{}, cache.InformerOptions[*nested]{})
	if err := inside.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "has no metadata") {
		t.Errorf("an informer of parts of parts: %v", err)
	}
}

// moody is a type whose decoder refuses some values, with the value in the error, and panics on
// others.
type moody struct{ text string }

func (m *moody) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &m.text); err != nil || m.text == "panic" {
		panic("moody")
	}
	if _, err := time.Parse(time.RFC3339, m.text); err != nil {
		return err
	}
	return nil
}

func (m *moody) MarshalJSON() ([]byte, error) { return json.Marshal(m.text) }

func (m *moody) DeepCopyInto(out *moody) { *out = *m }

type moodyFields struct {
	Spec struct {
		Mood moody `json:"mood"`
	} `json:"spec"`
}

// TestUnreadableFieldsAreErrorsWithoutValues reads fields whose decoder fails.
func TestUnreadableFieldsAreErrorsWithoutValues(t *testing.T) {
	type gadget = cache.PartialObject[*unstructured.Unstructured, moodyFields]
	for mood, want := range map[string]string{"panic": "panic: moody", "hunter2": "parsing time"} {
		gadgets := fake.NewListerWatcher(gadgetOf("", nil))
		written := gadgets.Create(gadgetOf("a", map[string]any{"mood": mood}))
		partial := runInformer(t, gadgets, &gadget{}, cache.InformerOptions[*gadget]{ErrorHandler: func(context.Context, error) {}})
		err := cache.WaitForAPIObject(testContext(t), partial, written)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the wait for %s returned %v", mood, err)
		}
	}
}

// TestUndecodableItemIsReportedOnce streams an object whose indexed field has another type.
func TestUndecodableItemIsReportedOnce(t *testing.T) {
	config, client := startWidgetServer(t)
	cache.EnableStreaming(config)
	large := newWidget("ns", "a", "")
	large.Object["spec"] = map[string]any{"size": "large"}
	if _, err := client.Create(t.Context(), large, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var reported []error
	informer := cache.NewSharedInformer(cache.ListWatchOf(widgetsOf(config)), &sizedWidget{TypeMeta: widgetType("Widget")}, cache.InformerOptions[*sizedWidget]{
		Packed: true, Indexers: cache.Indexers[*sizedWidget]{"size": cache.ByField[*sizedWidget]("spec.size")},
		ErrorHandler: func(_ context.Context, err error) { reported = append(reported, err) },
	})
	stop := start(t, informer)
	if err := informer.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if len(reported) != 1 || strings.Contains(reported[0].Error(), "index") {
		t.Errorf("reported %v, want the object's error once", reported)
	}
}
