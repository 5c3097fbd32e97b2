// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

// envelope returns a protobuf body that contains a message.
func envelope(t testing.TB, apiVersion, kind string, raw []byte) []byte {
	t.Helper()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}
	b, err := unknown.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), b...)
}

// bytesField returns a bytes field of a protobuf message.
func bytesField(number byte, value string) string {
	if number > 15 || len(value) > 127 {
		panic("number or value too large")
	}
	return string(number<<3|2) + string(byte(len(value))) + value
}

func TestListErrors(t *testing.T) {
	pods := wire.Options{APIVersion: "v1", Kind: "Pod"}
	proto := func(kind, raw string) string { return string(envelope(t, "v1", kind, []byte(raw))) }
	nodes := typed(t, &corev1.NodeList{Items: make([]corev1.Node, 1)})
	for _, tt := range []struct {
		name, body string
		format     wire.Format
		options    wire.Options
		want       string // the error, or the end of it
		is         error
	}{
		{"empty", "", wire.JSON, pods, "wire: JSON list, byte 0: empty body: unexpected EOF", io.ErrUnexpectedEOF},
		{"empty", "", wire.Protobuf, pods, "wire: protobuf list, byte 0: empty body: unexpected EOF", io.ErrUnexpectedEOF},
		{"white space", " \n", wire.JSON, pods, "wire: JSON list, byte 2: empty body: unexpected EOF", io.ErrUnexpectedEOF},
		{"HTML", "<html><body><h1>It works</h1></body></html>", wire.JSON, pods, `wire: JSON list, byte 0: begins with '<', want an object`, nil},
		{"HTML", "<html>", wire.Protobuf, pods, `wire: protobuf list, byte 0: begins with '<', want "k8s\x00"`, nil},
		{"truncated magic", "k8", wire.Protobuf, pods, "wire: protobuf list, byte 2: unexpected EOF", io.ErrUnexpectedEOF},
		{"array", "[]", wire.JSON, pods, `wire: JSON list, byte 0: begins with '[', want an object`, nil},
		{"trailing", `{"items":[]}x`, wire.JSON, pods, "wire: JSON list, byte 12: unexpected 'x', want the end of the body", nil},
		{"Table", `{"kind":"Table","rows":[{}]}`, wire.JSON, pods, `wire: JSON list, byte 15: wrong kind "Table", want a list`, wire.ErrWrongKind},
		{"no items", `{"kind":"PodList","apiVersion":"v1"}`, wire.JSON, pods, `wire: JSON list, byte 36: wrong kind "PodList": no items`, wire.ErrWrongKind},
		{"duplicate items", `{"items":[],"items":[]}`, wire.JSON, pods, "wire: JSON list, byte 20, items: duplicate member", nil},
		{"items not an array", `{"items":{}}`, wire.JSON, pods, "wire: JSON list, byte 9, items: unexpected '{', want an array", nil},
		{"broken item", `{"items":[{"a":tru}]}`, wire.JSON, pods, "wire: JSON list, item 0, byte 18: unexpected '}', want true", nil},
		{"broken metadata", `{"metadata":{"resourceVersion":5},"items":[]}`, wire.JSON, pods, "wire: JSON list, byte 33, metadata: json: cannot unmarshal number into Go struct field ListMeta.resourceVersion of type string", nil},
		{"kind not a string", `{"kind":5,"items":[]}`, wire.JSON, pods, "wire: JSON list, byte 9, kind: json: cannot unmarshal number into Go value of type string", nil},
		{"other items", `{"kind":"List","items":[{"kind":"Node"},null,{"kind":"Secret"}]}`, wire.JSON, pods, `wire: JSON list, item 0, byte 39: wrong kind "Node", want "Pod"`, wire.ErrWrongKind},
		{"items of another version", `{"items":[{"kind":"Pod","apiVersion":"v2"}]}`, wire.JSON, pods, `wire: JSON list, item 0, byte 42: wrong kind: apiVersion "v2" of "Pod", want "v1"`, wire.ErrWrongKind},
		{"other list", string(encode(t, jsonSerializer, nodes)), wire.JSON, pods, `wrong kind "Node", want "Pod"`, wire.ErrWrongKind},
		{"other list", string(encode(t, protobufSerializer, nodes)), wire.Protobuf, pods, `wrong kind "NodeList", want "PodList"`, wire.ErrWrongKind},
		{"other list, kind last", `{"items":[{}],"kind":"NodeList"}`, wire.JSON, pods, `wire: JSON list, byte 32: wrong kind "Node", want "Pod"`, wire.ErrWrongKind},
		{"other list, kind last", "k8s\x00" + bytesField(2, bytesField(2, "x")) + bytesField(1, bytesField(2, "NodeList")), wire.Protobuf, pods, `wrong kind "NodeList", want "PodList"`, wire.ErrWrongKind},
		{"an object", proto("Pod", bytesField(1, "")), wire.Protobuf, wire.Options{}, `wire: protobuf list, byte 16: wrong kind "Pod", want a list`, wire.ErrWrongKind},
		{"empty envelope", "k8s\x00" + bytesField(1, bytesField(2, "PodList")), wire.Protobuf, pods, "wire: protobuf list, byte 15: envelope without content: unexpected EOF", io.ErrUnexpectedEOF},
		{"duplicate content", "k8s\x00" + bytesField(1, bytesField(2, "PodList")) + bytesField(2, "") + bytesField(2, ""), wire.Protobuf, wire.Options{}, "wire: protobuf list, byte 18: duplicate content in envelope", nil},
		{"item longer than list", proto("PodList", "\x0a\x00\x12\x05abc"), wire.Protobuf, wire.Options{}, "wire: protobuf list, item 0, byte 25: length 5: exceeds the enclosing message", nil},
		{"wrong wire type", proto("PodList", "\x0a\x00\x10\x05"), wire.Protobuf, wire.Options{}, "wire: protobuf list, item 0, byte 24: wrong wire type 0", nil},
		{"wrong ListMeta", proto("PodList", bytesField(1, "\x12\x05x")), wire.Protobuf, wire.Options{}, "wire: protobuf list, byte 26, metadata: exceeds the enclosing message", nil},
		{"varint across the list's end", "k8s\x00" + bytesField(1, bytesField(2, "PodList")) + bytesField(2, "\x0a\x00\x78\x80") + "\x00\x1a\x00", wire.Protobuf, wire.Options{}, "wire: protobuf list, byte 20: exceeds the enclosing message", nil},
		{"unknown field across the list's end", "k8s\x00" + bytesField(1, bytesField(2, "PodList")) + bytesField(2, "\x0a\x00\x7a\x05") + "\x1a\x03abc", wire.Protobuf, wire.Options{}, "wire: protobuf list, byte 21: exceeds the enclosing message", nil},
		{"untyped list", proto("List", "\x0a\x00"), wire.Protobuf, wire.Options{}, `wrong kind "List", want a list`, wire.ErrWrongKind},
		{"field 0", proto("PodList", "\x02\x00"), wire.Protobuf, wire.Options{}, "wire: protobuf list, byte 22: invalid field number 0", nil},
		{"format", "", wire.UnknownFormat, pods, "wire: list, byte 0: cannot read unknown format", nil},
	} {
		t.Run(tt.format.String()+" "+tt.name, func(t *testing.T) {
			for readerName, reader := range readers {
				_, err := wire.ListBuffered(reader(strings.NewReader(tt.body)), tt.format, tt.options, 256, ignore)
				if err == nil || !strings.HasSuffix(err.Error(), tt.want) || errors.Is(err, io.ErrUnexpectedEOF) != (tt.is == io.ErrUnexpectedEOF) {
					t.Fatalf("%s:\n%v, want\n%v", readerName, err, tt.want)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					t.Errorf("errors.Is(%v, %v) = false", err, tt.is)
				}
			}
		})
	}
}

