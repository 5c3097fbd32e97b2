// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

func newStore(t *testing.T, resources ...schema.GroupVersionResource) (stores []*Store) {
	t.Helper()
	r := New(history.NewMemory(), resource.BuiltIn(), 0)
	for _, gvr := range resources {
		stores = append(stores, r.ForResource(gvr))
	}
	return stores
}

// create stores an object without validation and returns what is stored.
func create[T history.Object](t *testing.T, s *Store, obj T) T {
	t.Helper()
	stored, err := s.Create(obj.GetNamespace(), obj, Trusted)
	if err != nil {
		t.Fatal(err)
	}
	return stored.(T)
}

// Objects that are written without a request have defaults, too.
func TestTrustedWritesSetDefaults(t *testing.T) {
	deployments := newStore(t, appsv1.SchemeGroupVersion.WithResource("deployments"))[0]
	d := create(t, deployments, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d"}})
	if d.Spec.Replicas == nil || *d.Spec.Replicas != 1 || d.Spec.Strategy.RollingUpdate == nil {
		t.Errorf("created %+v, want defaults", d.Spec)
	}
	next := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", Labels: map[string]string{"a": "b"}}}
	updated, _, err := deployments.Update("ns", "d", next, Trusted)
	if err != nil || updated.GetGeneration() != 1 || updated.(*appsv1.Deployment).Spec.RevisionHistoryLimit == nil {
		t.Errorf("updated to %+v (%v), want defaults and generation 1", updated, err)
	}
}

// The labels of a Job have its generated name.
func TestJobWithGeneratedNameIsLabelled(t *testing.T) {
	jobs := newStore(t, batchv1.SchemeGroupVersion.WithResource("jobs"))[0]
	request := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "j-"}}
	job := create(t, jobs, request)
	if labels := job.Spec.Template.Labels; labels[batchv1.JobNameLabel] != job.Name || labels[batchv1.ControllerUidLabel] != string(job.UID) {
		t.Errorf("Job %s with UID %s: got labels %v", job.Name, job.UID, labels)
	}
	if len(request.Spec.Template.Labels) > 0 {
		t.Errorf("the request has got labels %v, which another attempt would keep", request.Spec.Template.Labels)
	}
}

func TestPriorityIsThatOfTheClass(t *testing.T) {
	stores := newStore(t, corev1.SchemeGroupVersion.WithResource("pods"), schedulingv1.SchemeGroupVersion.WithResource("priorityclasses"))
	never := corev1.PreemptNever
	create(t, stores[1], &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7, PreemptionPolicy: &never})
	for class, want := range map[string]int32{"high": 7, "": 0, "absent": -1} {
		pod := newPod("pod-" + class)
		pod.Spec.PriorityClassName = class
		pod = create(t, stores[0], pod)
		got := int32(-1)
		if pod.Spec.Priority != nil {
			got = *pod.Spec.Priority
		}
		if got != want {
			t.Errorf("class %q: got priority %d, want %d", class, got, want)
		}
		if class == "high" && *pod.Spec.PreemptionPolicy != never {
			t.Errorf("class %q: got preemption policy %s", class, *pod.Spec.PreemptionPolicy)
		}
	}
}

// Each Service gets an address and ports of its own, and keeps what its client has chosen.
func TestServicesGetDistinctAddresses(t *testing.T) {
	services := newStore(t, corev1.SchemeGroupVersion.WithResource("services"))[0]
	var ips []string
	var ports []int32
	for _, name := range []string{"a", "b"} {
		s := create(t, services, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}, {Port: 81}, {Port: 82, NodePort: 31_234}}},
		})
		ips = append(ips, s.Spec.ClusterIP)
		ports = append(ports, s.Spec.Ports[0].NodePort, s.Spec.Ports[1].NodePort)
		if s.Spec.Ports[2].NodePort != 31_234 {
			t.Errorf("got node port %d instead of the chosen one", s.Spec.Ports[2].NodePort)
		}
	}
	if !slices.Equal(ips, []string{"10.0.0.1", "10.0.0.2"}) || !slices.Equal(ports, []int32{30_000, 30_001, 30_002, 30_003}) {
		t.Errorf("got addresses %v and ports %v", ips, ports)
	}
	chosen := create(t, services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: corev1.ServiceSpec{ClusterIP: "2001:db8::1"},
	})
	if chosen.Spec.ClusterIPs[0] != "2001:db8::1" || chosen.Spec.IPFamilies[0] != corev1.IPv6Protocol {
		t.Errorf("got %+v for a chosen address", chosen.Spec)
	}
}
