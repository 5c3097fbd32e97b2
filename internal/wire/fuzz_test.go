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

	"github.com/kinformer/kinformer/internal/wire"
)

// The fuzz targets compare what is cut with what apimachinery's decoders make
// of the same bytes: what they take has to be taken and be the same, what they
// refuse has to be refused. And whatever it is, it has to be the same however
// the body arrives.

// cut is what comes out of a body.
type cut struct {
	header wire.ListHeader
	items  []cutItem
	err    error
}

type cutItem struct {
	eventType, apiVersion, kind, raw string
	meta                             wire.ObjectMeta
	metaErr                          bool
}

func cutItemOf(item *wire.Item) cutItem {
	meta, err := item.Meta()
	return cutItem{"", item.APIVersion, item.Kind, string(item.Raw), meta, err != nil}
}

func cutList(body io.Reader, format wire.Format, buffer int) (c cut) {
	c.header, c.err = wire.ListBuffered(body, format, wire.Options{}, buffer, func(item *wire.Item) error {
		c.items = append(c.items, cutItemOf(item))
		return nil
	})
	return c
}

func cutWatch(body io.Reader, format wire.Format, buffer int) (c cut) {
	c.err = wire.WatchBuffered(body, format, wire.Options{}, buffer, func(event *wire.Event) error {
		item := cutItemOf(&event.Object)
		item.eventType = string(event.Type)
		c.items = append(c.items, item)
		return nil
	})
	return c
}

// cutEveryWay cuts a body as it arrives in different pieces, and returns what
// comes out of it in all cases.
func cutEveryWay(t *testing.T, body []byte, format wire.Format, run func(io.Reader, wire.Format, int) cut) cut {
	t.Helper()
	whole := run(bytes.NewReader(body), format, 1<<16)
	for how, reader := range readers {
		for _, buffer := range []int{16, 100} {
			got := run(reader(bytes.NewReader(body)), format, buffer)
			if !reflect.DeepEqual(got.header, whole.header) || !reflect.DeepEqual(got.items, whole.items) {
				t.Fatalf("%s, buffer of %d: %+v, whole %+v", how, buffer, got, whole)
			}
			if (got.err == nil) != (whole.err == nil) || got.err != nil && got.err.Error() != whole.err.Error() {
				t.Fatalf("%s, buffer of %d:\n%v, whole\n%v", how, buffer, got.err, whole.err)
			}
		}
	}
	checkError(t, whole.err, int64(len(body)))
	return whole
}

