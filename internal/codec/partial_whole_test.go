// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// kept is an object of which some fields are kept.
type kept[S any] struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Fields S
}

func (k *kept[S]) DeepCopyObject() runtime.Object { copied := *k; return &copied }

// nodeName are the fields of a Pod that its tests keep.
type nodeName struct {
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Name string `json:"name"`
		} `json:"containers"`
	} `json:"spec"`
}

// taggedPod is decoded by its own Unmarshal method, as types of OpenShift are. Its tags say what
// that reads.
type taggedPod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
	Spec              corev1.PodSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	Status            corev1.PodStatus `json:"status" protobuf:"bytes,3,opt,name=status"`

	Large []corev1.PodTemplateSpec `json:"large,omitempty" protobuf:"bytes,4,rep,name=large"`
}

func (p *taggedPod) DeepCopyObject() runtime.Object { copied := *p; return &copied }

func (p *taggedPod) Unmarshal(raw []byte) error {
	var pod corev1.Pod
	err := pod.Unmarshal(raw)
	p.ObjectMeta, p.Spec, p.Status = pod.ObjectMeta, pod.Spec, pod.Status
	return err
}

// partialTypeOf returns the type of objects of which a kept[S] is kept.
func partialTypeOf[S any](tb testing.TB, api reflect.Type) ObjectType {
	tb.Helper()
	objects, err := PartialTypeOf(reflect.TypeFor[*kept[S]](), api, reflect.TypeFor[S](), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return objects
}

// TestTypesThatAreDecodedWholeAreCopied decodes objects of types whose struct tags do not tell how
// they are encoded, in every way in which they are kept.
func TestTypesThatAreDecodedWholeAreCopied(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "a", Annotations: map[string]string{"a": "1", "b": "2"}, Labels: map[string]string{"c": "3"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Hostname: "h", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	protobuf, text := randomapi.Encode(t, pod)
	twice := strings.Replace(string(text), `"spec":`, `"spec":{},"spec":`, 1) // which cannot be edited
	for _, api := range []reflect.Type{reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*foreignPod](), reflect.TypeFor[*taggedPod](), reflect.TypeFor[*unstructured.Unstructured]()} {
		for _, paths := range [][]string{nil, {"metadata.annotations[a]", "metadata.labels"}} {
			want := &kept[nodeName]{ObjectMeta: *pod.ObjectMeta.DeepCopy()}
			want.ManagedFields = nil
			if paths != nil {
				want.Annotations, want.Labels = map[string]string{"b": "2"}, nil
			}
			want.Fields.Spec.NodeName = "node"
			want.Fields.Spec.Containers = append(want.Fields.Spec.Containers, struct {
				Name string `json:"name"`
			}{"c"})
			objects := partialTypeOf[nodeName](t, api)
			omitted, err := objects.Omit(paths, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, packed := range []bool{false, true} {
				codecs := NewDecoders(objects, Options{Packed: packed, Omit: omitted}).ForList()
				for format, raws := range map[wire.Format][]string{wire.Protobuf: {string(protobuf)}, wire.JSON: {string(text), twice}} {
					if format == wire.Protobuf && !objects.IsGenerated() {
						continue
					}
					codec := codecs.For(&wire.Item{Format: format})
					if _, edits := codec.(feed.EditingCodec); edits != (packed || paths != nil || format == wire.JSON) {
						t.Errorf("%s without %v, packed %v: the codec is a %T", api, paths, packed, codec)
					}
					for _, raw := range raws {
						got, err := decodeAsKept(t, objects, codec, raw, packed)
						if diff := cmp.Diff(want, got); err != nil || diff != "" {
							t.Errorf("%s without %v, packed %v: %v\n%s", api, paths, packed, err, diff)
						}
					}
				}
			}
		}
	}
}

// decodeAsKept decodes an item as a store does.
func decodeAsKept(t *testing.T, objects ObjectType, codec feed.Codec, raw string, packed bool) (any, error) {
	t.Helper()
	item := feed.Item{Raw: []byte(raw), Codec: codec}
	if !packed {
		return Decode[object](item)
	}
	if editing, ok := codec.(feed.EditingCodec); ok {
		if _, edited, ok := editing.Edit(nil, item); ok {
			edited.Raw, _, _ = editing.Edit(nil, item)
			item = edited
		}
	}
	packer := NewPacker(objects, Options{}, func() bool { return false })
	stored, err := packer.Pack(item, pack.Object{}, func() (any, error) { return Decode[object](item) })
	if err != nil {
		return nil, err
	}
	return packer.Unpack(stored)
}

// TestTypesOutsideKubernetesHaveNoPlan checks that the struct tags of other types are not followed.
func TestTypesOutsideKubernetesHaveNoPlan(t *testing.T) {
	for api, want := range map[reflect.Type]bool{reflect.TypeFor[*corev1.Pod](): true, reflect.TypeFor[*foreignPod](): false, reflect.TypeFor[*taggedPod](): false} {
		decoder, err := partialTypeOf[nodeName](t, api).protobufDecoder(decode.Options{})
		if _, planned := decoder.(*decode.Decoder); planned != want || err != nil {
			t.Errorf("%s: the decoder is a %T, %v", api, decoder, err)
		}
	}
}

// TestHostilePartialObjectsAreNotDecoded decodes 5,000 empty containers with a limit of a few
// megabytes. They are refused if the program keeps containers, or if they are decoded whole.
func TestHostilePartialObjectsAreNotDecoded(t *testing.T) {
	type containers struct {
		Spec struct {
			Containers []corev1.Container `json:"containers"`
		} `json:"spec"`
	}
	pod := append(binary.AppendUvarint([]byte{2<<3 | 2}, 10_000), strings.Repeat("\x12\x00", 5000)...)
	text := []byte(`{"spec":{"containers":[` + strings.Repeat("{},", 4999) + `{}]}}`)
	for _, c := range []struct {
		name    string
		objects ObjectType
		format  wire.Format
		raw     []byte
		limit   int // in megabytes
		refused bool
	}{
		{"names", partialTypeOf[nodeName](t, podType), wire.Protobuf, pod, 3, false},
		{"names in JSON", partialTypeOf[nodeName](t, podType), wire.JSON, text, 3, false},
		{"nothing", partialTypeOf[struct{}](t, podType), wire.Protobuf, pod, 3, false},
		{"containers", partialTypeOf[containers](t, podType), wire.Protobuf, pod, 3, true},
		{"containers in JSON", partialTypeOf[containers](t, podType), wire.JSON, text, 3, true},
		{"containers, unstructured", partialTypeOf[containers](t, reflect.TypeFor[*unstructured.Unstructured]()), wire.JSON, text, 3, true},
		{"names of a type without a plan", partialTypeOf[nodeName](t, reflect.TypeFor[*foreignPod]()), wire.Protobuf, pod, 3, true},
		{"names of a type that may have larger elements", partialTypeOf[nodeName](t, reflect.TypeFor[*taggedPod]()), wire.Protobuf, pod, 6, true},
	} {
		for _, packed := range []bool{false, true} {
			omitted, err := c.objects.Omit(nil, true)
			if err != nil {
				t.Fatal(err)
			}
			codec := NewDecoders(c.objects, Options{Packed: packed, Omit: omitted, Decoded: NewDecodedLimit(c.limit << 20)}).ForList().For(&wire.Item{Format: c.format})
			if _, err := codec.Decode(c.raw); errors.Is(err, ErrDecoded) != c.refused || err != nil && !c.refused {
				t.Errorf("%s, packed %v: Decode returned %v", c.name, packed, err)
			}
		}
	}
}

var podType = reflect.TypeFor[*corev1.Pod]()

// TestTransformedPartialObjectsArePacked packs objects that a transform has changed, so that the
// bytes of the server cannot be stored. Whatever the format of the server is, they are stored as
// JSON.
func TestTransformedPartialObjectsArePacked(t *testing.T) {
	for name, c := range packerCases(t) {
		if c.packer.objects.Partial == nil {
			continue
		}
		decoded, err := c.codec.Decode(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		want := decoded.(object)
		want.SetLabels(map[string]string{"transformed": "<yes>"})
		item := feed.Item{Raw: c.raw, Codec: c.codec}
		packer := NewPacker(c.packer.objects, Options{}, func() bool { return true })
		packed, err := packer.Pack(item, pack.Object{}, func() (any, error) { return want, nil })
		if err != nil {
			t.Fatal(err)
		}
		got, err := packer.Unpack(packed)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if labels, err := packer.Labels(packed); err != nil || labels["transformed"] != "<yes>" {
			t.Errorf("%s: the labels are %v, %v", name, labels, err)
		}
		again, err := packer.Pack(feed.Item{Object: want}, packed, func() (any, error) { return want, nil })
		if err != nil {
			t.Fatal(err)
		}
		if got, err := packer.Unpack(again); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: unpacked %v, %v after an update", name, got, err)
		}
	}
}
