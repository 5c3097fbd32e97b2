// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand" //nolint:depguard // the type that randfill needs
	"reflect"
	"sort"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/internal/wire"
)

// filler returns a generator of random valid objects.
func filler(seed int64) interface{ Fill(any) } {
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs), rand.NewSource(seed), scheme.Codecs)
}

// listKinds returns the kinds of all lists in client-go's scheme, except the lists of the discovery
// API, which have no items.
func listKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for kind := range scheme.Scheme.AllKnownTypes() {
		switch kind.Kind {
		case "List", "APIGroupList", "APIResourceList":
			continue
		}
		if strings.HasSuffix(kind.Kind, "List") && kind.Version != runtime.APIVersionInternal {
			kinds = append(kinds, kind)
		}
	}
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	return kinds
}

// newList returns a list of a kind with random items.
func newList(t *testing.T, kind schema.GroupVersionKind, items int) runtime.Object {
	t.Helper()
	list, err := scheme.Scheme.New(kind)
	if err != nil {
		t.Fatal(err)
	}
	fill := filler(int64(len(kind.String()) + items))
	slice, err := meta.GetItemsPtr(list)
	if err != nil {
		t.Fatal(err)
	}
	listMeta, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	remaining := int64(4711)
	listMeta.SetResourceVersion("123")
	listMeta.SetContinue("some token")
	listMeta.SetRemainingItemCount(&remaining)
	values := reflect.ValueOf(slice).Elem()
	values.Set(reflect.MakeSlice(values.Type(), items, items))
	for i := range items {
		fill.Fill(values.Index(i).Addr().Interface())
		object, err := meta.Accessor(values.Index(i).Addr().Interface())
		if err != nil {
			t.Fatalf("item of %v without metadata: %v", kind, err)
		}
		object.SetLabels(map[string]string{"": "", "a": "ä", "b\"\\": "\u2028"})
	}
	list.GetObjectKind().SetGroupVersionKind(kind)
	return list
}

// readers split a body into reads of different sizes.
var readers = map[string]func(io.Reader) io.Reader{
	"whole":    func(r io.Reader) io.Reader { return r },
	"bytewise": iotest.OneByteReader,
	"dataErr":  iotest.DataErrReader,
	"halves":   iotest.HalfReader,
}

// encoders are the encoders that a server uses for lists.
var encoders = []struct {
	name    string
	format  wire.Format
	encoder runtime.Encoder
}{
	{"protobuf", wire.Protobuf, protobufSerializer},
	{"protobuf streaming", wire.Protobuf, protobufStreaming},
	{"JSON", wire.JSON, jsonSerializer},
	{"JSON pretty", wire.JSON, jsonPretty},
	{"JSON streaming", wire.JSON, jsonStreaming},
}

// TestListOfEveryKind compares List with apimachinery's decoders for every kind of list in
// client-go's scheme, with every encoder and reader.
func TestListOfEveryKind(t *testing.T) {
	kinds := listKinds()
	if len(kinds) < 100 {
		t.Fatalf("%d kinds of lists, want 100 or more", len(kinds))
	}
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			for _, items := range listSizes {
				list := newList(t, kind, items)
				for _, e := range encoders {
					checkList(t, e.name, e.format, encode(t, e.encoder, list))
				}
			}
		})
	}
}

// checkList compares the items of a list with the decoded list.
func checkList(t *testing.T, name string, format wire.Format, body []byte) {
	t.Helper()
	decoded, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		t.Fatalf("%s: decode: %v", name, err)
	}
	want, err := meta.ExtractList(decoded)
	if err != nil {
		t.Fatal(err)
	}
	options := wire.Options{APIVersion: kind.GroupVersion().String(), Kind: strings.TrimSuffix(kind.Kind, "List")}
	known := make([]string, len(want)) // items already compared by decoding
	var header wire.ListHeader
	for readerName, reader := range readers {
		for _, buffer := range listBuffers(readerName) {
			where := fmt.Sprintf("%s, %s, buffer of %d", name, readerName, buffer)
			n := 0
			header, err = wire.ListBuffered(reader(bytes.NewReader(body)), format, options, buffer, func(item *wire.Item) error {
				if item.Index != n || !bytes.Equal(body[item.Offset:item.Offset+int64(len(item.Raw))], item.Raw) {
					t.Errorf("%s: item %d has index %d, offset %d", where, n, item.Index, item.Offset)
				}
				if known[n] == string(item.Raw) {
					checkMeta(t, where, item, want[n])
				} else {
					checkItem(t, where, item, want[n])
					known[n] = string(item.Raw)
				}
				n++
				return nil
			})
			if err != nil || n != len(want) {
				t.Fatalf("%s: %d items, %v; want %d", where, n, err, len(want))
			}
			checkHeader(t, where, &header, decoded)
		}
	}
	checkEmpty(t, name, &header, format)
}

