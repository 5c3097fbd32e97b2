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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// TestProjectionEqualsObjects reads the fields of whole and of partial Pods, live and packed,
// streamed and decoded by the client, and compares them with the Pods.
func TestProjectionEqualsObjects(t *testing.T) {
	config, client := startPodServer(t)
	list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := make(map[string]corev1.Pod)
	for _, pod := range list.Items {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		lw := cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods(""))
		t.Run("whole", func(t *testing.T) {
			checkProjection(t, runInformer(t, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
				Packed: packed, Indexers: cache.Indexers[*corev1.Pod]{"node": cache.ByField[*corev1.Pod]("spec.nodeName")},
			}), pods)
		})
		t.Run("partial", func(t *testing.T) {
			checkProjection(t, runInformer(t, lw, &partialPod{}, cache.InformerOptions[*partialPod]{
				Packed: packed, Indexers: cache.Indexers[*partialPod]{"node": cache.ByField[*partialPod]("spec.nodeName")},
			}), pods)
		})
	})
}

// imageFields are fewer fields than podFields.
type imageFields struct {
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
}

func checkProjection[T cache.Object](t *testing.T, informer *cache.SharedInformer[T], pods map[string]corev1.Pod) {
	t.Helper()
	projection, err := cache.ProjectionOf[imageFields](informer)
	if err != nil {
		t.Fatal(err)
	}
	check := func(got cache.Projected[imageFields], err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		pod := pods[got.Key]
		metadata, err := got.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		want := pod.ObjectMeta
		want.ManagedFields = nil
		if diff := cmp.Diff(want, metadata); diff != "" {
			t.Errorf("metadata of %s: -want +got:\n%s", got.Key, diff)
		}
		if fields := got.Fields.Spec; fields.NodeName != pod.Spec.NodeName || len(fields.Containers) != 1 || fields.Containers[0].Image != pod.Spec.Containers[0].Image {
			t.Errorf("%s has %+v", got.Key, fields)
		}
		got.Fields.Spec.Containers[0].Image = "mine" // the result is the caller's
		metadata.Labels["app"] = "mine"
	}
	for range 2 {
		all := 0
		for got, err := range projection.All() {
			check(got, err)
			all++
		}
		byNode := 0
		for got, err := range projection.ByIndex("node", "node-1") {
			check(got, err)
			byNode++
		}
		if all != len(pods) || byNode != 7 {
			t.Errorf("read %d objects, %d of the node", all, byNode)
		}
		got, exists, err := projection.Get("ns1/pod-07")
		check(got, err)
		if !exists || got.Key != "ns1/pod-07" {
			t.Errorf("got %q, %v", got.Key, exists)
		}
	}
	if _, exists, err := projection.Get("ns/other"); exists || err != nil {
		t.Errorf("an object that does not exist: %v, %v", exists, err)
	}
	for _, err := range projection.ByIndex("zone", "a") {
		if err == nil || !strings.Contains(err.Error(), `"zone"`) {
			t.Errorf("an unknown index: %v", err)
		}
	}
}

// TestInvalidProjectionIsRefused checks that ProjectionOf names the field that cannot be read.
func TestInvalidProjectionIsRefused(t *testing.T) {
	server := fake.NewListerWatcher(&corev1.Pod{})
	whole := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{OmitFields: []string{"spec.containers.image", "status"}, NeverWritten: true})
	if _, err := cache.ProjectionOf[imageFields](whole); err == nil || !strings.Contains(err.Error(), "spec.containers.image") {
		t.Errorf("an omitted field: %v", err)
	}
	type wholeContainers struct {
		Spec struct {
			Containers []corev1.Container `json:"containers"`
		} `json:"spec"`
	}
	if _, err := cache.ProjectionOf[wholeContainers](whole); err == nil || !strings.Contains(err.Error(), "spec.containers.image") {
		t.Errorf("a field with an omitted part: %v", err)
	}
	type host struct {
		Spec struct {
			Hostname string `json:"hostname"`
		} `json:"spec"`
	}
	if _, err := cache.ProjectionOf[host](whole); err != nil {
		t.Errorf("a field that is not omitted: %v", err)
	}
	partial := cache.NewSharedInformer(server, &partialPod{}, cache.InformerOptions[*partialPod]{})
	if _, err := cache.ProjectionOf[host](partial); err == nil || !strings.Contains(err.Error(), "Spec.Hostname") {
		t.Errorf("a field that is not kept: %v", err)
	}
}

// gadgetOf returns a custom resource with a spec.
func gadgetOf(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// TestProjectionOfUnreadableObjectIsAnError checks the error of an object that could never be
// stored.
func TestProjectionOfUnreadableObjectIsAnError(t *testing.T) {
	gadgets := fake.NewListerWatcher(gadgetOf("", nil))
	gadgets.Create(gadgetOf("bad", nil))
	informer := runInformer(t, gadgets, &unstructured.Unstructured{}, cache.InformerOptions[*unstructured.Unstructured]{
		Transform: func(*unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return nil, fmt.Errorf("refused")
		},
	})
	projection, err := cache.ProjectionOf[sizeFields](informer)
	if err != nil {
		t.Fatal(err)
	}
	if _, exists, err := projection.Get("bad"); exists || err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, %v", exists, err)
	}
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

// TestUnreadableFieldsAreErrorsWithoutValues reads fields whose decoder fails, by a Projection and
// by the wait for a write.
func TestUnreadableFieldsAreErrorsWithoutValues(t *testing.T) {
	type gadget = cache.PartialObject[*unstructured.Unstructured, moodyFields]
	for mood, want := range map[string]string{"panic": "panic: moody", "hunter2": "parsing time"} {
		gadgets := fake.NewListerWatcher(gadgetOf("", nil))
		written := gadgets.Create(gadgetOf("a", map[string]any{"mood": mood}))
		whole := runInformer(t, gadgets, &unstructured.Unstructured{}, cache.InformerOptions[*unstructured.Unstructured]{Packed: true})
		partial := runInformer(t, gadgets, &gadget{}, cache.InformerOptions[*gadget]{ErrorHandler: func(context.Context, error) {}})
		projection, err := cache.ProjectionOf[moodyFields](whole)
		if err != nil {
			t.Fatal(err)
		}
		_, exists, err := projection.Get("a")
		if !exists || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a projection of %s returned %v, %v", mood, exists, err)
		}
		err = cache.WaitForAPIObject(testContext(t), partial, written)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the wait for %s returned %v", mood, err)
		}
	}
	if _, err := (cache.Projected[moodyFields]{}).Metadata(); err == nil {
		t.Error("the zero Projected has metadata")
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
