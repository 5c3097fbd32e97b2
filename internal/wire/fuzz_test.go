// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

// The fuzz targets compare the package with apimachinery's decoders on the same bytes: both must
// accept the same bodies and return the same objects. The result must not depend on how the body
// arrives.

// result is everything that List or Watch returns and delivers for a body.
type result struct {
	header wire.ListHeader
	items  []resultItem
	err    error
}

type resultItem struct {
	eventType, apiVersion, kind, raw string
	meta                             wire.ObjectMeta
	metaErr                          bool
	layout                           layout.Object
	malformed                        bool
}

func newResultItem(item *wire.Item) resultItem {
	meta, at, err := item.Identify()
	return resultItem{"", item.APIVersion, item.Kind, string(item.Raw), meta, err != nil, at, item.Malformed != nil}
}

func splitList(body io.Reader, format wire.Format, buffer int) (r result) {
	r.header, r.err = wire.ListBuffered(body, format, wire.Options{}, buffer, func(item *wire.Item) error {
		r.items = append(r.items, newResultItem(item))
		return nil
	})
	return r
}

func splitWatch(body io.Reader, format wire.Format, buffer int) (r result) {
	r.err = wire.WatchBuffered(body, format, wire.Options{}, buffer, func(event *wire.Event) error {
		item := newResultItem(&event.Object)
		item.eventType = string(event.Type)
		r.items = append(r.items, item)
		return nil
	})
	return r
}

// bytesPerByte is what the tests may allocate for each byte of a body. An empty item, of two bytes,
// is recorded in 150.
const bytesPerByte = 300

// splitAllWays splits a body that arrives in different ways. It fails unless all results are equal
// and need memory in proportion to the body.
func splitAllWays(t *testing.T, body []byte, format wire.Format, run func(io.Reader, wire.Format, int) result) result {
	t.Helper()
	var whole result
	memory.ExpectProportional(t, len(body), bytesPerByte, func() { whole = run(bytes.NewReader(body), format, 1<<16) })
	for readerName, reader := range readers {
		for _, buffer := range []int{16, 100} {
			got := run(reader(bytes.NewReader(body)), format, buffer)
			if !reflect.DeepEqual(got.header, whole.header) || !reflect.DeepEqual(got.items, whole.items) {
				t.Fatalf("%s, buffer of %d: %+v, want %+v", readerName, buffer, got, whole)
			}
			if (got.err == nil) != (whole.err == nil) || got.err != nil && got.err.Error() != whole.err.Error() {
				t.Fatalf("%s, buffer of %d:\n%v, want\n%v", readerName, buffer, got.err, whole.err)
			}
		}
	}
	for _, item := range whole.items {
		if !item.malformed {
			checkLayout(t, item, format)
		}
	}
	checkError(t, whole.err, int64(len(body)))
	return whole
}

// checkError checks that an error has a position within the body.
func checkError(t *testing.T, err error, size int64) {
	t.Helper()
	var located *wire.Error
	if err != nil && (!errors.As(err, &located) || located.Offset < 0 || located.Offset > size) {
		t.Fatalf("error %#v for a body of %d bytes", err, size)
	}
}

func seedLists(f *testing.F, format wire.Format) {
	for _, e := range encoders {
		if e.format == format {
			f.Add(encode(f, e.encoder, smallList(f)))
		}
	}
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: 410, Reason: "Expired"}
	f.Add(encode(f, serializer(format), status))
}

func FuzzListProtobuf(f *testing.F) {
	seedLists(f, wire.Protobuf)
	f.Fuzz(func(t *testing.T, body []byte) {
		got := splitAllWays(t, body, wire.Protobuf, splitList)
		readable := true
		for _, item := range got.items {
			readable = readable && !item.metaErr
		}
		want, err := decodeList(body)
		switch {
		case got.err == nil && err != nil && readable:
			t.Fatalf("no error, the decoder returns %v", err)
		case got.err != nil && err == nil && !wrongContent(got.err):
			t.Fatalf("error %v, the decoder returns none", got.err)
		case got.err != nil || err != nil:
			return
		case len(got.items) != len(want.items) || !apiequality.Semantic.DeepEqual(got.header.Meta, want.header.Meta):
			t.Fatalf("%+v, want %+v", got, want)
		}
		for i, item := range got.items {
			if !item.metaErr && item.raw != want.items[i].raw {
				t.Fatalf("item %d is %q, want %q", i, item.raw, want.items[i].raw)
			}
		}
	})
}

