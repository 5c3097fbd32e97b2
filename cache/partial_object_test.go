// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

type podFields struct {
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase     corev1.PodPhase `json:"phase"`
		PodIP     string          `json:"podIP"`
		StartTime *metav1.Time    `json:"startTime"`
	} `json:"status"`
}

type partialPod = cache.PartialObject[*corev1.Pod, podFields]

// partialOf returns the PartialObject of a Pod.
func partialOf(pod *corev1.Pod) *partialPod {
	p := &partialPod{ObjectMeta: *pod.ObjectMeta.DeepCopy()}
	p.ManagedFields = nil
	p.Fields.Spec.NodeName = pod.Spec.NodeName
	for _, container := range pod.Spec.Containers {
		p.Fields.Spec.Containers = append(p.Fields.Spec.Containers, struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		}{container.Name, container.Image})
	}
	p.Fields.Status.Phase, p.Fields.Status.PodIP, p.Fields.Status.StartTime = pod.Status.Phase, pod.Status.PodIP, pod.Status.StartTime
	return p
}

// forEachWay runs a test with objects from the stream and as decoded by the client, live and
// packed.
func forEachWay(t *testing.T, config *rest.Config, test func(t *testing.T, config *rest.Config, packed bool)) {
	t.Helper()
	for _, streaming := range []bool{false, true} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("streaming=%v,packed=%v", streaming, packed), func(t *testing.T) {
				config := rest.CopyConfig(config)
				if streaming {
					cache.EnableStreaming(config)
				}
				test(t, config, packed)
			})
		}
	}
}

// TestPartialObjectHasTheFields reads Pods of a list and of events, also as a handler, by indexes
// and by a lister, with a Filter and a Transform, or without.
func TestPartialObjectHasTheFields(t *testing.T) {
	config, client := startPodServer(t)
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		for name, options := range map[string]cache.InformerOptions[*partialPod]{
			"as sent":     {},
			"ShareEqual":  {ShareEqual: true},
			"Filter":      {Filter: func(pod *partialPod) bool { return len(pod.Fields.Spec.Containers) > 0 && pod.ManagedFields == nil }},
			"Transform":   {Transform: func(pod *partialPod) (*partialPod, error) { return pod, nil }},
			"OmitFields":  {OmitFields: []string{"metadata.annotations", "spec.hostname"}},
			"in scopes":   {Scopes: cache.NewScopes(cache.Scope{Namespace: "ns0"}, cache.Scope{Namespace: "ns1"})},
			"from a list": {WatchList: true},
		} {
			t.Run(name, func(t *testing.T) {
				options.Packed = packed
				options.ErrorHandler = func(_ context.Context, err error) { t.Error(err) }
				expectPartialPods(t, cache.ListWatchByNamespace(kubernetes.NewForConfigOrDie(config).CoreV1().Pods), client, options)
			})
		}
	})
}

