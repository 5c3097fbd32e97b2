// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

func somePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web", Namespace: "default", Labels: map[string]string{"app": "web"}, CreationTimestamp: metav1.Unix(1000, 0),
			Annotations:   map[string]string{"example.com/note": "x"},
			ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}}},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(30)),
			Containers: []corev1.Container{{
				Name: "app", Image: "app:1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
			}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
}

// TestErrorNamesModifiedField modifies fields of every kind.
func TestErrorNamesModifiedField(t *testing.T) {
	for want, modify := range map[string]func(*corev1.Pod){
		`metadata.labels.app was "web", is "api"`:                       func(p *corev1.Pod) { p.Labels["app"] = "api" },
		`metadata.labels.new was absent, is "x"`:                        func(p *corev1.Pod) { p.Labels["new"] = "x" },
		`metadata.annotations["example.com/note"] was "x", is absent`:   func(p *corev1.Pod) { delete(p.Annotations, "example.com/note") },
		`metadata.managedFields[0].fieldsV1.Raw was 10 bytes, is 10`:    func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1.Raw[3] = 'X' },
		`metadata.finalizers was [], is [x]`:                            func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "x") },
		`spec.containers[0].image was "app:1", is "app:2"`:              func(p *corev1.Pod) { p.Spec.Containers[0].Image = "app:2" },
		`spec.containers[0] was {app `:                                  func(p *corev1.Pod) { p.Spec.Containers = p.Spec.Containers[:0] },
		`spec.containers[0].resources.requests.cpu was `:                func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("2") },
		`spec.terminationGracePeriodSeconds was 30, is 5`:               func(p *corev1.Pod) { *p.Spec.TerminationGracePeriodSeconds = 5 },
		`spec.volumes[0].emptyDir.medium was "", is "Memory"`:           func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir.Medium = "Memory" },
		`spec.volumes[0].emptyDir was {`:                                func(p *corev1.Pod) { p.Spec.Volumes[0].EmptyDir = nil },
		`metadata.creationTimestamp was 1970-01-01 00:16:40 +0000 UTC,`: func(p *corev1.Pod) { p.CreationTimestamp = metav1.Unix(2000, 0) },
		`kind was "", is "Pod"`:                                         func(p *corev1.Pod) { p.Kind = "Pod" },
	} {
		d, pod := New(), somePod()
		d.Add("default/web", pod)
		if errs := d.check(); len(errs) != 0 {
			t.Fatalf("check of an unmodified object returned %v", errs)
		}
		modify(pod)
		errs := d.check()
		if len(errs) != 1 {
			t.Errorf("%s: check returned %d errors, want 1", want, len(errs))
			continue
		}
		if got := errs[0].Error(); !strings.Contains(got, `cached *v1.Pod "default/web" was modified: `+want) {
			t.Errorf("error is %q, want %q", got, want)
		}
		if !errors.Is(errs[0], ErrMutated) {
			t.Error("error is not ErrMutated")
		}
		if again := d.check(); len(again) != 0 {
			t.Errorf("second check returned %v", again)
		}
	}
}

// TestEqualValuesAreNotReported changes the representation of values, but not the values.
func TestEqualValuesAreNotReported(t *testing.T) {
	d, pod := New(), somePod()
	d.Add("default/web", pod)
	cpu := pod.Spec.Containers[0].Resources.Requests["cpu"]
	cpu.AsDec()
	pod.Spec.Containers[0].Resources.Requests["cpu"] = cpu
	pod.CreationTimestamp.Time = pod.CreationTimestamp.UTC()
	if errs := d.check(); len(errs) != 0 {
		t.Errorf("check returned %v", errs)
	}
}

func TestModifiedUnstructuredObjectIsReported(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"users": []any{map[string]any{"name": "a", "age": int64(5)}}}}}
	d := New()
	d.Add("db", object)
	object.Object["spec"].(map[string]any)["users"].([]any)[0].(map[string]any)["age"] = "five"
	errs := d.check()
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), `Object.spec.users[0].age was 5, is "five"`) {
		t.Errorf("check returned %v", errs)
	}
}

// always and never are arguments of retain.
func always(string, apiruntime.Object) bool { return true }
func never(string, apiruntime.Object) bool  { return false }

// TestRemovedObjectsAreCheckedOnceMore modifies objects after they have left the cache.
func TestRemovedObjectsAreCheckedOnceMore(t *testing.T) {
	d, first, second := New(), somePod(), somePod()
	d.Add("default/web", first)
	d.Add("default/web", second)
	first.Labels["app"] = "late"
	if errs := d.check(); len(errs) != 1 {
		t.Errorf("check of a replaced object returned %v", errs)
	}
	d.retain(always)
	d.retain(never)
	second.Labels["app"] = "late"
	if errs := d.check(); len(errs) != 1 {
		t.Errorf("check of a removed object returned %v", errs)
	}
	if len(d.current) != 0 || len(d.removed) != 0 {
		t.Errorf("%d current and %d removed objects are still tracked", len(d.current), len(d.removed))
	}
}

// TestObjectsNotStoredYetAreRetained checks that retain removes an object that was stored, but
// keeps one that has not been stored yet for maxMisses calls.
func TestObjectsNotStoredYetAreRetained(t *testing.T) {
	d, stored, listed := New(), somePod(), somePod()
	d.Add("stored", stored)
	d.Add("listed", listed)
	d.retain(func(_ string, o apiruntime.Object) bool { return o == stored })
	d.retain(never)
	if len(d.current) != 1 || len(d.removed) != 1 {
		t.Errorf("%d current and %d removed objects are tracked, want 1 and 1", len(d.current), len(d.removed))
	}
	stored.Name = "late"
	if errs := d.check(); len(errs) != 1 {
		t.Errorf("check of a removed object returned %v", errs)
	}
	for range maxMisses {
		d.retain(never)
	}
	if d.check(); len(d.current) != 0 || len(d.removed) != 0 {
		t.Errorf("%d current and %d removed objects are still tracked", len(d.current), len(d.removed))
	}
}

func TestErrorsAreSortedByKey(t *testing.T) {
	d := New()
	pods := map[string]*corev1.Pod{"c": somePod(), "a": somePod(), "b": somePod()}
	for key, pod := range pods {
		d.Add(key, pod)
		pod.Name = "changed"
	}
	keys := ""
	for _, err := range d.check() {
		var mutated *Error
		if errors.As(err, &mutated) {
			keys += mutated.Key
		}
	}
	if keys != "abc" {
		t.Errorf("errors are in order %q, want abc", keys)
	}
}

func TestRunReportsModifications(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	d, pod := New(), somePod()
	d.Add("default/web", pod)
	ctx, cancel := context.WithCancel(t.Context())
	reports, done := make(chan error), make(chan struct{})
	pod.Labels["app"] = "api"
	go func() {
		defer close(done)
		d.Run(ctx, clock, time.Second, always, func(err error) { reports <- err })
	}()
	for !clock.HasWaiters() { // until Run has created its ticker
		runtime.Gosched()
	}
	clock.Step(time.Second)
	if err := <-reports; !errors.Is(err, ErrMutated) {
		t.Errorf("first report is %v", err)
	}
	other := somePod()
	d.Add("default/other", other)
	other.Name = "changed"
	cancel()
	if err := <-reports; !strings.Contains(err.Error(), "default/other") {
		t.Errorf("last report is %v", err)
	}
	<-done
}