// decodeList decodes an envelope with a list of messages.
func decodeList(body []byte) (want result, err error) {
	var unknown runtime.Unknown
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		return want, errors.New("no magic")
	}
	if err := unknown.Unmarshal(body[4:]); err != nil {
		return want, err
	}
	// For the decoder the last content counts. List has delivered the first by then.
	if contents := fieldsOf(body[4:], 2); len(contents) != 1 {
		return want, errors.New("not one content")
	}
	// A RawExtension accepts any message with bytes in field 1, such as an object.
	var list metav1.List
	if err := list.Unmarshal(unknown.Raw); err != nil {
		return want, err
	}
	want.header.Meta = list.ListMeta
	for _, raw := range fieldsOf(unknown.Raw, 2) {
		want.items = append(want.items, resultItem{raw: raw})
	}
	return want, nil
}

// fieldsOf returns all values of a bytes field in a valid message.
func fieldsOf(b []byte, number int32) (values []string) {
	for len(b) > 0 {
		tag, n := uvarint(b)
		b = b[n:]
		switch tag & 7 {
		case 0:
			_, n = uvarint(b)
		case 1:
			n = 8
		case 5:
			n = 4
		case 2:
			length, m := uvarint(b)
			n = m + int(length)
			if int32(tag>>3) == number {
				values = append(values, string(b[m:n]))
			}
		case 3:
			n = groupLength(b)
		}
		b = b[n:]
	}
	return values
}

// groupLength returns the length of a group after its start tag.
func groupLength(b []byte) (n int) {
	for depth := 1; depth > 0; {
		tag, m := uvarint(b[n:])
		n += m
		switch tag & 7 {
		case 0:
			_, m = uvarint(b[n:])
		case 1:
			m = 8
		case 5:
			m = 4
		case 2:
			length, k := uvarint(b[n:])
			m = k + int(length)
		case 3:
			m, depth = 0, depth+1
		case 4:
			m, depth = 0, depth-1
		}
		n += m
	}
	return n
}

// uvarint is binary.Uvarint, but drops the bits of a varint that overflow.
func uvarint(b []byte) (v uint64, n int) {
	for b[n] >= 0x80 {
		v |= uint64(b[n]&0x7f) << (7 * n)
		n++
	}
	return v | uint64(b[n])<<(7*n), n + 1
}

// wrongContent reports whether a well-formed body was rejected for its content.
func wrongContent(err error) bool {
	var status *apierrors.StatusError
	return errors.Is(err, wire.ErrWrongKind) || errors.As(err, &status)
}

