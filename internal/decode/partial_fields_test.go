// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/fields"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
)

type volumeFields struct {
	Status struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
	Spec struct {
		Volumes []volumeField `json:"volumes"`
	} `json:"spec"`
}

type volumeField struct {
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap"`
	Name      string                        `json:"name"`
	Secret    *secretField                  `json:"secret"`
}

type secretField struct {
	Name string `json:"secretName"`
}

type volumePod struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Fields volumeFields
}

// TestPartialPlanReadsFieldsOnly decodes metadata and fields, two of which are behind one inlined
// struct, and no managedFields.
func TestPartialPlanReadsFieldsOnly(t *testing.T) {
	resolved, err := fields.Resolve(reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[volumeFields]())
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := decode.NewPartial(resolved.WithMetadata(reflect.TypeFor[volumePod]()), decode.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "1"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec: corev1.PodSpec{NodeName: "node", Volumes: []corev1.Volume{
			{Name: "c", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}},
			{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "y"}}},
			{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "not wanted"},
	}
	raw, _ := randomapi.Encode(t, pod)
	got, err := decoder.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := &volumePod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"x": "1"}}}
	want.Fields.Status.Phase = corev1.PodRunning
	want.Fields.Spec.Volumes = []volumeField{{pod.Spec.Volumes[0].ConfigMap, "c", nil}, {nil, "s", &secretField{"y"}}, {nil, "e", nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
