// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// sameMemory reports whether two strings share their bytes.
func sameMemory(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }

func decodedBy[T any](t *testing.T, codecs *Codecs, format wire.Format, raw []byte) T {
	t.Helper()
	obj, err := codecs.For(&wire.Item{Format: format}).Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(T)
}

// TestWatchSharesWithList decodes one object from a list and from a watch: their strings share
// memory, and nothing that may be written into does.
func TestWatchSharesWithList(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Labels: map[string]string{"app": "web-frontend"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}}},
	}}
	raw, _ := randomapi.Encode(t, pod)
	decoders := NewDecoders(ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}, Options{})
	a := decodedBy[*corev1.Pod](t, decoders.ForList(), wire.Protobuf, raw)
	b := decodedBy[*corev1.Pod](t, decoders.ForWatch(), wire.Protobuf, raw)
	if !reflect.DeepEqual(a, pod) || !reflect.DeepEqual(b, pod) {
		t.Errorf("decoded %v and %v", a, b)
	}
	if !sameMemory(a.Labels["app"], b.Labels["app"]) || !sameMemory(a.ManagedFields[0].Manager, b.ManagedFields[0].Manager) {
		t.Error("equal strings are in memory twice")
	}
	if a.Labels["app"] = "changed"; b.Labels["app"] != "web-frontend" {
		t.Error("a write into one object is visible in the other")
	}
}

func TestUnstructuredObjectsShareStrings(t *testing.T) {
	raw := []byte(`{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"db"},"spec":{"engine":"postgres"}}`)
	decoders := NewDecoders(ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}, Options{})
	a := decodedBy[*unstructured.Unstructured](t, decoders.ForList(), wire.JSON, raw)
	b := decodedBy[*unstructured.Unstructured](t, decoders.ForWatch(), wire.JSON, raw)
	if a.GetName() != "db" || !reflect.DeepEqual(a, b) {
		t.Errorf("decoded %v and %v", a, b)
	}
	engine := func(u *unstructured.Unstructured) string { return u.Object["spec"].(map[string]any)["engine"].(string) }
	if !sameMemory(engine(a), engine(b)) {
		t.Error("equal strings are in memory twice")
	}
	if a.SetName("changed"); b.GetName() != "db" {
		t.Error("a write into one object is visible in the other")
	}
}

// TestDecodedObjectSharesIdentityWithItem decodes an item whose key and UID are the object's, and
// whose resourceVersion is not.
func TestDecodedObjectSharesIdentityWithItem(t *testing.T) {
	object := ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "a-uid", ResourceVersion: "7"}}
	protobuf, inJSON := randomapi.Encode(t, want)
	for format, raw := range map[wire.Format][]byte{wire.Protobuf: protobuf, wire.JSON: inJSON} {
		codec := NewDecoders(object, Options{}).ForList().For(&wire.Item{Format: format})
		item := feed.Item{Key: "ns/web", UID: "a-uid", ResourceVersion: "8", Raw: raw, Codec: codec}
		pod, err := Decode[*corev1.Pod](item)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(pod, want) {
			t.Errorf("%v: decoded %v", format, pod)
		}
		if !sameMemory(pod.Name, item.Key[len("ns/"):]) || !sameMemory(string(pod.UID), item.UID) {
			t.Errorf("%v: name and UID are in memory twice", format)
		}
		item.ResourceVersion = "7"
		if pod, err = Decode[*corev1.Pod](item); err != nil || !sameMemory(pod.ResourceVersion, item.ResourceVersion) {
			t.Errorf("%v: the resourceVersion is in memory twice, error %v", format, err)
		}
	}
}