func FuzzListJSON(f *testing.F) {
	seedLists(f, wire.JSON)
	f.Add([]byte(`{"items":[{"metadata":{"name":"\u00e4","labels":{"a":"b"}}},{}],"kind":"L","metadata":{"continue":"x"},"x":[1.5e-3,true,null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := splitAllWays(t, body, wire.JSON, splitList)
		want, err := decodeJSONList(body)
		switch {
		case got.err == nil && err != nil:
			t.Fatalf("no error, the decoder returns %v", err)
		case got.err != nil && err == nil && !wrongContent(got.err):
			t.Fatalf("error %v, the decoder returns none", got.err)
		case got.err != nil || err != nil:
			return
		case got.header.Kind != want.Kind || got.header.APIVersion != want.APIVersion || !reflect.DeepEqual(got.header.Meta, want.Metadata):
			t.Fatalf("header %+v, want %+v", got.header, want)
		case len(got.items) != len(want.Items):
			t.Fatalf("%d items, want %d", len(got.items), len(want.Items))
		}
		for i, item := range got.items {
			if isObject := want.Items[i][0] == '{'; isObject && item.raw != string(want.Items[i]) || !isObject && !item.malformed {
				t.Fatalf("item %d is %q, want %q", i, item.raw, want.Items[i])
			}
		}
	})
}

// jsonList is a list in JSON with undecoded items.
type jsonList struct {
	Kind       string               `json:"kind"`
	APIVersion string               `json:"apiVersion"`
	Metadata   metav1.ListMeta      `json:"metadata"`
	Items      []stdjson.RawMessage `json:"items"`
}

// decodeJSONList decodes a list in JSON as apimachinery does.
func decodeJSONList(body []byte) (list jsonList, err error) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return list, errors.New("not an object")
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return list, err
	}
	// For the decoder the last "items" counts. List has delivered the first by then.
	decoder := stdjson.NewDecoder(bytes.NewReader(body))
	var token stdjson.Token
	_, err = decoder.Token()
	for items := 0; err == nil && decoder.More(); {
		if token, err = decoder.Token(); token == "items" {
			items++
		}
		if items > 1 {
			return list, errors.New("duplicate items")
		}
		var value stdjson.RawMessage
		err = errors.Join(err, decoder.Decode(&value))
	}
	return list, err
}

func seedWatches(f *testing.F, format wire.Format) {
	list := smallList(f)
	for i := range list.Items {
		frame := encodeEvent(f, format, "ADDED", typed(f, &list.Items[i]))
		f.Add(frame)
		f.Add(append(frame, frame...))
	}
	f.Add(encode(f, serializer(format), list))
}

func FuzzWatchProtobuf(f *testing.F) {
	seedWatches(f, wire.Protobuf)
	f.Fuzz(func(t *testing.T, body []byte) {
		got := splitAllWays(t, body, wire.Protobuf, splitWatch)
		rest := body
		for i, item := range got.items {
			n := binary.BigEndian.Uint32(rest)
			want, err := decodeEvent(rest[4 : 4+n])
			rest = rest[4+n:]
			item.meta, item.metaErr, item.layout = wire.ObjectMeta{}, false, layout.Object{}
			if item.malformed != (err != nil) || !item.malformed && item != want {
				t.Fatalf("event %d: %+v, want %+v, %v", i, item, want, err)
			}
		}
		if got.err == nil && len(rest) > 0 {
			t.Fatalf("no error, but %q was not read", rest)
		}
		if got.err != nil && len(rest) >= 4 && int64(len(rest)-4) >= int64(binary.BigEndian.Uint32(rest)) {
			if want, err := decodeEvent(rest[4 : 4+binary.BigEndian.Uint32(rest)]); err == nil {
				t.Fatalf("error %v, want event %+v", got.err, want)
			}
		}
	})
}

// decodeEvent decodes a frame as apimachinery does.
func decodeEvent(frame []byte) (want resultItem, err error) {
	var event metav1.WatchEvent
	if err := event.Unmarshal(frame); err != nil {
		return want, err
	}
	switch want.eventType = event.Type; event.Type {
	case "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR":
	default:
		return want, errors.New("unknown type")
	}
	if !bytes.HasPrefix(event.Object.Raw, []byte("k8s\x00")) {
		return want, errors.New("no magic")
	}
	var unknown runtime.Unknown
	if err := unknown.Unmarshal(event.Object.Raw[4:]); err != nil {
		return want, err
	}
	if len(unknown.Raw) == 0 {
		return want, errors.New("no content")
	}
	want.apiVersion, want.kind, want.raw = unknown.APIVersion, unknown.Kind, string(unknown.Raw)
	return want, nil
}

func FuzzWatchJSON(f *testing.F) {
	seedWatches(f, wire.JSON)
	f.Add([]byte(`{"object":{"kind":"Pod","metadata":{"name":"n"}},"type":"DELETED"} {"type":"BOOKMARK","object":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := splitAllWays(t, body, wire.JSON, splitWatch)
		decoder := stdjson.NewDecoder(bytes.NewReader(body))
		for i := 0; ; i++ {
			var raw stdjson.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				if (err == io.EOF) != (got.err == nil) || i < len(got.items) {
					t.Fatalf("%d events, %v; the decoder returns %d, %v", len(got.items), got.err, i, err)
				}
				return
			}
			var event metav1.WatchEvent
			err := json.Unmarshal(raw, &event)
			if i < len(got.items) {
				if item := got.items[i]; !item.malformed && (err != nil || item.eventType != event.Type || item.raw != string(event.Object.Raw)) {
					t.Fatalf("event %d: %+v, want %+v, %v", i, got.items[i], event, err)
				}
				continue
			}
			if got.err == nil {
				t.Fatalf("%d events and no error, but the next one is %s", len(got.items), raw)
			}
			if err == nil && strings.Contains(" ADDED MODIFIED DELETED BOOKMARK ERROR ", " "+event.Type+" ") && bytes.HasPrefix(event.Object.Raw, []byte("{")) {
				t.Fatalf("error %v, want event %+v", got.err, event)
			}
			return
		}
	})
}

func FuzzMetaProtobuf(f *testing.F) {
	list := smallList(f)
	for i := range list.Items {
		f.Add(rawOf(f, wire.Protobuf, &list.Items[i]))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, err := wire.Parse(raw, wire.Protobuf)
		if err != nil {
			t.Fatal(err)
		}
		var want metav1.PartialObjectMetadata
		if err := want.Unmarshal(raw); err != nil {
			return
		}
		got, err := item.Meta()
		if err != nil || got != identityOf(&want) {
			t.Fatalf("%+v, %v; want %+v", got, err, identityOf(&want))
		}
		memory.ExpectProportional(t, len(raw), bytesPerByte, func() { _, _, _ = labelsOf(&item) })
		// In map entries, and only there, generated code ignores wire types and accepts field 0.
		labels, known, err := labelsOf(&item)
		if err == nil && known && !apiequality.Semantic.DeepEqual(labels, want.Labels) {
			t.Fatalf("labels %q, want %q", labels, want.Labels)
		}
	})
}

