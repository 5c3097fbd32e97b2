// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

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

// TestPartialObjectHasTheFields reads a Pod from the stream and as decoded by the client, live and
// packed.
func TestPartialObjectHasTheFields(t *testing.T) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "node", Hostname: "not wanted", Containers: []corev1.Container{{Name: "main", Image: "web:1", WorkingDir: "/"}}},
	}
	written, err := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, streaming := range []bool{false, true} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("streaming=%v,packed=%v", streaming, packed), func(t *testing.T) {
				config := server.Config()
				if streaming {
					cache.EnableStreaming(config)
				}
				client := kubernetes.NewForConfigOrDie(config)
				pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &partialPod{}, cache.InformerOptions[*partialPod]{Packed: packed})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go pods.Run(ctx)
				if err := cache.WaitForAPIObject(ctx, pods, written); err != nil {
					t.Fatal(err)
				}
				got, _ := pods.Store().GetByKey("ns/a")
				want := &partialPod{ObjectMeta: written.ObjectMeta}
				want.ManagedFields = nil
				want.Fields.Spec.NodeName, want.Fields.Status.Phase = "node", corev1.PodPending
				want.Fields.Spec.Containers = append(want.Fields.Spec.Containers, struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				}{"main", "web:1"})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
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
		"unknown field omitted":    {fieldsError[podFields](t, "spec.colour"), []string{`"spec.colour"`, "no field colour"}},
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
