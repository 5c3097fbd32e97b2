// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/internal/wire"
)

// The encoders of an API server, for objects and for lists.
var (
	protobufSerializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	protobufStreaming  = protobuf.NewSerializerWithOptions(scheme.Scheme, scheme.Scheme, protobuf.SerializerOptions{StreamingCollectionsEncoding: true})
	jsonSerializer     = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{})
	jsonPretty         = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Pretty: true})
	jsonStreaming      = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{StreamingCollectionsEncoding: true})
)

var formats = []wire.Format{wire.Protobuf, wire.JSON}

func serializer(format wire.Format) runtime.Serializer {
	if format == wire.Protobuf {
		return protobufSerializer
	}
	return jsonSerializer
}

// encode returns the body of a server's response to a GET or LIST.
func encode(t testing.TB, encoder runtime.Encoder, object runtime.Object) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encoder.Encode(object, &b); err != nil {
		t.Fatalf("encoding %T: %v", object, err)
	}
	return b.Bytes()
}

// encodeEvent returns one event of a watch as a server sends it.
func encodeEvent(t testing.TB, format wire.Format, eventType string, object runtime.Object) []byte {
	t.Helper()
	event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: encode(t, serializer(format), object)}}
	if format == wire.JSON {
		return encode(t, jsonSerializer, &event)
	}
	b, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// parse parses an object.
func parse(t testing.TB, raw []byte, format wire.Format) wire.Item {
	t.Helper()
	item, err := wire.Parse(raw, format)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// encodeWatch returns a watch of the objects of a list.
func encodeWatch(t testing.TB, format wire.Format, eventType string, list *corev1.ConfigMapList) (body []byte) {
	t.Helper()
	for i := range list.Items {
		body = append(body, encodeEvent(t, format, eventType, typed(t, &list.Items[i]))...)
	}
	return body
}

// typed sets the apiVersion and kind of an object, as a server does.
func typed[T runtime.Object](t testing.TB, object T) T {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	return object
}

// podList returns a list of n Pods of a Deployment, of 5.7 KB each in protobuf.
func podList(t testing.TB, n int) *corev1.PodList {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "987654321"}}
	for i := range n {
		list.Items = append(list.Items, *newPod(i))
	}
	return typed(t, list)
}

func newPod(i int) *corev1.Pod {
	labels := map[string]string{"app": "checkout", "pod-template-hash": fmt.Sprintf("%08x", i/20), "team": "payments"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:              fmt.Sprintf("checkout-%08x-%05d", i/20, i),
			Namespace:         fmt.Sprintf("shop-%03d", i%500),
			UID:               types.UID(fmt.Sprintf("9a7c9ea8-0f5e-4b3f-9d3b-%012x", i)),
			ResourceVersion:   fmt.Sprint(900000000 + i),
			CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0)),
			Labels:            labels,
			Annotations:       map[string]string{"prometheus.io/scrape": "true", "kubernetes.io/config.seen": "2024-01-01T00:00:00Z"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: managedFields(10)}},
				{Manager: "kubelet", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: managedFields(8)}},
			},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%04d", i%1000), ServiceAccountName: "checkout"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255),
		},
	}
	for c := range 2 {
		container := corev1.Container{Name: fmt.Sprintf("c%d", c), Image: "registry.example.com/shop/checkout:v1.42.0"}
		for e := range 15 {
			container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_NUMBER_%02d", e), Value: fmt.Sprintf("https://service-%d.shop.svc.cluster.local:8443/path?with=\"quotes\"", e)})
		}
		container.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Ready: true, Image: container.Image, ContainerID: "containerd://4f5f1f4b1b0a7d6c5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d"})
	}
	return pod
}

// managedFields returns the field set of a managedFields entry.
func managedFields(n int) []byte {
	b := []byte(`{"f:metadata":{"f:labels":{".":{}`)
	for i := range n {
		b = fmt.Appendf(b, `,"f:label-of-some-length-%d":{},"k:{\"containerPort\":80%d,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}`, i, i)
	}
	return append(b, "}}}"...)
}
