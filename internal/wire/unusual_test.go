// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/wire"
)

// seenItem holds the fields of a delivered item.
type seenItem struct{ APIVersion, Kind, Key, UID, ResourceVersion string }

// splitAll splits a list that arrives in pieces.
func splitAll(t *testing.T, body string, format wire.Format) (wire.ListHeader, []seenItem) {
	t.Helper()
	var all []seenItem
	header, err := wire.ListBuffered(iotest.HalfReader(strings.NewReader(body)), format, wire.Options{}, 16, func(item *wire.Item) error {
		meta, err := item.Meta()
		all = append(all, seenItem{item.APIVersion, item.Kind, meta.Key, meta.UID, meta.ResourceVersion})
		return err
	})
	if err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	return header, all
}

// TestUnusualJSON splits lists that are valid JSON but that no server writes.
func TestUnusualJSON(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []seenItem
	}{
		{"kind and metadata last", `{"apiVersion":"v1","items":[{"apiVersion":"a/v1","kind":"K","metadata":{"name":"n"}}],"kind":"KList","metadata":{"resourceVersion":"9"}}`,
			[]seenItem{{"a/v1", "K", "n", "", ""}}},
		{"kind from the list", `{"kind":"KList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"n","namespace":"s"}},{}]}`,
			[]seenItem{{"v1", "K", "s/n", "", ""}, {"v1", "K", "", "", ""}}},
		{"white space", " {\n\t\"kind\" : \"KList\" , \"metadata\" : { \"resourceVersion\" : \"9\" } , \"items\" : [ { \"metadata\" : { \"name\" : \"n\" } } \r\n, { } ] } \n ",
			[]seenItem{{"", "K", "n", "", ""}, {"", "K", "", "", ""}}},
		{"escapes", `{"\u006bind":"K\u004cist","metadata":{"resourceVersion":"\u0039"},"it\u0065ms":[{"m\u0065tadata":{"n\u0061me":"\u00e4\"\\\/\ud83d\ude00\ud800","uid":"` + "\xff" + `"}}]}`,
			[]seenItem{{"", "K", "ä\"\\/😀\ufffd", "\ufffd", ""}}},
		{"duplicate members", `{"kind":"X","kind":"KList","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a","uid":"u","name":"b"},"kind":"A","kind":"B","metadata":{"resourceVersion":"1"}}]}`,
			[]seenItem{{"", "B", "b", "u", "1"}}},
		{"null", `{"kind":"KList","kind":null,"metadata":{"resourceVersion":"9"},"metadata":null,"items":[{"kind":null,"metadata":null},{"metadata":{"name":"a","name":null,"uid":null}}]}`,
			[]seenItem{{"", "K", "", "", ""}, {"", "K", "a", "", ""}}},
		{"no items", `{"kind":"KList","metadata":{"resourceVersion":"9"},"items":null}`, nil},
		{"other members", `{"kind":"KList","x":[1,{"items":[{}]}],"metadata":{"resourceVersion":"9","x":-1.5e+3},"items":[{"name":"no","spec":{"metadata":{"name":"no"}},"metadata":{"labels":{"name":"no"},"ownerReferences":[{"name":"no","uid":"no"}],"name":"n","x":{"name":"no"}},"Metadata":{"name":"no"}}]}`,
			[]seenItem{{"", "K", "n", "", ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, got := splitAll(t, tt.body, wire.JSON)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if header.Kind != "KList" || header.Meta.ResourceVersion != "9" {
				t.Errorf("header %+v", header)
			}
		})
	}
}