func checkHeader(t *testing.T, where string, header *wire.ListHeader, decoded runtime.Object) {
	t.Helper()
	accessor, err := meta.ListAccessor(decoded)
	if err != nil {
		t.Fatal(err)
	}
	got := []any{header.APIVersion, header.Kind, header.Meta.ResourceVersion, header.Meta.Continue, *header.Meta.RemainingItemCount}
	apiVersion, kind := decoded.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	want := []any{apiVersion, kind, accessor.GetResourceVersion(), accessor.GetContinue(), *accessor.GetRemainingItemCount()}
	if kind == "" { // protobuf decoders do not set it
		want[0], want[1] = got[0], got[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: header (-want +got):\n%s", where, diff)
	}
}

// checkEmpty checks that List of the header's empty list returns the same header.
func checkEmpty(t *testing.T, where string, header *wire.ListHeader, format wire.Format) {
	t.Helper()
	empty, err := header.Empty(format)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wire.List(bytes.NewReader(empty), format, wire.Options{}, nil)
	if err != nil || !reflect.DeepEqual(again, *header) {
		t.Errorf("%s: header of the empty list is %+v, %v; want %+v", where, again, err, *header)
	}
}

// checkItem compares an item with the same object decoded.
func checkItem(t *testing.T, where string, item *wire.Item, want runtime.Object) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface().(runtime.Object)
	if err := unmarshal(item, got); err != nil {
		t.Fatalf("%s: item %d: %v", where, item.Index, err)
	}
	got.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
	if !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("%s: item %d (-want +got):\n%s", where, item.Index, cmp.Diff(want, got))
	}
	checkMeta(t, where, item, want)
}

// unmarshal decodes an item with the Unmarshal of its type.
func unmarshal(item *wire.Item, into runtime.Object) error {
	if item.Format == wire.Protobuf {
		return into.(interface{ Unmarshal([]byte) error }).Unmarshal(item.Raw)
	}
	return json.Unmarshal(item.Raw, into)
}

// checkMeta compares Meta and Labels with the decoded object.
func checkMeta(t *testing.T, where string, item *wire.Item, want runtime.Object) {
	t.Helper()
	object, err := meta.Accessor(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := item.Meta()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(identityOf(object), got); diff != "" {
		t.Errorf("%s: item %d, Meta (-want +got):\n%s", where, item.Index, diff)
	}
	labels, known, err := labelsOf(item)
	if err != nil || !known || !apiequality.Semantic.DeepEqual(object.GetLabels(), labels) {
		t.Errorf("%s: item %d, labels %q, %v; want %q", where, item.Index, labels, err, object.GetLabels())
	}
}

// identityOf returns the expected result of Meta.
func identityOf(object metav1.Object) wire.ObjectMeta {
	key := object.GetName()
	if key != "" && object.GetNamespace() != "" {
		key = object.GetNamespace() + "/" + key
	}
	return wire.ObjectMeta{
		Key:             key,
		Namespace:       object.GetNamespace(),
		Name:            object.GetName(),
		UID:             string(object.GetUID()),
		ResourceVersion: object.GetResourceVersion(),
	}
}

// TestWatchOfEveryKind compares Watch with the encoded objects for every kind in client-go's
// scheme.
func TestWatchOfEveryKind(t *testing.T) {
	for _, kind := range listKinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			objects, err := meta.ExtractList(newList(t, kind, 5))
			if err != nil {
				t.Fatal(err)
			}
			kind := kind
			kind.Kind = strings.TrimSuffix(kind.Kind, "List")
			for _, object := range objects {
				object.GetObjectKind().SetGroupVersionKind(kind)
			}
			for _, format := range formats {
				checkWatch(t, format, kind, objects)
			}
		})
	}
}

func checkWatch(t *testing.T, format wire.Format, kind schema.GroupVersionKind, objects []runtime.Object) {
	t.Helper()
	types := []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ADDED"}
	var body []byte
	for i, object := range objects {
		body = append(body, encodeEvent(t, format, types[i], object)...)
	}
	options := wire.Options{}
	options.APIVersion, options.Kind = kind.ToAPIVersionAndKind()
	known := make([]string, len(objects))
	for readerName, reader := range readers {
		n := 0
		err := wire.WatchBuffered(reader(bytes.NewReader(body)), format, options, 16, func(event *wire.Event) error {
			if string(event.Type) != types[n] || event.Object.Index != n {
				t.Errorf("%v, %s: event %d: %s, index %d", format, readerName, n, event.Type, event.Object.Index)
			}
			if known[n] == string(event.Object.Raw) {
				checkMeta(t, readerName, &event.Object, objects[n])
			} else {
				checkItem(t, readerName, &event.Object, objects[n])
				known[n] = string(event.Object.Raw)
			}
			n++
			return nil
		})
		if err != nil || n != len(objects) {
			t.Fatalf("%v, %s: %d events, %v; want %d", format, readerName, n, err, len(objects))
		}
	}
}
