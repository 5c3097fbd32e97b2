// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

// An object that is read and written back unchanged is not changed by its defaults.
func TestDefaultsAreIdempotent(t *testing.T) {
	shared, err := json.Marshal(sharedValues())
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range randomapi.Types(t) {
		for seed := range int64(30) {
			var obj runtime.Object = randomapi.New(typ, seed)
			SetNew(obj)
			once := obj.DeepCopyObject()
			Set(obj)
			Keep(obj, once)
			if !reflect.DeepEqual(obj, once) {
				t.Fatalf("seed %d, %T: got\n%s\nafter\n%s", seed, obj, encode(t, obj), encode(t, once))
			}
		}
	}
	after, err := json.Marshal(sharedValues())
	if err != nil || string(after) != string(shared) {
		t.Errorf("shared values have changed from %s to %s (%v)", shared, after, err)
	}
}

// sharedValues returns what Pods share.
func sharedValues() []any {
	return []any{gracePeriod, serviceLinks, securityContext, noPriority, preemptLower, tolerations, cap(tolerations)}
}

func encode(t *testing.T, obj any) string {
	t.Helper()
	data, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The defaults of a Pod take no memory of their own, so that a server of many Pods stays small.
func TestDefaultsOfPodsShareMemory(t *testing.T) {
	a, b := &corev1.Pod{}, &corev1.Pod{}
	for _, pod := range []*corev1.Pod{a, b} {
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		SetNew(pod)
	}
	if a.Spec.SecurityContext != b.Spec.SecurityContext || &a.Spec.Tolerations[0] != &b.Spec.Tolerations[0] ||
		a.Spec.TerminationGracePeriodSeconds != b.Spec.TerminationGracePeriodSeconds || a.Spec.Priority != b.Spec.Priority {
		t.Error("two Pods do not share their defaults")
	}
	a.Spec.Tolerations = append(a.Spec.Tolerations, corev1.Toleration{Key: "own"})
	if allocs := testing.AllocsPerRun(100, func() { Set(a) }); allocs > 0 {
		t.Errorf("Set of a Pod with defaults: %v allocations", allocs)
	}
	if len(b.Spec.Tolerations) != 2 || len(tolerations) != 2 {
		t.Errorf("a toleration of one Pod is in another: %v", b.Spec.Tolerations)
	}
}

func TestPullPolicyDependsOnTag(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"i": corev1.PullAlways, "i:latest": corev1.PullAlways, "registry:5000/i": corev1.PullAlways, "i:latest@sha256:0": corev1.PullAlways,
		"i:1": corev1.PullIfNotPresent, "i@sha256:0": corev1.PullIfNotPresent, "registry:5000/a/i:1": corev1.PullIfNotPresent, "": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: got %s, want %s", image, got, want)
		}
	}
}

func TestQOSClassDependsOnResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if text != "" {
				l[name] = resource.MustParse(text)
			}
		}
		return l
	}
	type requirements = corev1.ResourceRequirements
	full := requirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}
	for name, test := range map[string]struct {
		containers []requirements
		pod        *requirements
		want       corev1.PodQOSClass
	}{
		"none":              {[]requirements{{}, {}}, nil, corev1.PodQOSBestEffort},
		"zero":              {[]requirements{{Requests: list("0", "")}}, nil, corev1.PodQOSBestEffort},
		"other resource":    {[]requirements{{Limits: corev1.ResourceList{"example.com/x": resource.MustParse("1")}}}, nil, corev1.PodQOSBestEffort},
		"all limited":       {[]requirements{full, full}, nil, corev1.PodQOSGuaranteed},
		"one not limited":   {[]requirements{full, {}}, nil, corev1.PodQOSBurstable},
		"request only":      {[]requirements{{Requests: list("1", "1Gi")}}, nil, corev1.PodQOSBurstable},
		"lower request":     {[]requirements{{Requests: list("1", "1Gi"), Limits: list("2", "1Gi")}}, nil, corev1.PodQOSBurstable},
		"CPU limited only":  {[]requirements{{Requests: list("1", ""), Limits: list("1", "")}}, nil, corev1.PodQOSBurstable},
		"limits of the Pod": {[]requirements{{}}, &full, corev1.PodQOSGuaranteed},
	} {
		spec := &corev1.PodSpec{Resources: test.pod}
		for _, r := range test.containers {
			spec.Containers = append(spec.Containers, corev1.Container{Resources: r})
		}
		if got := qosClass(spec); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// A Job's labels do not share a map with those of its Pods.
func TestLabelsAreCopied(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", UID: "u"}}
	SetNew(job)
	job.Labels["x"] = "y"
	if len(job.Spec.Template.Labels) != 4 || len(job.Labels) != 5 {
		t.Errorf("got labels %v and, of the template, %v", job.Labels, job.Spec.Template.Labels)
	}
}

// A client cannot change the count of templates, and a DaemonSet may begin with any.
func TestTemplateGenerationIsKept(t *testing.T) {
	daemonSet := &appsv1.DaemonSet{}
	daemonSet.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "7"}
	SetNew(daemonSet)
	next := daemonSet.DeepCopy()
	next.Annotations = map[string]string{appsv1.DeprecatedTemplateGeneration: "x"}
	Keep(next, daemonSet)
	if got := next.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "7" {
		t.Errorf("got %q, want 7", got)
	}
	next.Spec.Template.Name = "changed"
	Keep(next, daemonSet)
	if got := next.Annotations[appsv1.DeprecatedTemplateGeneration]; got != "8" {
		t.Errorf("got %q after a change of the template, want 8", got)
	}
}