// expectPartialPods compares an informer's store and events with the Pods of startPodServer, one of
// which it creates, changes and deletes.
func expectPartialPods(t *testing.T, lw *cache.ListWatch, client kubernetes.Interface, options cache.InformerOptions[*partialPod]) {
	t.Helper()
	options.Indexers = cache.Indexers[*partialPod]{
		cache.NamespaceIndex: cache.ByMetadata[*partialPod](cache.MetaNamespaceIndexFunc),
		"node":               cache.ByObject(func(pod *partialPod) ([]string, error) { return []string{pod.Fields.Spec.NodeName}, nil }),
	}
	informer := runInformer(t, lw, &partialPod{}, options)
	events := make(chan cache.Event[*partialPod], 100)
	handle(t, informer, func(e cache.Event[*partialPod]) { events <- e })
	for range 21 {
		if e := cachetest.Next(t, events); e.Type != cache.EventAdd || e.New.Name == "" {
			t.Errorf("event %v", e)
		}
	}
	expectStore := func(written *corev1.Pod) {
		t.Helper()
		if err := cache.WaitForAPIObject(testContext(t), informer, written); err != nil {
			t.Fatal(err)
		}
		comparePartialPods(t, client, informer, len(options.OmitFields) > 0)
	}
	pods := client.CoreV1().Pods("ns0")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.PodSpec{NodeName: "node", Hostname: "not wanted", Containers: []corev1.Container{{Name: "main", Image: "web:1", WorkingDir: "/"}}}}
	created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expectStore(created)
	changed := created.DeepCopy()
	changed.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.7", StartTime: &metav1.Time{Time: time.Now().Truncate(time.Second)}, Message: "not wanted"}
	if changed, err = pods.UpdateStatus(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectStore(changed)
	if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	if err := informer.WaitForDelete(testContext(t), partialOf(created)); err != nil {
		t.Fatal(err)
	}
	add, update, deleted := cachetest.Next(t, events), cachetest.Next(t, events), cachetest.Next(t, events)
	for deleted.Type == cache.EventUpdate { // the Pod is being deleted
		deleted = cachetest.Next(t, events)
	}
	if add.Type != cache.EventAdd || update.Type != cache.EventUpdate || deleted.Type != cache.EventDelete {
		t.Fatalf("events %s, %s and %s", add.Type, update.Type, deleted.Type)
	}
	for _, diff := range []string{
		cmp.Diff(partialOf(created), add.New), cmp.Diff(partialOf(created), update.Old), cmp.Diff(partialOf(changed), update.New),
		cmp.Diff(partialOf(changed).Fields, deleted.Final.Fields),
	} {
		if diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	if status := informer.Status(); status.Name != "Pod" || status.Store.Quarantined != 0 {
		t.Errorf("status %+v", status)
	}
}

// comparePartialPods compares what an informer's store returns with the server's Pods.
func comparePartialPods(t *testing.T, client kubernetes.Interface, informer *cache.SharedInformer[*partialPod], withoutAnnotations bool) {
	t.Helper()
	list, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var want, even, onNode []*partialPod
	for i := range list.Items {
		pod := partialOf(&list.Items[i])
		if withoutAnnotations {
			pod.Annotations = nil
		}
		want = append(want, pod)
		if pod.Namespace == "ns0" && pod.Labels["even"] == "true" {
			even = append(even, pod)
		}
		if pod.Fields.Spec.NodeName == "node" {
			onNode = append(onNode, pod)
		}
	}
	indexed, err := informer.Store().ByIndex("node", "node")
	if err != nil {
		t.Error(err)
	}
	listed := cache.NewLister(informer.Store(), corev1.Resource("pods")).Namespace("ns0").List(labels.SelectorFromSet(labels.Set{"even": "true"}))
	for name, diff := range map[string]string{
		"store":  cmp.Diff(want, slices.Collect(values(informer.Store()))),
		"lister": cmp.Diff(even, sortByName(listed)),
		"index":  cmp.Diff(onNode, indexed),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func sortByName[T cache.Object](objs []T) []T {
	slices.SortFunc(objs, func(a, b T) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objs
}

// TestTransformOfPartialObjectIsStored changes fields that the wire does not have.
func TestTransformOfPartialObjectIsStored(t *testing.T) {
	config, _ := startPodServer(t)
	start := metav1.NewTime(time.Unix(7, 0))
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		informer := runInformer(t, cache.ListWatchOf(kubernetes.NewForConfigOrDie(config).CoreV1().Pods("ns0")), &partialPod{}, cache.InformerOptions[*partialPod]{
			Packed: packed,
			Transform: func(pod *partialPod) (*partialPod, error) {
				pod.Labels, pod.Fields.Spec.Containers = map[string]string{"x": "1"}, nil
				pod.Fields.Status.PodIP, pod.Fields.Status.StartTime = "set", &start
				return pod, nil
			},
		})
		got, _ := informer.Store().GetByKey("ns0/pod-02")
		want := &partialPod{ObjectMeta: got.ObjectMeta}
		want.Labels, want.Fields.Spec.NodeName = map[string]string{"x": "1"}, "node-2"
		want.Fields.Status.Phase, want.Fields.Status.PodIP, want.Fields.Status.StartTime = got.Fields.Status.Phase, "set", &start
		if diff := cmp.Diff(want, got); diff != "" || got.Annotations["number"] != "2" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if found := cache.NewLister(informer.Store(), corev1.Resource("pods")).List(labels.SelectorFromSet(labels.Set{"x": "1"})); len(found) != 11 {
			t.Errorf("%d Pods with the label, want 11", len(found))
		}
	})
}

// TestModifiedPartialObjectIsReported writes to a field of a cached object.
func TestModifiedPartialObjectIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := make(chan error, 1)
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(cachetest.Pod("a"))
		informer := cache.NewSharedInformer(server, &partialPod{}, cache.InformerOptions[*partialPod]{
			DetectMutations: true, ErrorHandler: func(_ context.Context, err error) { errs <- err },
		})
		stop := start(t, informer)
		synctest.Wait()
		cached, _ := informer.Store().GetByKey("ns/a")
		cached.Fields.Spec.NodeName = "other"
		stop() // the last check is after it
		if err := <-errs; !errors.Is(err, cache.ErrMutated) || !strings.Contains(err.Error(), `"ns/a"`) || !strings.Contains(err.Error(), "spec.nodeName") {
			t.Errorf("the error is %v", err)
		}
	})
}