func FuzzMetaJSON(f *testing.F) {
	list := smallList(f)
	for i := range list.Items {
		f.Add(rawOf(f, wire.JSON, &list.Items[i]))
	}
	f.Add([]byte(`{"metadata":{"name":"\ud83d\ude00","labels":{"a":"b"},"labels":{"c":null}},"m\u0065tadata":{"n\u0061me":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var item wire.Item
		var err error
		memory.ExpectProportional(t, len(raw), bytesPerByte, func() {
			if item, err = wire.Parse(raw, wire.JSON); err == nil {
				_, _, _ = labelsOf(&item)
			}
		})
		valid := stdjson.Valid(raw) && raw[0] == '{' && raw[len(raw)-1] == '}'
		if valid != (err == nil) {
			t.Fatalf("error %v, valid JSON: %v", err, valid)
		}
		if !valid {
			checkError(t, err, int64(len(raw)))
			return
		}
		var want struct {
			metav1.TypeMeta `json:",inline"`
			Metadata        struct {
				Name            string            `json:"name"`
				Namespace       string            `json:"namespace"`
				UID             string            `json:"uid"`
				ResourceVersion string            `json:"resourceVersion"`
				Labels          map[string]string `json:"labels"`
				Annotations     map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		wantErr := json.Unmarshal(raw, &want)
		got, err := item.Meta()
		labels, known, labelsErr := labelsOf(&item)
		if wantErr != nil {
			return // the error may be in a field that Meta does not read
		}
		if err != nil || labelsErr != nil {
			t.Fatalf("Meta: %v, Labels: %v; the decoder returns no error", err, labelsErr)
		}
		object := metav1.ObjectMeta{Name: want.Metadata.Name, Namespace: want.Metadata.Namespace, ResourceVersion: want.Metadata.ResourceVersion}
		identity := identityOf(&object)
		identity.UID = want.Metadata.UID
		if got != identity || known && !reflect.DeepEqual(labels, want.Metadata.Labels) {
			t.Fatalf("%+v, %v; want %+v", got, labels, want)
		}
		if item.Kind != want.Kind || item.APIVersion != want.APIVersion {
			t.Fatalf("%s %s, want %s %s", item.APIVersion, item.Kind, want.APIVersion, want.Kind)
		}
	})
}

// TestScannerAcceptsWhatEncodingJSONAccepts replaces, inserts and deletes each byte of a document
// that covers JSON's grammar.
func TestScannerAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	document := []byte(`{"a":[1,-0,0.5,1e9,2E-7,-3.25e+10,{},[],"",null],"b":{"x":true,"y":false},"\u00e9\"\\\/\b\f\n\r\t":" ` + "\x7f\xff" + ` "}`)
	replacements := []byte("{}[]:,\"\\ \n\x00\x1f0159-+.eEtfnulrsa/\x80")
	for i := range document {
		for _, c := range replacements {
			replaced := bytes.Clone(document)
			replaced[i] = c
			checkValid(t, replaced)
			checkValid(t, append(append(bytes.Clone(document[:i]), c), document[i:]...))
		}
		checkValid(t, append(bytes.Clone(document[:i]), document[i+1:]...))
		checkValid(t, document[:i])
	}
}

// checkValid compares an object on its own and at a depth that the scanner does not watch.
func checkValid(t *testing.T, object []byte) {
	t.Helper()
	checkValidObject(t, object)
	checkValidObject(t, []byte(`{"x":{"y":[`+string(object)+`]}}`))
}

func checkValidObject(t *testing.T, object []byte) {
	t.Helper()
	_, err := wire.Parse(object, wire.JSON)
	valid := stdjson.Valid(object) && object[0] == '{' && object[len(object)-1] == '}'
	if valid != (err == nil) {
		t.Fatalf("%q: error %v, valid JSON: %v", object, err, valid)
	}
	list := `{"items":[` + string(object) + `]}`
	n := 0
	_, err = wire.ListBuffered(iotest.OneByteReader(strings.NewReader(list)), wire.JSON, wire.Options{}, 16, func(item *wire.Item) error {
		n++
		return nil
	})
	if valid && (err != nil || n != 1) {
		t.Fatalf("%q: %d items, %v", list, n, err)
	}
}