// TestMalformedItemDoesNotEndList splits lists with an item that is no object of the list's kind,
// or whose identity cannot be read. The item fails alone, with what is known of it.
func TestMalformedItemDoesNotEndList(t *testing.T) {
	pods := wire.Options{APIVersion: "v1", Kind: "Pod"}
	proto := func(item string) string {
		return string(envelope(t, "v1", "PodList", []byte(bytesField(1, "")+bytesField(2, item)+bytesField(2, bytesField(1, bytesField(1, "good"))))))
	}
	json := func(item string) string {
		return `{"kind":"PodList","apiVersion":"v1","items":[` + item + `,{"metadata":{"name":"good"}}]}`
	}
	identity := bytesField(1, "a") + bytesField(3, "ns") + bytesField(5, "u") + bytesField(6, "7")
	whole := wire.ObjectMeta{Key: "ns/a", Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "7"}
	for _, tt := range []struct {
		name, body string
		format     wire.Format
		want       string // the end of the error
		meta       wire.ObjectMeta
	}{
		{"null", json(`null`), wire.JSON, "unexpected 'n', want an object", wire.ObjectMeta{}},
		{"number", json(`-5.5e3`), wire.JSON, "unexpected '-', want an object", wire.ObjectMeta{}},
		{"string", json(`"{\"metadata\":{}}"`), wire.JSON, `unexpected '"', want an object`, wire.ObjectMeta{}},
		{"boolean", json(`true`), wire.JSON, "unexpected 't', want an object", wire.ObjectMeta{}},
		{"array", json(`[{"metadata":{"name":"a"}},[]]`), wire.JSON, "unexpected '[', want an object", wire.ObjectMeta{}},
		{"other kind", json(`{"kind":"Node","metadata":{"name":"a"}}`), wire.JSON, `wrong kind "Node", want "Pod"`, wire.ObjectMeta{}},
		{"other version", json(`{"kind":"Pod","apiVersion":"v2"}`), wire.JSON, `wrong kind: apiVersion "v2" of "Pod", want "v1"`, wire.ObjectMeta{}},
		{"metadata a string", json(`{"metadata":"x"}`), wire.JSON, "metadata: not an object", wire.ObjectMeta{}},
		{"metadata an array", json(`{"metadata":[{"name":"a"}]}`), wire.JSON, "metadata: not an object", wire.ObjectMeta{}},
		{"name a number", json(`{"metadata":{"namespace":"ns","name":5,"uid":"u","resourceVersion":"7"}}`), wire.JSON, "metadata.name: not a string", wire.ObjectMeta{UID: "u", ResourceVersion: "7"}},
		{"name twice", json(`{"metadata":{"name":"a","name":{}}}`), wire.JSON, "metadata.name: not a string", wire.ObjectMeta{}},
		{"namespace an object", json(`{"metadata":{"namespace":{},"name":"a","uid":"u","resourceVersion":"7"}}`), wire.JSON, "metadata.namespace: not a string", wire.ObjectMeta{UID: "u", ResourceVersion: "7"}},
		{"uid a number", json(`{"metadata":{"namespace":"ns","name":"a","uid":5,"resourceVersion":"7"}}`), wire.JSON, "metadata.uid: not a string", wire.ObjectMeta{Key: "ns/a", Namespace: "ns", Name: "a", ResourceVersion: "7"}},
		{"resourceVersion a number", json(`{"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":7}}`), wire.JSON, "metadata.resourceVersion: not a string", wire.ObjectMeta{Key: "ns/a", Namespace: "ns", Name: "a", UID: "u"}},
		{"kind a number", json(`{"kind":5,"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"7"}}`), wire.JSON, "kind: not a string", whole},
		{"apiVersion a boolean", json(`{"apiVersion":false,"metadata":{"namespace":"ns","name":"a","uid":"u","resourceVersion":"7"}}`), wire.JSON, "apiVersion: not a string", whole},
		{"metadata a number", proto("\x08\x05"), wire.Protobuf, "metadata: wrong wire type 0", wire.ObjectMeta{}},
		{"name a number", proto(bytesField(1, "\x08\x05"+identity)), wire.Protobuf, "metadata.name: wrong wire type 0", wire.ObjectMeta{}},
		{"truncated uid", proto(bytesField(1, bytesField(1, "a")+"\x2a\x05x")), wire.Protobuf, "metadata.uid: exceeds the enclosing message", wire.ObjectMeta{}},
		{"no message", proto("\x17"), wire.Protobuf, "wrong wire type 7", wire.ObjectMeta{}},
		{"broken after metadata", proto(bytesField(1, identity) + "\x12\x7f"), wire.Protobuf, "exceeds the enclosing message", whole},
	} {
		t.Run(tt.format.String()+" "+tt.name, func(t *testing.T) {
			for readerName, reader := range readers {
				var metas []wire.ObjectMeta
				var errs []error
				header, err := wire.ListBuffered(reader(strings.NewReader(tt.body)), tt.format, pods, 256, func(item *wire.Item) error {
					meta, err := item.Meta()
					metas, errs = append(metas, meta), append(errs, err)
					return nil
				})
				if err != nil || header.Kind != "PodList" || len(metas) != 2 || metas[1].Key != "good" || errs[1] != nil {
					t.Fatalf("%s: %+v, %+v, %v, %v", readerName, header, metas, errs, err)
				}
				if metas[0] != tt.meta || errs[0] == nil || !strings.HasSuffix(errs[0].Error(), tt.want) || !strings.Contains(errs[0].Error(), "item 0") {
					t.Errorf("%s: %+v, %v, want\n%+v, %s", readerName, metas[0], errs[0], tt.meta, tt.want)
				}
			}
		})
	}
}

