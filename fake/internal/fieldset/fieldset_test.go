// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fieldset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestOfReturnsSelectableFields(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "x"}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "u"},
		"spec":     map[string]any{"size": int64(3), "on": true, "ratio": 0.5, "text": "t", "list": []any{"a"}},
	}}
	for _, tc := range []struct {
		obj         metav1.Object
		field, want string
	}{
		{&corev1.ConfigMap{ObjectMeta: meta}, "metadata.name", "x"},
		{&corev1.ConfigMap{ObjectMeta: meta}, "metadata.namespace", "ns"},
		{&metav1.PartialObjectMetadata{ObjectMeta: meta}, "metadata.name", "x"},
		{&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, "spec.nodeName", "n"},
		{&corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true}}, "spec.hostNetwork", "true"},
		{&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, "status.phase", "Failed"},
		{&corev1.Pod{}, "spec.unknown", ""},
		{&corev1.Node{}, "spec.unschedulable", "false"},
		{&corev1.Namespace{Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}, "status.phase", "Active"},
		{&corev1.Secret{Type: corev1.SecretTypeOpaque}, "type", "Opaque"},
		{&corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "1.2.3.4"}}, "spec.clusterIP", "1.2.3.4"},
		{&corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod"}}, "involvedObject.kind", "Pod"},
		{u, "metadata.name", "u"},
		{u, "spec.size", "3"},
		{u, "spec.on", "true"},
		{u, "spec.ratio", "0.5"},
		{u, "spec.text", "t"},
		{u, "spec.list", ""},
		{u, "spec.none.at.all", ""},
	} {
		fields := Of(tc.obj)
		if got := fields.Get(tc.field); got != tc.want || fields.Has(tc.field) != (tc.want != "") {
			t.Errorf("field %s of %T: got %q, want %q", tc.field, tc.obj, got, tc.want)
		}
	}
}

func TestCheckRejectsUnsupportedFields(t *testing.T) {
	for _, tc := range []struct {
		example runtime.Object
		field   string
		ok      bool
	}{
		{&corev1.Pod{}, "spec.nodeName", true},
		{&corev1.Pod{}, "metadata.name", true},
		{&corev1.Pod{}, "metadata.labels", false},
		{&corev1.ConfigMap{}, "spec.nodeName", false},
		{&metav1.PartialObjectMetadata{}, "spec.nodeName", false},
		{&unstructured.Unstructured{}, "spec.anything", true},
	} {
		if err := Check(tc.example, tc.field); (err == nil) != tc.ok {
			t.Errorf("field %s of %T: got error %v, want supported %v", tc.field, tc.example, err, tc.ok)
		}
	}
}