// TestPartialObjectsOfOtherFieldsAreOtherInformers asks a factory for two sets of fields of one
// collection, twice for one of them, and for whole objects.
func TestPartialObjectsOfOtherFieldsAreOtherInformers(t *testing.T) {
	lw := cache.ListWatchOf(podClient{fake.NewListerWatcher(&corev1.Pod{}), "ns"})
	f := cache.NewFactory(cache.FactoryOptions{})
	type metadataOnly = cache.PartialObject[*corev1.Pod, struct{}]
	_, err1 := cache.InformerFor(f, lw, &partialPod{}, cache.InformerOptions[*partialPod]{})
	_, err2 := cache.InformerFor(f, lw, &partialPod{}, cache.InformerOptions[*partialPod]{})
	_, err3 := cache.InformerFor(f, lw, &metadataOnly{}, cache.InformerOptions[*metadataOnly]{})
	_, err4 := cache.InformerFor(f, lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Error(err)
	}
	statuses := f.Status()
	if len(statuses) != 3 || slices.ContainsFunc(statuses, func(s cache.Status) bool { return s.Name != "Pod" }) {
		t.Errorf("informers %+v, want 3 of the name Pod", statuses)
	}
	_, err := cache.InformerFor(f, lw, &partialPod{}, cache.InformerOptions[*partialPod]{Packed: true})
	if err == nil || !strings.Contains(err.Error(), "podFields") || !strings.Contains(err.Error(), "Packed") {
		t.Errorf("other options return %v", err)
	}
}

// TestWaitForPartialObject waits for Pods of a selection, and for others.
func TestWaitForPartialObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		type noFields = cache.PartialObject[*corev1.Pod, struct{}]
		selector := fields.OneTermEqualSelector("spec.nodeName", "node")
		options := cache.InformerOptions[*noFields]{OmitFields: []string{"metadata.annotations"}, Filter: func(pod *noFields) bool { return pod.Labels["hidden"] == "" && pod.Annotations == nil }}
		informer := runInformer(t, cache.ListWatchOf(podClient{server, "ns"}, cache.WithFieldSelector(selector)), &noFields{}, options)
		create := func(name string, edit func(*corev1.Pod)) *corev1.Pod {
			return server.Create(cachetest.Pod(name, func(pod *corev1.Pod) { pod.Spec.NodeName = "node" }, edit))
		}
		selected := create("selected", func(pod *corev1.Pod) { pod.Annotations = map[string]string{"a": "1"} })
		if err := cache.WaitForAPIObject(t.Context(), informer, selected); err != nil {
			t.Error(err)
		}
		cached, ok := informer.Store().GetByKey("ns/selected")
		if !ok || informer.WaitForObject(t.Context(), cached) != nil {
			t.Errorf("the wait for %v failed", cached)
		}
		for _, other := range []*corev1.Pod{
			create("labelled", cachetest.WithLabel("hidden", "1")),
			create("on another node", func(pod *corev1.Pod) { pod.Spec.NodeName = "other" }),
			create("elsewhere", func(pod *corev1.Pod) { pod.Namespace = "other" }),
		} {
			if err := cache.WaitForAPIObject(t.Context(), informer, other); !errors.Is(err, cache.ErrNotSelected) || !strings.Contains(err.Error(), other.Name) {
				t.Errorf("the wait for a Pod that is %s returned %v", other.Name, err)
			}
		}
		if err := cache.WaitForAPIObject(t.Context(), informer, nil); !cachetest.ErrorContains("object is nil")(err) {
			t.Errorf("the wait for nil returned %v", err)
		}
		invalid := cache.NewSharedInformer(nil, &noFields{}, cache.InformerOptions[*noFields]{})
		if err := cache.WaitForAPIObject(t.Context(), invalid, selected); !cachetest.ErrorContains("informer of Pod")(err) {
			t.Errorf("the wait of an invalid informer returned %v", err)
		}
	})
}

