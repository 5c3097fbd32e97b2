package cache

import (
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/wire"
)

// sameMemory tells whether two strings are one in memory.
func sameMemory(a, b string) bool { return a == b && unsafe.StringData(a) == unsafe.StringData(b) }

// codecOf returns the codec of a source's objects, for a request of its own.
func codecOf(source feed.Source, format wire.Format, watching bool) feed.Codec {
	return source.(streamSource).codecs(watching).of(&wire.Item{Format: format})
}

func decodedBy[T any](t *testing.T, codec feed.Codec, raw []byte) T {
	t.Helper()
	obj, err := codec.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return obj.(T)
}

// TestWatchSharesWithList holds that equal strings of what a list and a watch of one
// source bring are in memory once, and that nothing is that somebody may write into.
func TestWatchSharesWithList(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Labels: map[string]string{"app": "web-frontend"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}}},
	}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	source, _ := newSource(&ListWatch{Streaming: true}, kind{goType: reflect.TypeFor[*corev1.Pod]()})
	a := decodedBy[*corev1.Pod](t, codecOf(source, wire.Protobuf, false), raw)
	b := decodedBy[*corev1.Pod](t, codecOf(source, wire.Protobuf, true), raw)
	if !reflect.DeepEqual(a, pod) || !reflect.DeepEqual(b, pod) {
		t.Errorf("decoded %v and %v", a, b)
	}
	if !sameMemory(a.Labels["app"], b.Labels["app"]) || !sameMemory(a.ManagedFields[0].Manager, b.ManagedFields[0].Manager) {
		t.Error("equal strings are in memory twice")
	}
	if a.Labels["app"] = "changed"; b.Labels["app"] != "web-frontend" {
		t.Error("who writes into one object writes into another")
	}
}

func TestUnstructuredObjectsShareStrings(t *testing.T) {
	raw := []byte(`{"apiVersion":"example.com/v1","kind":"Database","metadata":{"name":"db"},"spec":{"engine":"postgres"}}`)
	source, _ := newSource(&ListWatch{Streaming: true}, kind{goType: reflect.TypeFor[*unstructured.Unstructured]()})
	a := decodedBy[*unstructured.Unstructured](t, codecOf(source, wire.JSON, false), raw)
	b := decodedBy[*unstructured.Unstructured](t, codecOf(source, wire.JSON, true), raw)
	if a.GetName() != "db" || !reflect.DeepEqual(a, b) {
		t.Errorf("decoded %v and %v", a, b)
	}
	engine := func(u *unstructured.Unstructured) string { return u.Object["spec"].(map[string]any)["engine"].(string) }
	if !sameMemory(engine(a), engine(b)) {
		t.Error("equal strings are in memory twice")
	}
	if a.SetName("changed"); b.GetName() != "db" {
		t.Error("who writes into one object writes into another")
	}
}