// TestUnusualProtobuf splits lists that are valid protobuf but that no server writes.
func TestUnusualProtobuf(t *testing.T) {
	name := func(s string) string { return bytesField(1, s) }
	typeMeta := bytesField(1, bytesField(1, "v1")+bytesField(2, "KList"))
	listMeta := bytesField(1, bytesField(2, "9"))
	item := bytesField(2, bytesField(1, name("n")))
	want := []seenItem{{"v1", "K", "n", "", ""}}
	unknown := "\xa0\x01\x05" + "\xa9\x0112345678" + "\xad\x011234" + bytesField(15, "x")
	group := "\xa3\x01" + unknown + "\xab\x01\xac\x01" + "\xa4\x01"
	for _, tt := range []struct {
		name, body string
		want       []seenItem
	}{
		{"canonical", typeMeta + bytesField(2, listMeta+item), want},
		{"content first", bytesField(2, listMeta+item) + typeMeta, []seenItem{{"", "", "n", "", ""}}},
		{"items first", typeMeta + bytesField(2, item+listMeta), want},
		{"items around metadata", typeMeta + bytesField(2, item+listMeta+item), append(want, want...)},
		{"ListMeta merged", typeMeta + bytesField(2, bytesField(1, bytesField(2, "8"))+item+listMeta+bytesField(1, "")), want},
		{"TypeMeta merged", bytesField(1, bytesField(2, "XList")) + bytesField(1, bytesField(1, "v1")) + bytesField(1, bytesField(2, "KList")) + bytesField(2, listMeta+item), want},
		{"unknown fields", unknown + typeMeta + unknown + bytesField(2, bytesField(15, "x")+listMeta+item), want},
		{"groups", group + typeMeta + group + bytesField(2, listMeta+item) + group, want},
		{"group in a list", typeMeta + bytesField(2, group+listMeta+group+item), want},
		{"overlong varints", typeMeta + "\x92\x80\x00" + "\x92\x80\x80\x00" + listMeta + "\x12\x88\x80\x80\x00" + "\x8a\x00\x83\x80\x00" + name("n"), want},
		{"metadata merged", typeMeta + bytesField(2, listMeta+bytesField(2, bytesField(1, name("a")+bytesField(5, "u"))+bytesField(1, name("n")+unknown[:3]))), []seenItem{{"v1", "K", "n", "u", ""}}},
		{"fields in any order", typeMeta + bytesField(2, listMeta+bytesField(2, bytesField(3, "x")+bytesField(1, bytesField(6, "5")+bytesField(3, "s")+bytesField(15, "")+name("n")))), []seenItem{{"v1", "K", "s/n", "", "5"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header, got := splitAll(t, "k8s\x00"+tt.body, wire.Protobuf)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if header.Kind != "KList" || header.Meta.ResourceVersion != "9" {
				t.Errorf("header %+v", header)
			}
		})
	}
}

func TestLabelsAreReadAtTheirPlace(t *testing.T) {
	entry := func(k, v string) string { return bytesField(11, bytesField(1, k)+bytesField(2, v)) }
	for _, tt := range []struct {
		name, raw string
		format    wire.Format
		known     bool
		want      map[string]string
	}{
		{"none", `{}`, wire.JSON, true, nil},
		{"null", `{"metadata":{"labels":null}}`, wire.JSON, true, nil},
		{"empty", `{"metadata":{"labels":{ }}}`, wire.JSON, true, map[string]string{}},
		{"white space", `{"metadata" : { "labels" : { "a" : "1" } } }`, wire.JSON, true, map[string]string{"a": "1"}},
		{"in another member", `{"metadata":{"annotations":{"labels":"{}"},"other":{"labels":{"b":"2"}}},"spec":{"labels":{"c":"3"}}}`, wire.JSON, true, nil},
		{"duplicate, null", `{"metadata":{"labels":{"a":"1"},"labels":null}}`, wire.JSON, false, nil},
		{"duplicate", `{"metadata":{"labels":{"a":"1","b":"1"}},"metadata":{"labels":{"b":"2"}}}`, wire.JSON, false, nil},
		{"none", "", wire.Protobuf, false, nil},
		{"none", bytesField(1, bytesField(1, "a")), wire.Protobuf, true, nil},
		{"duplicate", bytesField(1, entry("a", "1")+entry("b", "1")) + bytesField(1, entry("b", "2")), wire.Protobuf, false, nil},
		{"between others", bytesField(1, bytesField(12, "")+entry("a", "1")+bytesField(1, "n")+entry("b", "2")+bytesField(13, "")), wire.Protobuf, true, map[string]string{"a": "1", "b": "2"}},
		{"without key or value", bytesField(1, bytesField(11, "")), wire.Protobuf, true, map[string]string{"": ""}},
		{"value first", bytesField(1, bytesField(11, bytesField(2, "v")+bytesField(9, "x")+bytesField(1, "k"))), wire.Protobuf, true, map[string]string{"k": "v"}},
	} {
		item, err := wire.Parse([]byte(tt.raw), tt.format)
		if err != nil {
			t.Fatal(err)
		}
		labels, known, err := labelsOf(&item)
		if diff := cmp.Diff(tt.want, labels); err != nil || known != tt.known || diff != "" {
			t.Errorf("%v, %s: error %v (-want +got):\n%s", tt.format, tt.name, err, diff)
		}
	}
}

func TestMetaErrors(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		format wire.Format
		want   string
	}{
		{`{"metadata":{"name":5}}`, wire.JSON, "wire: JSON object, byte 0, metadata.name: not a string"},
		{`{"metadata":[]}`, wire.JSON, "wire: JSON object, byte 0, metadata: not an object"},
		{`{"kind":{}}`, wire.JSON, "wire: JSON object, byte 0, kind: not a string"},
		{bytesField(1, "\x08\x05"), wire.Protobuf, "wire: protobuf object, byte 0, metadata.name: wrong wire type 0"},
		{bytesField(1, "\x2a\x05x"), wire.Protobuf, "wire: protobuf object, byte 0, metadata.uid: exceeds the enclosing message"},
		{"\x08\x05", wire.Protobuf, "wire: protobuf object, byte 0, metadata: wrong wire type 0"},
		{"\x17", wire.Protobuf, "wire: protobuf object, byte 0: wrong wire type 7"},
		{"\x14", wire.Protobuf, "wire: protobuf object, byte 0: unmatched end-group tag"},
		{strings.Repeat("\xff", 11), wire.Protobuf, "wire: protobuf object, byte 0: varint longer than 10 bytes"},
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", wire.Protobuf, "wire: protobuf object, byte 0: negative length"},
	} {
		item, err := wire.Parse([]byte(tt.raw), tt.format)
		if err == nil {
			_, err = item.Meta()
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: error %v, want %s", tt.raw, err, tt.want)
		}
	}
	list := `{"items":[{},{"metadata":{"uid":7}}]}`
	_, err := wire.List(strings.NewReader(list), wire.JSON, wire.Options{}, func(item *wire.Item) error {
		_, err := item.Meta()
		return err
	})
	if want := "wire: JSON list, item 1, byte 13, metadata.uid: not a string"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestUnstructuredList splits a list of custom resources, with kind and metadata after the items.
func TestUnstructuredList(t *testing.T) {
	list := &unstructured.UnstructuredList{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "WidgetCollection", "metadata": map[string]any{"resourceVersion": "9", "continue": "c"},
	}}
	for _, name := range []string{"a", "b"} {
		list.Items = append(list.Items, unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"size": int64(3), "name": "no"},
			"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "u" + name, "resourceVersion": "7", "labels": map[string]any{"l": "v"}},
		}})
	}
	body := encode(t, unstructured.UnstructuredJSONScheme, list)
	n := 0
	header, err := wire.List(iotest.OneByteReader(bytes.NewReader(body)), wire.JSON, wire.Options{APIVersion: "example.com/v1", Kind: "Widget"}, func(item *wire.Item) error {
		checkMeta(t, "unstructured", item, &list.Items[n])
		var got unstructured.Unstructured
		if err := got.UnmarshalJSON(item.Raw); err != nil || !cmp.Equal(got, list.Items[n]) {
			t.Errorf("item %d is %v, %v; want %v", n, got, err, list.Items[n])
		}
		n++
		return nil
	})
	if err != nil || n != 2 || header.Meta.Continue != "c" || header.Kind != "WidgetCollection" {
		t.Errorf("%d items, %+v, %v", n, header, err)
	}
}