// checkError holds that an error says where, within the body.
func checkError(t *testing.T, err error, size int64) {
	t.Helper()
	var located *wire.Error
	if err != nil && (!errors.As(err, &located) || located.Offset < 0 || located.Offset > size) {
		t.Fatalf("%#v of a body of %d bytes", err, size)
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
		got := cutEveryWay(t, body, wire.Protobuf, cutList)
		read := true
		for _, item := range got.items {
			read = read && !item.metaErr
		}
		want, err := decodeList(body)
		switch {
		case got.err == nil && err != nil && read:
			t.Fatalf("cut what cannot be decoded: %v", err)
		case got.err != nil && err == nil && !refused(got.err):
			t.Fatalf("refused what can be decoded: %v", got.err)
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
func decodeList(body []byte) (want cut, err error) {
	var unknown runtime.Unknown
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		return want, errors.New("no magic")
	}
	if err := unknown.Unmarshal(body[4:]); err != nil {
		return want, err
	}
	// A second content would take the place of the first, which is cut by then.
	if contents := fieldsOf(body[4:], 2); len(contents) != 1 {
		return want, errors.New("not one content")
	}
	// A RawExtension takes any message with bytes in field 1, as objects have.
	var list metav1.List
	if err := list.Unmarshal(unknown.Raw); err != nil {
		return want, err
	}
	want.header.Meta = list.ListMeta
	for _, raw := range fieldsOf(unknown.Raw, 2) {
		want.items = append(want.items, cutItem{raw: raw})
	}
	return want, nil
}

// fieldsOf returns a field of a message that is known to be well formed, as
// often as it is there.
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

// groupLength returns the length of a group, behind its first tag.
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

// uvarint is binary.Uvarint for varints that lose their highest bits.
func uvarint(b []byte) (v uint64, n int) {
	for b[n] >= 0x80 {
		v |= uint64(b[n]&0x7f) << (7 * n)
		n++
	}
	return v | uint64(b[n])<<(7*n), n + 1
}

// refused tells whether a body was refused for another reason than its form.
func refused(err error) bool {
	var status *apierrors.StatusError
	return errors.Is(err, wire.ErrWrongKind) || errors.As(err, &status)
}

func FuzzListJSON(f *testing.F) {
	seedLists(f, wire.JSON)
	f.Add([]byte(`{"items":[{"metadata":{"name":"\u00e4","labels":{"a":"b"}}},{}],"kind":"L","metadata":{"continue":"x"},"x":[1.5e-3,true,null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got := cutEveryWay(t, body, wire.JSON, cutList)
		want, err := decodeJSONList(body)
		switch {
		case got.err == nil && err != nil:
			t.Fatalf("cut what cannot be decoded: %v", err)
		case got.err != nil && err == nil && !refused(got.err) && allObjects(want.Items):
			t.Fatalf("refused what can be decoded: %v", got.err)
		case got.err != nil || err != nil:
			return
		case got.header.Kind != want.Kind || got.header.APIVersion != want.APIVersion || !reflect.DeepEqual(got.header.Meta, want.Metadata):
			t.Fatalf("header %+v, want %+v", got.header, want)
		case len(got.items) != len(want.Items):
			t.Fatalf("%d items, want %d", len(got.items), len(want.Items))
		}
		for i, item := range got.items {
			if item.raw != string(want.Items[i]) {
				t.Fatalf("item %d is %q, want %q", i, item.raw, want.Items[i])
			}
		}
	})
}

// jsonList is a list of anything in JSON.
type jsonList struct {
	Kind       string               `json:"kind"`
	APIVersion string               `json:"apiVersion"`
	Metadata   metav1.ListMeta      `json:"metadata"`
	Items      []stdjson.RawMessage `json:"items"`
}

// decodeJSONList decodes a list in JSON as apimachinery does.
func decodeJSONList(body []byte) (list jsonList, err error) {
	if first := bytes.TrimLeft(body, " \t\r\n"); len(first) == 0 || first[0] != '{' {
		return list, errors.New("no object")
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return list, err
	}
	// A second "items" would take the place of the first, which is cut by then.
	decoder := stdjson.NewDecoder(bytes.NewReader(body))
	var token stdjson.Token
	_, err = decoder.Token()
	for items := 0; err == nil && decoder.More(); {
		if token, err = decoder.Token(); token == "items" {
			items++
		}
		if items > 1 {
			return list, errors.New("items twice")
		}
		var value stdjson.RawMessage
		err = errors.Join(err, decoder.Decode(&value))
	}
	return list, err
}

func allObjects(items []stdjson.RawMessage) bool {
	for _, item := range items {
		if item[0] != '{' {
			return false
		}
	}
	return true
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
		got := cutEveryWay(t, body, wire.Protobuf, cutWatch)
		rest := body
		for i, item := range got.items {
			n := binary.BigEndian.Uint32(rest)
			want, err := decodeEvent(rest[4 : 4+n])
			rest = rest[4+n:]
			item.meta, item.metaErr = wire.ObjectMeta{}, false
			if err != nil || item != want {
				t.Fatalf("event %d: %+v, want %+v, %v", i, item, want, err)
			}
		}
		if got.err == nil && len(rest) > 0 {
			t.Fatalf("%q is left", rest)
		}
		if got.err != nil && len(rest) >= 4 && int64(len(rest)-4) >= int64(binary.BigEndian.Uint32(rest)) {
			if want, err := decodeEvent(rest[4 : 4+binary.BigEndian.Uint32(rest)]); err == nil {
				t.Fatalf("%v, but there is %+v", got.err, want)
			}
		}
	})
}

// decodeEvent decodes a frame as apimachinery does.
func decodeEvent(frame []byte) (want cutItem, err error) {
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
		got := cutEveryWay(t, body, wire.JSON, cutWatch)
		decoder := stdjson.NewDecoder(bytes.NewReader(body))
		for i := 0; ; i++ {
			var raw stdjson.RawMessage
			if err := decoder.Decode(&raw); err != nil {
				if (err == io.EOF) != (got.err == nil) || i < len(got.items) {
					t.Fatalf("%d events, %v; decoded %d, %v", len(got.items), got.err, i, err)
				}
				return
			}
			var event metav1.WatchEvent
			err := json.Unmarshal(raw, &event)
			if i < len(got.items) {
				if err != nil || got.items[i].eventType != event.Type || got.items[i].raw != string(event.Object.Raw) {
					t.Fatalf("event %d: %+v, want %+v, %v", i, got.items[i], event, err)
				}
				continue
			}
			if got.err == nil {
				t.Fatalf("%d events, there are more: %s", len(got.items), raw)
			}
			if err == nil && strings.Contains(" ADDED MODIFIED DELETED BOOKMARK ERROR ", " "+event.Type+" ") && bytes.HasPrefix(event.Object.Raw, []byte("{")) {
				t.Fatalf("%v, but there is %+v", got.err, event)
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
			return // it says nothing of the rest, nor do we
		}
		got, err := item.Meta()
		if err != nil || got != identityOf(&want) {
			t.Fatalf("%+v, %v; want %+v", got, err, identityOf(&want))
		}
		// The entries of a map are the only ones of which generated code does
		// not look at wire types, and takes a field 0.
		labels, err := item.Labels()
		if err == nil && !apiequality.Semantic.DeepEqual(labels, want.Labels) {
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
		item, err := wire.Parse(raw, wire.JSON)
		valid := stdjson.Valid(raw) && raw[0] == '{' && raw[len(raw)-1] == '}'
		if valid != (err == nil) {
			t.Fatalf("%v, but valid: %v", err, valid)
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
		labels, labelsErr := item.Labels()
		if wantErr != nil {
			return // it may be in what Meta does not read
		}
		if err != nil || labelsErr != nil {
			t.Fatalf("%v, %v of what can be decoded", err, labelsErr)
		}
		object := metav1.ObjectMeta{Name: want.Metadata.Name, Namespace: want.Metadata.Namespace, ResourceVersion: want.Metadata.ResourceVersion}
		identity := identityOf(&object)
		identity.UID = want.Metadata.UID
		if got != identity || !reflect.DeepEqual(labels, want.Metadata.Labels) {
			t.Fatalf("%+v, %v; want %+v", got, labels, want)
		}
		if item.Kind != want.Kind || item.APIVersion != want.APIVersion {
			t.Fatalf("%s %s, want %s %s", item.APIVersion, item.Kind, want.APIVersion, want.Kind)
		}
	})
}

// TestScannerAgainstEncodingJSON changes bytes of a document that has all of
// JSON in it, and compares what is valid.
func TestScannerAgainstEncodingJSON(t *testing.T) {
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

// checkValid compares where an object is by itself, and where no members are
// watched.
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
		t.Fatalf("%q: %v, but valid: %v", object, err, valid)
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