func TestStatusInPlaceOfListOrWatchIsTheError(t *testing.T) {
	status := typed(t, &metav1.Status{Status: "Failure", Message: "too old", Reason: metav1.StatusReasonExpired, Code: 410, Details: &metav1.StatusDetails{RetryAfterSeconds: 3}})
	status.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("Status"))
	status.APIVersion = "v1"
	late := `{"reason":"Expired","code":410,"details":{"retryAfterSeconds":3},"status":"Failure","kind":"Status"}`
	for name, body := range map[string][]byte{
		"protobuf":        encode(t, protobufSerializer, status),
		"JSON":            encode(t, jsonSerializer, status),
		"JSON, kind last": []byte(late),
		"JSON with items": []byte(`{"kind":"Status","items":[{"kind":"Pod"}],` + late[1:]),
	} {
		format := wire.JSON
		if name == "protobuf" {
			format = wire.Protobuf
		}
		_, listErr := wire.List(iotest.OneByteReader(bytes.NewReader(body)), format, wire.Options{Kind: "Pod"}, func(*wire.Item) error {
			t.Error("List delivered an item of a Status")
			return nil
		})
		watchErr := wire.Watch(iotest.OneByteReader(bytes.NewReader(body)), format, wire.Options{Kind: "Pod"}, func(*wire.Event) error {
			t.Error("Watch delivered an event of a Status")
			return nil
		})
		for call, err := range map[string]error{"list": listErr, "watch": watchErr} {
			if !apierrors.IsResourceExpired(err) {
				t.Errorf("%s, %s: error %v, want the server's Status", name, call, err)
			}
			if after, ok := apierrors.SuggestsClientDelay(err); !ok || after != 3 {
				t.Errorf("%s, %s: retry after %d s, %v; want 3 s", name, call, after, ok)
			}
		}
	}
}