// TestPartialObjectMetadataList splits a response to a metadata client.
func TestPartialObjectMetadataList(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: newPod(1).ObjectMeta}, {ObjectMeta: newPod(2).ObjectMeta}},
	}
	for _, e := range encoders {
		n := 0
		_, err := wire.List(bytes.NewReader(encode(t, e.encoder, list)), e.format, wire.Options{Kind: "PartialObjectMetadata"}, func(item *wire.Item) error {
			checkMeta(t, e.name, item, &list.Items[n])
			if item.APIVersion != "meta.k8s.io/v1" || item.Kind != "PartialObjectMetadata" {
				t.Errorf("%s: item has kind %s %s", e.name, item.APIVersion, item.Kind)
			}
			n++
			return nil
		})
		if err != nil || n != 2 {
			t.Errorf("%s: %d items, %v", e.name, n, err)
		}
	}
}

// TestItemsLargerThanBuffer checks that objects much larger than the buffer, and the small objects
// after them, are complete.
func TestItemsLargerThanBuffer(t *testing.T) {
	list := typed(t, &corev1.ConfigMapList{})
	for i, size := range []int{1, 100 << 10, 300 << 10, 3, 100 << 10, 0} {
		data := strings.Repeat(string(rune('a'+i))+"\"é", size/4)
		list.Items = append(list.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}, Data: map[string]string{"x": data}})
	}
	for _, e := range encoders {
		n := 0
		_, err := wire.List(bytes.NewReader(encode(t, e.encoder, list)), e.format, wire.Options{}, func(item *wire.Item) error {
			checkItem(t, e.name, item, untyped(&list.Items[n]))
			n++
			return nil
		})
		if err != nil || n != len(list.Items) {
			t.Errorf("%s: %d items, %v", e.name, n, err)
		}
	}
}

