// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package envelope_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/internal/testing/envelope"
)

// encodeAsServer encodes an object with the codec of an API server.
func encodeAsServer(t *testing.T, object runtime.Object, inJSON bool) []byte {
	t.Helper()
	if inJSON {
		encoded, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	var body bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &body); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

// pod returns a Pod whose text contains characters that JSON escapes.
func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Annotations: map[string]string{"text": "<\"%\n>"}},
	}
}

// bare encodes a Pod as it is inside a list.
func bare(t *testing.T, object *corev1.Pod, inJSON bool) []byte {
	t.Helper()
	if inJSON {
		return encodeAsServer(t, object, true)
	}
	encoded, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func TestListIsWhatAServerSends(t *testing.T) {
	for _, inJSON := range []bool{false, true} {
		for n := range 3 {
			remaining := int64(7)
			meta := metav1.ListMeta{ResourceVersion: "12", Continue: "next", RemainingItemCount: &remaining}
			list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta, Items: []corev1.Pod{}}
			var items [][]byte
			var size int64
			for i := range n {
				p := pod(string(rune('a' + i)))
				list.Items = append(list.Items, *p)
				items = append(items, bare(t, p, inJSON))
				size += envelope.ItemSize(items[i])
			}
			if got, want := written(t, inJSON, meta, size, items), encodeAsServer(t, list, inJSON); !bytes.Equal(got, want) {
				t.Errorf("JSON %v, %d items: %q, want %q", inJSON, n, got, want)
			}
		}
	}
}

func written(t *testing.T, inJSON bool, meta metav1.ListMeta, size int64, items [][]byte) []byte {
	t.Helper()
	var body bytes.Buffer
	w, err := envelope.Of("v1", "Pod", inJSON).NewListWriter(&body, meta, size)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		if err := w.Write(item); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func TestFrameIsWhatAServerSends(t *testing.T) {
	p := pod("a")
	event := metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: encodeAsServer(t, p, false)}}
	want, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	frame := envelope.Of("v1", "Pod", false).Frame(watch.Modified, bare(t, p, false))
	if length := binary.BigEndian.Uint32(frame); int(length) != len(want) || !bytes.Equal(frame[4:], want) {
		t.Errorf("frame %q of length %d, want %q", frame[4:], length, want)
	}
	text := envelope.Of("v1", "Pod", true).Frame(watch.Modified, bare(t, p, true))
	var decoded metav1.WatchEvent
	if err := json.Unmarshal(text, &decoded); err != nil || decoded.Type != "MODIFIED" || !bytes.Equal(decoded.Object.Raw, bare(t, p, true)) {
		t.Errorf("frame %s, error %v", text, err)
	}
}

func TestBookmarkIsAnObjectOfTheKind(t *testing.T) {
	for _, inJSON := range []bool{false, true} {
		for _, initialEventsEnd := range []bool{false, true} {
			frame, err := envelope.Of("v1", "Pod", inJSON).Bookmark("7", initialEventsEnd)
			if err != nil {
				t.Fatal(err)
			}
			want := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
			if initialEventsEnd {
				want.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
			}
			if diff := cmp.Diff(runtime.Object(want), bookmarked(t, frame, inJSON)); diff != "" {
				t.Errorf("JSON %v: (-want +got):\n%s", inJSON, diff)
			}
		}
	}
}

// bookmarked returns the object of a frame, which must be a bookmark.
func bookmarked(t *testing.T, frame []byte, inJSON bool) runtime.Object {
	t.Helper()
	var event metav1.WatchEvent
	var err error
	if inJSON {
		err = json.Unmarshal(frame, &event)
	} else {
		err = event.Unmarshal(frame[4:])
	}
	if err != nil || event.Type != "BOOKMARK" {
		t.Fatalf("event %q, error %v", event.Type, err)
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), event.Object.Raw)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return object
}

func TestContentTypes(t *testing.T) {
	for _, c := range []struct {
		inJSON      bool
		list, watch string
	}{
		{false, "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf;stream=watch"},
		{true, "application/json", "application/json"},
	} {
		e := envelope.Of("v1", "Pod", c.inJSON)
		if e.ListContentType() != c.list || e.WatchContentType() != c.watch {
			t.Errorf("JSON %v: %q and %q", c.inJSON, e.ListContentType(), e.WatchContentType())
		}
	}
}