func TestOversizedObjectEndsBody(t *testing.T) {
	// One size exceeds the initial buffer, one does not.
	for _, size := range []int{100 << 10, 3 << 10} {
		testTooLarge(t, size)
	}
}

func testTooLarge(t *testing.T, data int) {
	t.Helper()
	large := typed(t, &corev1.ConfigMapList{Items: []corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Name: "small"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: map[string]string{"x": strings.Repeat("x", data)}},
	}})
	for _, format := range formats {
		body := encode(t, serializer(format), large)
		frames := encodeWatch(t, format, "ADDED", large)
		size := len(rawOf(t, format, &large.Items[1]))
		for _, limit := range []int{1 << 10, data, size - 1} {
			items := 0
			_, err := wire.List(bytes.NewReader(body), format, wire.Options{MaxItemSize: limit}, func(*wire.Item) error {
				items++
				return nil
			})
			checkTooLarge(t, err, items)
			events := 0
			err = wire.Watch(bytes.NewReader(frames), format, wire.Options{MaxItemSize: limit}, func(*wire.Event) error {
				events++
				return nil
			})
			checkTooLarge(t, err, events)
		}
		if _, err := wire.List(bytes.NewReader(body), format, wire.Options{MaxItemSize: size + 64}, ignore); err != nil {
			t.Errorf("%v: object within the limit: %v", format, err)
		}
	}
}

