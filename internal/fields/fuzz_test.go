// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// podPaths are omitted in the fuzz targets: whole fields, parts of messages and lists, inlined
// structs and keys.
var podPaths = []string{
	"metadata.managedFields", "metadata.annotations[a]", "metadata.labels[]", "spec.containers.env",
	"spec.volumes.configMap.items", "spec.nodeSelector", "spec.priority", "status.conditions.message",
}

func newPodFields(tb testing.TB) *Omitted {
	tb.Helper()
	fields, err := Omit(podType, podPaths, true)
	if err != nil {
		tb.Fatal(err)
	}
	return fields
}

// checkPod compares a Pod decoded from edited bytes with one that was edited after decoding.
func checkPod(t *testing.T, fields *Omitted, raw []byte,
	edit editFunc, decode func([]byte) (runtime.Object, error),
) {
	t.Helper()
	at := layoutOf(raw)
	result, ok := edit(nil, raw, at)
	if !ok {
		return
	}
	edited := result.Bytes
	checkLayout(t, raw, edited, at, result.Layout)
	whole, err := decode(raw)
	if err != nil { // the edited object may be valid
		return
	}
	got, err := decode(edited)
	if err != nil {
		t.Fatalf("the edited bytes do not decode: %v\n%q\n%q", err, raw, edited)
	}
	want := fields.Without(whole)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("edited bytes (-) differ from the edited object (+): %s\n%q\n%q", cmp.Diff(got, want), raw, edited)
	}
}

// editFunc is AppendProtobuf or AppendJSON.
type editFunc func(dst, raw []byte, at layout.Object) (Edited, bool)

// layoutOf returns the layout of an object, as the splitter finds it; zero for malformed bytes.
func layoutOf(raw []byte) layout.Object {
	format := wire.Protobuf
	if len(raw) > 0 && raw[0] == '{' {
		format = wire.JSON
	}
	item, err := wire.Parse(raw, format)
	if err != nil {
		return layout.Object{}
	}
	_, at, _ := item.Identify()
	return at
}

// checkLayout compares the layout of edited bytes with the one that parsing them finds. In JSON,
// the layout of each object that has one is moved.
func checkLayout(t *testing.T, raw, edited []byte, at, moved layout.Object) {
	t.Helper()
	switch want := layoutOf(edited); {
	case moved.Length == 0:
		if bytes.HasPrefix(raw, []byte("{")) && at.Length > 0 {
			t.Fatalf("the layout was dropped\n%q\n%q", raw, edited)
		}
	case moved.SmallNumbers && !want.SmallNumbers:
		t.Fatalf("the layout says that numbers are small\n%q\n%q", raw, edited)
	default:
		if moved.SmallNumbers = want.SmallNumbers; moved != want {
			t.Fatalf("the layout is %+v, want %+v\n%q\n%q", moved, want, raw, edited)
		}
	}
}

func decodePod(raw []byte) (runtime.Object, error) {
	pod := &corev1.Pod{}
	return pod, pod.Unmarshal(raw)
}

func decodePodJSON(raw []byte) (runtime.Object, error) {
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(raw, pod)
}

// field returns a field of wire type 2.
func field(number byte, content string) string {
	return string([]byte{number<<3 | 2, byte(len(content))}) + content
}

// FuzzProtobuf edits Pods in protobuf: malformed lengths, groups, unknown fields, repeated
// messages, any order.
func FuzzProtobuf(f *testing.F) {
	for _, pod := range fuzzPods() {
		raw, _ := randomapi.Encode(f, pod)
		f.Add(raw)
		f.Add(append(raw[:len(raw):len(raw)], raw...)) // every message twice
		f.Add(raw[:len(raw)/2])
	}
	f.Add([]byte{})
	annotation := field(12, field(1, "a")+field(2, "b"))
	for _, metadata := range []string{
		annotation, annotation + annotation,
		field(12, field(2, "b")+field(1, "x")+field(1, "a")), // the last key counts
		field(12, field(1, "a")+"\x12\x05b"),                 // the value ends after the entry
		field(12, "\x08\x01"),                                // a number as the key
		field(12, field(1, "a")+"\x10\x03"+field(1, "b")),    // generated code reads the number as the length of a value
		field(11, ""), field(11, field(2, "x")),
		"\x63\x08\x01\x64" + annotation, "\x62\xff\xff\xff\xff\x0f", "\x8a\x01\x03abc", "\x60\x01", "\x62\x80\x00",
		field(12, "\x1b\x1c"+field(1, "a")),
	} {
		f.Add([]byte(field(1, metadata)))
		f.Add([]byte(field(1, metadata) + field(1, field(1, "name"))))
	}
	fields := newPodFields(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) < 4096 {
			checkPod(t, fields, raw, fields.AppendProtobuf, decodePod)
		}
	})
}

// FuzzJSON edits Pods in JSON. Only valid JSON is compared: package wire has checked what an
// informer edits.
func FuzzJSON(f *testing.F) {
	for _, pod := range fuzzPods() {
		raw, err := json.Marshal(pod)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, raw := range []string{
		`{"metadata":{"annotations":{"a":"b"},"annotations":{"c":"d"}}}`, `{"metadata":null,"metadata":{"managedFields":[]}}`,
		`{"spec":{"containers":[{"env":[]},null,{}]}}`, ` {"spec" : {"priority" : 1e3 } } `, `{"metadata":[{"managedFields":1}]}`,
		`{"spec":`, `[`, `{"\u0073pec":{"nodeSelector":{}}}`, `{"spec":{"priority":}}`, `{"metadata":{"labels":{"":""}}}`,
	} {
		f.Add([]byte(raw))
	}
	fields := newPodFields(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			fields.AppendJSON(nil, raw, layout.Object{}) // must return
			return
		}
		checkPod(t, fields, raw, fields.AppendJSON, decodePodJSON)
		var object map[string]any
		if json.Unmarshal(raw, &object) == nil && object != nil {
			checkUnstructuredJSON(t, raw)
		}
	})
}

func checkUnstructuredJSON(t *testing.T, raw []byte) {
	t.Helper()
	fields, err := Omit(unstructuredType, podPaths, true)
	if err != nil {
		t.Fatal(err)
	}
	checkPod(t, fields, raw, fields.AppendJSON, decodeUnstructured)
}

func fuzzPods() (pods []*corev1.Pod) {
	for seed := range int64(6) {
		pod := randomapi.New(podType, seed).(*corev1.Pod)
		if rand.New(rand.NewPCG(uint64(seed), 2)).IntN(2) == 0 {
			pod.Annotations = map[string]string{"a": "b"}
			pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
		}
		pods = append(pods, pod)
	}
	return pods
}
