// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinformer/kinformer/internal/fields"
)

var podType = reflect.TypeFor[*corev1.Pod]()

// structWith returns the type of a struct with one field of each of some types, whose names in JSON
// are the keys.
func structWith(names []string, types ...reflect.Type) reflect.Type {
	var fields []reflect.StructField
	for i, name := range names {
		fields = append(fields, reflect.StructField{Name: "F" + string(rune('0'+i)), Type: types[i], Tag: reflect.StructTag(`json:"` + name + `"`)})
	}
	return reflect.StructOf(fields)
}

// in returns a struct with a field that is a struct, and so on.
func in(t reflect.Type, names ...string) reflect.Type {
	for i := range names {
		t = structWith(names[len(names)-1-i:][:1], t)
	}
	return t
}

// TestTypesOfFields has the same types, others of the same kind, and those that are refused.
func TestTypesOfFields(t *testing.T) {
	type phase string
	type ownTime struct{ Time string }
	type ownPort struct {
		IntVal int32 `json:"intVal"`
	}
	ports := []string{"spec", "containers", "livenessProbe", "httpGet", "port"}
	for name, test := range map[string]struct {
		own  reflect.Type
		want string // none if empty
	}{
		"same type":           {in(reflect.TypeFor[corev1.PodSpec](), "spec"), ""},
		"kind of a string":    {in(reflect.TypeFor[phase](), "status", "phase"), ""},
		"pointer of a number": {in(reflect.TypeFor[*int64](), "spec", "terminationGracePeriodSeconds"), ""},
		"inlined": {in(reflect.TypeFor[[]struct {
			ConfigMap *struct {
				Name string `json:"name"`
			} `json:"configMap"`
		}](), "spec", "volumes"), ""},
		"map of structs with fewer fields": {in(reflect.TypeFor[map[string]string](), "spec", "nodeSelector"), ""},
		"another size":                     {in(reflect.TypeFor[*int32](), "spec", "terminationGracePeriodSeconds"), "its type must be int64"},
		"no pointer":                       {in(reflect.TypeFor[int64](), "spec", "terminationGracePeriodSeconds"), "its type must be *int64"},
		"a pointer":                        {in(reflect.TypeFor[*string](), "status", "phase"), "its type must be v1.PodPhase"},
		"a Time as a struct":               {in(reflect.TypeFor[*ownTime](), "status", "startTime"), "its type must be v1.Time"},
		"a Time as a string":               {in(reflect.TypeFor[string](), "status", "startTime"), "its type must be *v1.Time"},
		"part of an IntOrString": {in(reflect.TypeFor[[]struct {
			Probe *struct {
				Get *struct {
					Port ownPort `json:"port"`
				} `json:"httpGet"`
			} `json:"livenessProbe"`
		}](), ports[:2]...), "its type must be intstr.IntOrString"},
		"a whole IntOrString": {in(reflect.TypeFor[[]struct {
			Probe *struct {
				Get *struct {
					Port intstr.IntOrString `json:"port"`
				} `json:"httpGet"`
			} `json:"livenessProbe"`
		}](), ports[:2]...), ""},
		"a whole Quantity": {in(reflect.TypeFor[map[corev1.ResourceName]resource.Quantity](), "status", "allocatedResources"), ""},
		"an interface":     {in(reflect.TypeFor[any](), "status", "phase"), "not interface {}"},
		"two of one name":  {structWith([]string{"spec", "spec"}, reflect.TypeFor[corev1.PodSpec](), reflect.TypeFor[corev1.PodSpec]()), `field F1: another field is named "spec"`},
		"metadata":         {in(reflect.TypeFor[metav1.ObjectMeta](), "metadata"), "ObjectMeta has it"},
		"metadata of a part": {in(reflect.TypeFor[[]struct {
			Template *struct {
				Metadata struct {
					Labels map[string]string `json:"labels"`
				} `json:"metadata"`
			} `json:"volumeClaimTemplate"`
		}](), "spec", "volumes"), "no field"},
		"string option": {structWith([]string{"spec,string"}, reflect.TypeFor[corev1.PodSpec]()), `the option "string"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fields.Resolve(podType, test.own)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("Resolve returned %v, want %q", err, test.want)
			}
		})
	}
}

// TestTypesOfUntypedFields has fields of objects of which no Go type is known.
func TestTypesOfUntypedFields(t *testing.T) {
	for own, want := range map[reflect.Type]string{
		in(reflect.TypeFor[map[string][]*int64](), "spec", "a"):      "",
		in(reflect.TypeFor[map[string]resource.Quantity](), "spec"):  "",
		in(reflect.TypeFor[map[string]any](), "spec"):                "its type cannot be interface {}",
		in(reflect.TypeFor[map[int]string](), "spec"):                "are not strings",
		in(reflect.TypeFor[[2]string](), "spec"):                     "its type cannot be [2]string",
		in(reflect.TypeFor[[]func()](), "spec"):                      "its type cannot be func()",
		in(reflect.TypeFor[struct{ Name string }](), "spec"):         "field F0.Name: its json tag names no field",
		in(reflect.TypeFor[struct{ unexported string }](), "spec"):   "field F0.unexported: it is not exported",
		in(reflect.TypeFor[metav1.ObjectMeta](), "spec", "metadata"): "",
		in(reflect.TypeFor[string](), "kind"):                        "TypeMeta has it",
		in(reflect.TypeFor[complex64](), "spec"):                     "its type cannot be complex64",
		reflect.TypeFor[map[string]string]():                         "is not a struct",
	} {
		_, err := fields.Resolve(reflect.TypeFor[*unstructured.Unstructured](), own)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve of %s returned %v, want %q", own, err, want)
		}
	}
}

type copiedFields struct {
	Spec struct {
		NodeSelector map[string]string `json:"nodeSelector"`
		Volumes      []struct {
			Name      string                        `json:"name"`
			ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap"`
			Secret    *struct {
				Name string `json:"secretName"`
			} `json:"secret"`
		} `json:"volumes"`
		Tolerations []corev1.Toleration `json:"tolerations"`
		Containers  []struct {
			Args      []string                    `json:"args"`
			Resources corev1.ResourceRequirements `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
}

func somePod() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector: map[string]string{"a": "1"},
		Volumes: []corev1.Volume{
			{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: new(int32(7))}}},
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}},
		},
		Tolerations: []corev1.Toleration{},
		Containers: []corev1.Container{
			{Args: []string{"x"}, Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}},
			{Args: []string{}},
		},
	}}
}

// TestCopiesShareNothing copies fields from a Pod, and from a struct with them. Nil stays nil, and
// empty stays empty.
func TestCopiesShareNothing(t *testing.T) {
	copied, err := fields.Resolve(podType, reflect.TypeFor[copiedFields]())
	if err != nil {
		t.Fatal(err)
	}
	pod, first, second := somePod(), &copiedFields{}, &copiedFields{}
	copied.Copy(first, pod)
	fields.DeepCopy(second, first)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("copy of a copy (-want +got):\n%s", diff)
	}
	spec := first.Spec
	if spec.Tolerations == nil || spec.Containers[1].Args == nil || spec.Containers[1].Resources.Requests != nil || spec.Volumes[1].ConfigMap != nil {
		t.Errorf("nil or empty parts changed: %+v", spec)
	}
	if spec.Volumes[0].Name != "c" || *spec.Volumes[0].ConfigMap.DefaultMode != 7 || spec.Volumes[1].Secret.Name != "x" || spec.Containers[0].Args[0] != "x" {
		t.Errorf("copied %+v", spec)
	}
	spec.NodeSelector["a"], *spec.Volumes[0].ConfigMap.DefaultMode, spec.Volumes[1].Secret.Name = "2", 8, "y"
	spec.Containers[0].Args[0], spec.Containers[0].Resources.Requests["cpu"] = "y", resource.MustParse("2")
	if diff := cmp.Diff(somePod(), pod); diff != "" {
		t.Errorf("the Pod shares parts with a copy (-want +got):\n%s", diff)
	}
	expected := &copiedFields{}
	copied.Copy(expected, somePod())
	if diff := cmp.Diff(expected, second); diff != "" {
		t.Errorf("the copy of the copy shares parts with it (-want +got):\n%s", diff)
	}
}

// TestCopyOfLargeQuantity adds to a Quantity whose number is behind a pointer.
func TestCopyOfLargeQuantity(t *testing.T) {
	type limits struct {
		Memory resource.Quantity `json:"memory"`
	}
	from, to := &limits{resource.MustParse("100000000000000000000000")}, &limits{}
	fields.DeepCopy(to, from)
	to.Memory.Add(resource.MustParse("1"))
	if want := resource.MustParse("100000000000000000000000"); from.Memory.Cmp(want) != 0 {
		t.Errorf("the original is %v after a change of the copy, want %v", from.Memory.AsDec(), want.AsDec())
	}
}