// fieldsError returns the error of an informer of Pods with the fields of a struct.
func fieldsError[S any](t *testing.T, omitted ...string) error {
	t.Helper()
	return informerError[*corev1.Pod, S](t, fake.NewListerWatcher(&corev1.Pod{}), omitted...)
}

func informerError[A cache.Object, S any](t *testing.T, lw cache.ListerWatcher, omitted ...string) error {
	t.Helper()
	type object = cache.PartialObject[A, S]
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a valid informer stops at once
	return cache.NewSharedInformer(lw, &object{}, cache.InformerOptions[*object]{OmitFields: omitted}).Run(ctx)
}

// byValue is an object that is no pointer.
type byValue struct{ *corev1.Pod }

// withoutObjectMeta is an object whose metadata is no ObjectMeta.
type withoutObjectMeta struct {
	metav1.TypeMeta `json:",inline"`
	metav1.Object   `json:"metadata"`
}

func (o *withoutObjectMeta) DeepCopyObject() runtime.Object { return o }

// TestInvalidPartialObject checks that Run returns an error that names each field that is invalid.
func TestInvalidPartialObject(t *testing.T) {
	type unexported struct {
		hidden string //nolint:unused // to be refused
	}
	type spec struct {
		NodeName int     `json:"nodeName"`
		Replicas *int32  `json:"replicas"`
		Any      any     `json:"hostname"`
		Volumes  []byte  `json:"volumes"`
		Host     *string `json:"subdomain"`
	}
	type status struct {
		StartTime string `json:"startTime"`
	}
	type wrongTypes struct {
		Spec   spec   `json:"spec"`
		Status status `json:"status"`
	}
	type names struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Kind     string            `json:"kind"`
		Untagged struct{}
		Dashed   struct{} `json:"-"`
	}
	pods := fake.NewListerWatcher(&corev1.Pod{})
	for name, test := range map[string]struct {
		err  error
		want []string
	}{
		"valid":                {fieldsError[podFields](t), nil},
		"unexported":           {fieldsError[unexported](t), []string{"informer of Pod", "hidden"}},
		"types":                {fieldsError[wrongTypes](t), []string{"Spec.NodeName", "Spec.Replicas", `no field "replicas"`, "Spec.Any", "Spec.Volumes", "Spec.Host", "Status.StartTime"}},
		"names":                {fieldsError[names](t), []string{"Metadata", "Kind", "Untagged", "Dashed"}},
		"no struct":            {fieldsError[string](t), []string{"string is not a struct"}},
		"wanted field omitted": {fieldsError[podFields](t, "spec.nodeName"), []string{`"spec.nodeName"`, "has spec.nodeName"}},
		"part of one omitted": {fieldsError[struct {
			Spec corev1.PodSpec `json:"spec"`
		}](t, "spec.containers.env"), []string{`"spec.containers.env"`, "has spec"}},
		"struct around it omitted": {fieldsError[podFields](t, "status"), []string{`"status"`, "a field below it"}},
		"unknown field omitted":    {fieldsError[podFields](t, "spec.colour"), []string{`"spec.colour"`, `no field "colour"`}},
		"annotations omitted":      {fieldsError[podFields](t, "metadata.annotations", "spec.hostname"), nil},
		"an interface as A":        {informerError[cache.Object, podFields](t, pods), []string{"cache.Object is not a pointer to a struct"}},
		"a struct as A":            {informerError[byValue, podFields](t, pods), []string{"byValue", "not a pointer to a struct"}},
		"an A without ObjectMeta":  {informerError[*withoutObjectMeta, struct{}](t, pods), []string{"withoutObjectMeta", "ObjectMeta"}},
		"another A": {
			informerError[*corev1.Node, struct{}](t, cache.ListWatchOf(podClient{pods, ""})), []string{"lists *v1.Pod, not *v1.Node"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.want == nil && test.err != nil {
				t.Errorf("Run returned %v", test.err)
			}
			for _, want := range test.want {
				if !cachetest.ErrorContains(want)(test.err) {
					t.Errorf("Run returned %v, without %s", test.err, want)
				}
			}
		})
	}
}