// TestEventsLargerThanBuffer is TestItemsLargerThanBuffer for a watch, whose buffer shrinks again.
func TestEventsLargerThanBuffer(t *testing.T) {
	for _, format := range formats {
		var body []byte
		sizes := []int{1 << 20, 10, 20 << 10, 10, 300 << 10, 300 << 10, 5000, 0}
		for i, size := range sizes {
			object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, Data: map[string]string{"x": strings.Repeat("x", size)}}
			body = append(body, encodeEvent(t, format, "ADDED", typed(t, object))...)
		}
		n := 0
		err := wire.Watch(bytes.NewReader(body), format, wire.Options{}, func(event *wire.Event) error {
			var object corev1.ConfigMap
			if err := unmarshal(&event.Object, &object); err != nil || object.Name != fmt.Sprint(n) || len(object.Data["x"]) != sizes[n] {
				t.Errorf("%v: event %d is %s with %d bytes, %v", format, n, object.Name, len(object.Data["x"]), err)
			}
			n++
			return nil
		})
		if err != nil || n != len(sizes) {
			t.Errorf("%v: %d events, %v", format, n, err)
		}
	}
}

// untyped removes the apiVersion and kind from an object, as in a list.
func untyped(object *corev1.ConfigMap) runtime.Object {
	object.TypeMeta = metav1.TypeMeta{}
	return object
}

func TestMaximumDepthIsThatOfEncodingJSON(t *testing.T) {
	for _, depth := range []int{wire.MaxDepth - 3, wire.MaxDepth - 2} {
		body := `{"items":[{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}]}`
		_, err := wire.List(strings.NewReader(body), wire.JSON, wire.Options{}, ignore)
		if within := depth+3 <= wire.MaxDepth; within != (err == nil) {
			t.Errorf("depth %d: error %v", depth+3, err)
		}
	}
}