func checkTooLarge(t *testing.T, err error, before int) {
	t.Helper()
	var located *wire.Error
	if !errors.As(err, &located) || !errors.Is(err, wire.ErrTooLarge) || located.Item != 1 || before != 1 {
		t.Errorf("error %v after %d objects, want ErrTooLarge in object 1", err, before)
	}
}

// TestUnknownFieldsAreNotHeld checks that unknown fields of a list may exceed MaxItemSize.
func TestUnknownFieldsAreNotHeld(t *testing.T) {
	large := append(binary.AppendUvarint([]byte{0x7a}, 1<<20), make([]byte, 1<<20)...)
	group := "\xa3\x01" + strings.Repeat("\x7a\x04abcd", 100_000) + "\xa4\x01"
	numbers := "\xa3\x01" + strings.Repeat("\x78\x01", 100_000) + "\xa4\x01"
	for _, unknown := range []string{string(large), group, numbers} {
		body := envelope(t, "v1", "KList", []byte("\x0a\x00"+unknown+bytesField(2, "")))
		n := 0
		_, err := wire.List(bytes.NewReader(append(body, unknown...)), wire.Protobuf, wire.Options{MaxItemSize: 1 << 10}, func(*wire.Item) error {
			n++
			return nil
		})
		if err != nil || n != 1 {
			t.Errorf("%d items, %v", n, err)
		}
	}
	members := strings.Repeat(`"x":"`+strings.Repeat("x", 1000)+`",`, 100)
	_, err := wire.List(strings.NewReader(`{"kind":"KList",`+members+`"items":[]}`), wire.JSON, wire.Options{MaxHeaderSize: 2 << 10}, ignore)
	if err != nil {
		t.Error(err)
	}
	// Members before the kind are held, because the body may be a Status.
	_, err = wire.List(strings.NewReader(`{`+members+`"kind":"KList","items":[]}`), wire.JSON, wire.Options{MaxHeaderSize: 2 << 10}, ignore)
	if !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestCallbackErrorIsReturnedUnchanged(t *testing.T) {
	stop := errors.New("stop")
	for _, format := range formats {
		list := smallList(t)
		calls := 0
		header, err := wire.List(bytes.NewReader(encode(t, serializer(format), list)), format, wire.Options{}, func(*wire.Item) error {
			calls++
			return stop
		})
		if err != stop || calls != 1 || header.Kind != "ConfigMapList" {
			t.Errorf("%v: List: error %v after %d calls, header %+v", format, err, calls, header)
		}
		frame := encodeEvent(t, format, "ADDED", typed(t, &list.Items[0]))
		err = wire.Watch(bytes.NewReader(append(frame, frame...)), format, wire.Options{}, func(*wire.Event) error {
			calls++
			return stop
		})
		if err != stop || calls != 2 {
			t.Errorf("%v: Watch: error %v after %d calls", format, err, calls)
		}
	}
}

// stuckReader always returns 0, nil.
type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestStuckReaderIsAnError(t *testing.T) {
	for _, format := range formats {
		if _, err := wire.List(stuckReader{}, format, wire.Options{}, ignore); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("%v: error %v, want io.ErrNoProgress", format, err)
		}
	}
}

// TestLengthPrefixDoesNotAllocate checks that memory grows with the received bytes, not with a
// length prefix.
func TestLengthPrefixDoesNotAllocate(t *testing.T) {
	list := "k8s\x00" + bytesField(1, bytesField(2, "PodList")) + "\x12\xff\xff\xff\x1f" + "\x12\xff\xff\xff\x07"
	frame := "\x00\xff\xff\xff"
	const rounds = 20
	allocated := memory.Allocated(func() {
		for range rounds {
			if _, err := wire.List(strings.NewReader(list), wire.Protobuf, wire.Options{}, ignore); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			if err := wire.Watch(strings.NewReader(frame), wire.Protobuf, wire.Options{}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
		}
	}) / rounds
	if allocated > 128<<10 {
		t.Errorf("%d bytes allocated for two short bodies", allocated)
	}
}