// embedding is a type of the program that has the methods of a PartialObject.
type embedding struct {
	Own string
	partialPod
}

func TestEmbeddedPartialObjectIsInvalid(t *testing.T) {
	informer := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &embedding{}, cache.InformerOptions[*embedding]{})
	if err := informer.Run(t.Context()); !cachetest.ErrorContains("embedding")(err) {
		t.Errorf("Run returned %v", err)
	}
}

// TestReflectorOfPartialObjects fills the stores of a program.
func TestReflectorOfPartialObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := cachetest.New(t)
		var pushed []*partialPod
		undelta := cache.NewUndeltaStore(func(pods []*partialPod) { pushed = pods }, nil)
		plain := cache.NewStore(nil, cache.Indexers[*partialPod]{"node": cache.ByObject(func(pod *partialPod) ([]string, error) { return []string{pod.Fields.Spec.NodeName}, nil })})
		for _, store := range []cache.ReflectorStore[*partialPod]{plain, undelta} {
			start(t, cache.NewReflector(h, &partialPod{}, store, cache.ReflectorOptions{}))
		}
		synctest.Wait()
		h.Update(cachetest.Pod("b", func(pod *corev1.Pod) { pod.Spec.NodeName = "node" }))
		h.Delete("ns/c")
		synctest.Wait()
		if found, err := plain.ByIndex("node", "node"); err != nil || len(found) != 1 || found[0].Name != "b" || plain.Len() != 2 {
			t.Errorf("the store has %v; found %v, %v", plain.ListKeys(), found, err)
		}
		if len(pushed) != 2 || sortByName(pushed)[1].Fields.Spec.NodeName != "node" {
			t.Errorf("the UndeltaStore has %v", pushed)
		}
	})
}

// TestCopyOfPartialObjectSharesNothing changes everything that a copy refers to.
func TestCopyOfPartialObjectSharesNothing(t *testing.T) {
	start := metav1.NewTime(time.Unix(7, 0))
	pod := partialOf(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status:     corev1.PodStatus{StartTime: &start},
	})
	pod.Kind, pod.APIVersion = "Pod", "v1"
	for name, copied := range map[string]*partialPod{"DeepCopy": pod.DeepCopy(), "DeepCopyObject": pod.DeepCopyObject().(*partialPod)} {
		if diff := cmp.Diff(pod, copied); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		copied.Labels["x"], copied.Fields.Spec.Containers[0].Name = "2", "changed"
		*copied.Fields.Status.StartTime = metav1.NewTime(time.Unix(8, 0))
		if pod.Labels["x"] != "1" || pod.Fields.Spec.Containers[0].Name != "main" || pod.Fields.Status.StartTime.Unix() != 7 {
			t.Errorf("%s shares parts: the original is %+v", name, pod)
		}
	}
	if copied := (*partialPod)(nil).DeepCopy(); copied != nil {
		t.Errorf("the copy of nil is %v", copied)
	}
}

// TestPartialObjectHasNoProtobufMethods checks that no method of the embedded metadata is promoted
// that encoders would take for the object's own.
func TestPartialObjectHasNoProtobufMethods(t *testing.T) {
	for method := range reflect.TypeFor[*partialPod]().Methods() {
		switch name := method.Name; {
		case strings.HasPrefix(name, "Marshal") && name != "MarshalJSON", strings.HasPrefix(name, "Unmarshal"), name == "Size", name == "Reset", name == "ProtoMessage":
			t.Errorf("a PartialObject has the method %s", name)
		}
	}
}

