// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// serverCodec returns the codec with which an API server writes protobuf.
func serverCodec() runtime.Serializer { return protobuf.NewSerializer(scheme.Scheme, scheme.Scheme) }

func encodeAsServer(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	var body bytes.Buffer
	if err := serverCodec().Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func encodePods(t *testing.T, pods []*corev1.Pod) *Encoded {
	t.Helper()
	e, err := Encode("v1", "Pod", pods)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestListEqualsTheServers(t *testing.T) {
	for n := range 4 {
		pods := NewPods(3, 1).Take(n)
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: Version(9)}}
		for _, pod := range pods {
			list.Items = append(list.Items, *pod)
		}
		encoded := encodePods(t, pods)
		want, body := encodeAsServer(t, list), encoded.List(9, encoded.All())
		if size := ListSize(body); size != int64(len(want)) {
			t.Errorf("%d Pods: size %d, want %d", n, size, len(want))
		}
		got, err := io.ReadAll(&body)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d Pods: the body differs from the server's, error %v", n, err)
		}
	}
}

func TestShardHasSelectedObjectsInTheirLastVersion(t *testing.T) {
	pods := NewPods(3, 1).Take(4)
	all := encodePods(t, pods)
	shard := all.Shard("the selector", func(i int) bool { return i%2 == 1 })
	all.Touch(3, 7)
	pods[3].ResourceVersion = Version(7)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: Version(9), ShardInfo: &metav1.ShardInfo{Selector: "the selector"}},
		Items:    []corev1.Pod{*pods[1], *pods[3]},
	}
	body := shard.List(9, shard.All())
	got, err := io.ReadAll(&body)
	if err != nil || !bytes.Equal(got, encodeAsServer(t, list)) {
		t.Errorf("the body differs from the server's, error %v", err)
	}
}

func TestObjectsSurviveARoundTrip(t *testing.T) {
	pods := NewPods(1, 1).Take(50)
	e := encodePods(t, pods)
	for i, pod := range pods {
		var again corev1.Pod
		if err := again.Unmarshal(e.Raw(i)); err != nil || !apiequality.Semantic.DeepEqual(&again, pod) {
			t.Errorf("Pod %d differs after a round trip, error %v", i, err)
		}
	}
	nodes, err := Encode("v1", "Node", NewNodes(1).Take(5))
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Len() {
		var again corev1.Node
		if err := again.Unmarshal(nodes.Raw(i)); err != nil || !apiequality.Semantic.DeepEqual(&again, NewNodes(1).Node(i)) {
			t.Errorf("node %d differs after a round trip, error %v", i, err)
		}
	}
}

func TestFrameEqualsTheServers(t *testing.T) {
	pods := NewPods(3, 1).Take(2)
	e := encodePods(t, pods)
	e.Touch(1, 77)
	changed := pods[1].DeepCopy()
	changed.ResourceVersion = Version(77)
	changed.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	event := metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: encodeAsServer(t, changed)}}
	want := marshal(t, &event)
	frame := e.Frame(watch.Modified, 1)
	if length := binary.BigEndian.Uint32(frame); int(length) != len(want) || !bytes.Equal(frame[4:], want) {
		t.Errorf("the frame differs from the server's: %d bytes, want %d", length, len(want))
	}
}

func TestTouchChangesTheVersionOnly(t *testing.T) {
	pods := NewPods(3, 1).Take(1)
	e := encodePods(t, pods)
	e.Touch(0, 123_456_789)
	var touched corev1.Pod
	if err := touched.Unmarshal(e.Raw(0)); err != nil {
		t.Fatal(err)
	}
	if touched.ResourceVersion != "1123456789" {
		t.Errorf("version %s, want 1123456789", touched.ResourceVersion)
	}
	touched.ResourceVersion = pods[0].ResourceVersion
	if !apiequality.Semantic.DeepEqual(&touched, pods[0]) {
		t.Error("Touch changed another field")
	}
}

func TestEncodeRejectsVersionsThatTouchCannotSet(t *testing.T) {
	for _, version := range []string{"", "1", "12345678901"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: version}}
		if _, err := Encode("v1", "Pod", []*corev1.Pod{pod}); err == nil {
			t.Errorf("no error for version %q", version)
		} else if want := `Pod a/b: metadata.resourceVersion "` + version + `" is not one of dataset.Version`; err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}