// TestServerRefusesPartialObject writes cached objects to a server by requests with their JSON.
func TestServerRefusesPartialObject(t *testing.T) {
	config, client := startPodServer(t)
	informer := runInformer(t, cache.ListWatchOf(client.CoreV1().Pods("ns0")), &partialPod{}, cache.InformerOptions[*partialPod]{})
	cached, _ := informer.Store().GetByKey("ns0/pod-02")
	encoded, err := json.Marshal(cached)
	if err != nil || !strings.Contains(string(encoded), `"apiVersion":"partial.kinformer.dev/v1"`) {
		t.Fatalf("encoded %s, %v", encoded, err)
	}
	other := cached.DeepCopy()
	other.Name, other.UID, other.ResourceVersion = "other", "", ""
	created, _ := json.Marshal(other)
	var object, created2 unstructured.Unstructured
	if err := errors.Join(object.UnmarshalJSON(encoded), created2.UnmarshalJSON(created)); err != nil {
		t.Fatal(err)
	}
	pods := dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns0")
	rest := client.CoreV1().RESTClient()
	_, dynamicUpdate := pods.Update(t.Context(), &object, metav1.UpdateOptions{})
	_, dynamicCreate := pods.Create(t.Context(), &created2, metav1.CreateOptions{})
	for name, err := range map[string]error{
		"update":                     rest.Put().Namespace("ns0").Resource("pods").Name("pod-02").Body(encoded).Do(t.Context()).Error(),
		"create":                     rest.Post().Namespace("ns0").Resource("pods").Body(created).Do(t.Context()).Error(),
		"update by a dynamic client": dynamicUpdate, "create by a dynamic client": dynamicCreate,
	} {
		if err == nil {
			t.Errorf("%s: the server accepted the object", name)
		}
	}
	if pod, err := client.CoreV1().Pods("ns0").Get(t.Context(), "pod-02", metav1.GetOptions{}); err != nil || len(pod.Spec.Containers[0].Args) == 0 || pod.ResourceVersion != cached.ResourceVersion {
		t.Errorf("the server has %v, %v", pod, err)
	}
}

type widgetFields struct {
	Color string             `json:"color"`
	Sizes []int64            `json:"sizes"`
	Parts map[string]float64 `json:"parts"`
}

type partialWidget = cache.PartialObject[*unstructured.Unstructured, widgetFields]

func widgetType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "example.com/v1", Kind: kind}
}

// widget returns a custom resource in namespace ns.
func widget(name string, color any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "color": color, "sizes": []any{int64(1), int64(2)}, "parts": map[string]any{"a": 0.5},
		"metadata": map[string]any{"namespace": "ns", "name": name, "labels": map[string]any{"x": "1"}}, "weight": int64(7),
	}}
}

// startWidgetServer returns the configuration of a server of Widgets, and a client.
func startWidgetServer(t *testing.T) (*rest.Config, dynamic.ResourceInterface) {
	t.Helper()
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{CustomResources: []fake.CustomResource{widgetResource}})
	return server.Config(), widgetsOf(server.Config()).Namespace("ns")
}

func widgetsOf(config *rest.Config) dynamic.NamespaceableResourceInterface {
	return dynamic.NewForConfigOrDie(config).Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"})
}

// TestPartialCustomResource has the kind of the example, of each object or another one.
func TestPartialCustomResource(t *testing.T) {
	config, client := startWidgetServer(t)
	written, err := client.Create(t.Context(), widget("a", "red"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &partialWidget{TypeMeta: widgetType("Widget")}
	want.Namespace, want.Name, want.UID, want.ResourceVersion, want.Generation = "ns", "a", written.GetUID(), written.GetResourceVersion(), 1
	want.Labels, want.CreationTimestamp = written.GetLabels(), written.GetCreationTimestamp()
	want.Fields = widgetFields{"red", []int64{1, 2}, map[string]float64{"a": 0.5}}
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		lw := cache.ListWatchOf(widgetsOf(config))
		for name, example := range map[string]*partialWidget{"Widget": {TypeMeta: widgetType("Widget")}, "Unstructured": {}} {
			informer := runInformer(t, lw, example, cache.InformerOptions[*partialWidget]{Packed: packed})
			if err := cache.WaitForAPIObject(testContext(t), informer, written); err != nil {
				t.Error(err)
			}
			got, _ := informer.Store().GetByKey("ns/a")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if informer.Status().Name != name {
				t.Errorf("name %s, want %s", informer.Status().Name, name)
			}
		}
		ctx, cancel := context.WithCancelCause(testContext(t))
		gadgets := cache.NewSharedInformer(lw, &partialWidget{TypeMeta: widgetType("Gadget")}, cache.InformerOptions[*partialWidget]{
			Packed: packed, ErrorHandler: func(_ context.Context, err error) { cancel(err) },
		})
		start(t, gadgets)
		if err := gadgets.WaitForSync(ctx); !cachetest.ErrorContains("Gadget")(err) || !cachetest.ErrorContains("Widget")(err) {
			t.Errorf("the wait for objects of another kind returned %v", err)
		}
		if err := cache.WaitForAPIObject(ctx, gadgets, written); !cachetest.ErrorContains("Gadget")(err) {
			t.Errorf("the wait for an object of another kind returned %v", err)
		}
	})
}

// TestUndecodablePartialObjectIsQuarantined has a member of another type than the field, in a list
// and in an event. Other objects, and the last good state, are stored.
func TestUndecodablePartialObjectIsQuarantined(t *testing.T) {
	config, client := startWidgetServer(t)
	forEachWay(t, config, func(t *testing.T, config *rest.Config, packed bool) {
		for _, w := range []*unstructured.Unstructured{widget("bad", int64(5)), widget("good", "red"), widget("turns", "red")} {
			if _, err := client.Create(t.Context(), w, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			if err := client.DeleteCollection(context.WithoutCancel(t.Context()), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
				t.Error(err)
			}
		})
		errs := make(chan error, 100)
		informer := runInformer(t, cache.ListWatchOf(widgetsOf(config)), &partialWidget{TypeMeta: widgetType("Widget")}, cache.InformerOptions[*partialWidget]{
			Packed: packed, ErrorHandler: func(_ context.Context, err error) { errs <- err },
		})
		expect := func(name string, quarantined, keys []string) {
			t.Helper()
			err := cachetest.Next(t, errs)
			if object, ok := errors.AsType[*cache.ObjectError](err); !ok || object.Key != name || !strings.Contains(err.Error(), "color") {
				t.Errorf("reported %v, want an ObjectError of %s that names the field", err, name)
			}
			var notStored []string
			for _, key := range informer.Status().Store.QuarantinedKeys {
				notStored = append(notStored, key.Key)
			}
			stored := informer.Store().ListKeys()
			slices.Sort(notStored)
			slices.Sort(stored)
			if !slices.Equal(notStored, quarantined) || !slices.Equal(stored, keys) {
				t.Errorf("%q quarantined, %q stored, want %q and %q", notStored, stored, quarantined, keys)
			}
		}
		patch := func(name, color string) *unstructured.Unstructured {
			t.Helper()
			written, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(`{"color":`+color+`}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return written
		}
		expect("ns/bad", []string{"ns/bad"}, []string{"ns/good", "ns/turns"})
		written := patch("turns", "[]")
		if err := informer.WaitForResourceVersion(testContext(t), written.GetResourceVersion()); err != nil {
			t.Fatal(err)
		}
		expect("ns/turns", []string{"ns/bad", "ns/turns"}, []string{"ns/good", "ns/turns"})
		written = patch("bad", `"green"`)
		if err := cache.WaitForAPIObject(testContext(t), informer, written); err != nil {
			t.Fatal(err)
		}
		if bad, ok := informer.Store().GetByKey("ns/bad"); !ok || bad.Fields.Color != "green" {
			t.Errorf("stored %v, %v", bad, ok)
		}
		if turns, ok := informer.Store().GetByKey("ns/turns"); !ok || turns.Fields.Color != "red" {
			t.Errorf("stored %v, %v", turns, ok)
		}
	})
}
