// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

// listWithOversized returns a list whose second object has the given number of bytes of data.
func listWithOversized(t testing.TB, data int) *corev1.ConfigMapList {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "u-1", ResourceVersion: "17", Labels: map[string]string{"k": "v"}}
	}
	return typed(t, &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "42"},
		Items: []corev1.ConfigMap{
			{ObjectMeta: meta("before")},
			{ObjectMeta: meta("oversized"), Data: map[string]string{"x": strings.Repeat("\"true\\", data/6), "y": "z"}},
			{ObjectMeta: meta("after"), Data: map[string]string{"key": "value"}},
		},
	})
}

// checkOversized checks the item of an object of listWithOversized.
func checkOversized(t *testing.T, where string, item *wire.Item, want *corev1.ConfigMap) {
	t.Helper()
	if meta, err := item.Meta(); err != nil || meta != identityOf(want) || item.Kind != "ConfigMap" || item.APIVersion != "v1" {
		t.Fatalf("%s: object %d: Meta() = %+v, %v; want %+v", where, item.Index, meta, err, identityOf(want))
	}
	var located *wire.Error
	switch oversized := want.Name == "oversized"; {
	case oversized && (!errors.Is(item.TooLarge, wire.ErrTooLarge) || !errors.As(item.TooLarge, &located) || located.Item != 1):
		t.Fatalf("%s: object %d: TooLarge = %v, want ErrTooLarge in object 1", where, item.Index, item.TooLarge)
	case !oversized && item.TooLarge != nil:
		t.Fatalf("%s: object %d: TooLarge = %v", where, item.Index, item.TooLarge)
	case !oversized:
		checkItem(t, where, item, untyped(want.DeepCopy()))
	}
}

// TestOversizedObjectIsSkipped checks that an oversized object is delivered by its identity and
// that the objects after it are complete.
func TestOversizedObjectIsSkipped(t *testing.T) {
	const limit = 1 << 10
	for _, data := range []int{2 << 10, 3 << 10, 100 << 10} {
		want := listWithOversized(t, data)
		for _, e := range encoders {
			body := encode(t, e.encoder, want)
			for readerName, reader := range readers {
				checkOversizedList(t, fmt.Sprintf("%s list of %d, %s", e.name, data, readerName), reader(bytes.NewReader(body)), e.format, limit, want)
			}
		}
		for _, format := range formats {
			body := encodeWatch(t, format, "MODIFIED", want)
			for readerName, reader := range readers {
				checkOversizedWatch(t, fmt.Sprintf("%v watch of %d, %s", format, data, readerName), reader(bytes.NewReader(body)), format, limit, want)
			}
		}
	}
}

func checkOversizedList(t *testing.T, where string, body io.Reader, format wire.Format, limit int, want *corev1.ConfigMapList) {
	t.Helper()
	n := 0
	header, err := wire.ListBuffered(body, format, wire.Options{MaxItemSize: limit, SkipOversized: true}, 16, func(item *wire.Item) error {
		checkOversized(t, where, item, &want.Items[n])
		n++
		return nil
	})
	if err != nil || n != len(want.Items) || header.Meta.ResourceVersion != "42" {
		t.Fatalf("%s: %d items, %+v, %v", where, n, header, err)
	}
}

func checkOversizedWatch(t *testing.T, where string, body io.Reader, format wire.Format, limit int, want *corev1.ConfigMapList) {
	t.Helper()
	n := 0
	err := wire.WatchBuffered(body, format, wire.Options{MaxItemSize: limit, SkipOversized: true, Kind: "ConfigMap"}, 16, func(event *wire.Event) error {
		checkOversized(t, where, &event.Object, &want.Items[n])
		if n++; event.Type != "MODIFIED" {
			t.Errorf("%s: the type is %s", where, event.Type)
		}
		return nil
	})
	if err != nil || n != len(want.Items) {
		t.Fatalf("%s: %d events, %v", where, n, err)
	}
}

func TestTruncatedOversizedObjectIsAnError(t *testing.T) {
	list := listWithOversized(t, 8<<10)
	for _, format := range formats {
		whole := encode(t, serializer(format), list)
		event := encodeEvent(t, format, "ADDED", typed(t, &list.Items[1]))
		options := wire.Options{MaxItemSize: 1 << 10, SkipOversized: true}
		for n := 2 << 10; n < 8<<10; n += 97 {
			if _, err := wire.List(bytes.NewReader(whole[:n]), format, options, ignore); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%v list of %d bytes: %v", format, n, err)
			}
			if err := wire.Watch(bytes.NewReader(event[:n]), format, options, func(*wire.Event) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%v watch of %d bytes: %v", format, n, err)
			}
		}
	}
	broken := []byte(`{"kind":"L","items":[{"metadata":{"name":"a"},"x":"` + strings.Repeat("x", 4<<10) + "\x01" + `"}]}`)
	if _, err := wire.List(bytes.NewReader(broken), wire.JSON, wire.Options{MaxItemSize: 1 << 10, SkipOversized: true}, ignore); err == nil {
		t.Error("no error for invalid JSON in an oversized object")
	}
}

// TestOversizedObjectWithoutNameIsMalformed uses objects whose identity is not at their beginning,
// and values that are no objects.
func TestOversizedObjectWithoutNameIsMalformed(t *testing.T) {
	filling := strings.Repeat("x", 200<<10)
	deep := strings.Repeat("[", 12000) + strings.Repeat("]", 12000)
	options := wire.Options{MaxItemSize: 1 << 10, SkipOversized: true}
	for name, value := range map[string]string{
		"late metadata":  `{"data":"` + filling + `","metadata":{"name":"a"}}`,
		"late name":      `{"metadata":{"x":"` + filling + `","name":"a"}}`,
		"a string":       `"` + filling + `\"x"`,
		"an array":       `["` + filling + `",{"metadata":{"name":"a"}}]`,
		"a deep array":   deep,
		"a deep object":  `{"metadata":` + deep + `}`,
		"a large number": strings.Repeat("9", 4<<10),
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"kind":"L","items":[` + value + `,{"metadata":{"name":"after"}}],"metadata":{"resourceVersion":"7"}}`
			n := 0
			header, err := wire.List(strings.NewReader(body), wire.JSON, options, func(item *wire.Item) error {
				expectMalformed(t, item, n == 0)
				n++
				return nil
			})
			if err != nil || n != 2 || header.Meta.ResourceVersion != "7" {
				t.Errorf("%d items of a list at %q, %v", n, header.Meta.ResourceVersion, err)
			}
			n = 0
			event := `{"type":"ADDED","object":` + value + `}{"type":"ADDED","object":{"metadata":{"name":"after"}}}`
			err = wire.Watch(strings.NewReader(event), wire.JSON, options, func(event *wire.Event) error {
				expectMalformed(t, &event.Object, n == 0)
				n++
				return nil
			})
			if err != nil || n != 2 {
				t.Errorf("%d events, %v", n, err)
			}
		})
	}
	nameless := listWithOversized(t, 200<<10)
	nameless.Items[1].ObjectMeta = metav1.ObjectMeta{}
	n := 0
	_, err := wire.List(bytes.NewReader(encode(t, serializer(wire.Protobuf), nameless)), wire.Protobuf, options, func(item *wire.Item) error {
		expectMalformed(t, item, n == 1)
		n++
		return nil
	})
	if err != nil || n != len(nameless.Items) {
		t.Errorf("protobuf list: %d items, %v", n, err)
	}
	n = 0
	event := encodeEvent(t, wire.Protobuf, "ADDED", typed(t, &nameless.Items[1]))
	err = wire.Watch(bytes.NewReader(event), wire.Protobuf, options, func(event *wire.Event) error {
		expectMalformed(t, &event.Object, true)
		n++
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("protobuf watch: %d events, %v", n, err)
	}
}

// expectMalformed checks whether an item has no object, since that is too large, and no identity.
func expectMalformed(t *testing.T, item *wire.Item, malformed bool) {
	t.Helper()
	meta, err := item.Meta()
	if malformed != (err != nil) || malformed != (meta.Key == "") || (item.Malformed != nil) != malformed {
		t.Errorf("object %d: %+v, %v, Malformed: %v", item.Index, meta, err, item.Malformed)
	}
}

// FuzzSkipOversized splits the same body with a small limit and with none. The small limit must
// deliver the same objects, some as oversized, or end the body with ErrTooLarge.
func FuzzSkipOversized(f *testing.F) {
	for _, format := range formats {
		list := listWithOversized(f, 300)
		f.Add(encode(f, serializer(format), list), format == wire.JSON, false, 100)
		event := encodeEvent(f, format, "ADDED", typed(f, &list.Items[1]))
		f.Add(append(event, event...), format == wire.JSON, true, 150)
	}
	f.Fuzz(func(t *testing.T, body []byte, json, watch bool, limit int) {
		format := wire.Protobuf
		if json {
			format = wire.JSON
		}
		var got, want []resultItem
		options := wire.Options{MaxItemSize: 1 + limit&0xfff, SkipOversized: true}
		var gotErr error
		memory.ExpectProportional(t, len(body), bytesPerByte, func() {
			gotErr = splitWith(body, format, watch, options, 16, func(item *wire.Item) {
				result := newResultItem(item)
				if item.TooLarge != nil {
					result = resultItem{}
				}
				got = append(got, result)
			})
		})
		checkError(t, gotErr, int64(len(body)))
		if err := splitWith(body, format, watch, wire.Options{}, 1<<16, func(item *wire.Item) { want = append(want, newResultItem(item)) }); err != nil {
			return
		}
		if gotErr != nil && !errors.Is(gotErr, wire.ErrTooLarge) || gotErr == nil && len(got) != len(want) {
			t.Fatalf("%d objects, %v; want %d", len(got), gotErr, len(want))
		}
		for i, item := range got {
			if item != (resultItem{}) && item != want[i] {
				t.Fatalf("object %d is %+v, want %+v", i, item, want[i])
			}
		}
	})
}

// splitWith splits a list or a watch and calls each for every object.
func splitWith(body []byte, format wire.Format, watch bool, options wire.Options, buffer int, each func(*wire.Item)) error {
	if watch {
		return wire.WatchBuffered(bytes.NewReader(body), format, options, buffer, func(event *wire.Event) error {
			each(&event.Object)
			return nil
		})
	}
	_, err := wire.ListBuffered(bytes.NewReader(body), format, options, buffer, func(item *wire.Item) error {
		each(item)
		return nil
	})
	return err
}

// TestTextIsNotAnOversizedEvent checks that Watch recognizes a body that is not a stream of events,
// by its first byte without reading on if possible.
func TestTextIsNotAnOversizedEvent(t *testing.T) {
	for name, text := range map[string]string{
		"HTML page":            "<html>502 Bad Gateway</html>",
		"begins like an event": "\x7f\xff\xff\xff\x0a\x05ADDED",
	} {
		body := io.MultiReader(strings.NewReader(text), endReader{t, name == "HTML page"})
		err := wire.Watch(body, wire.Protobuf, wire.Options{SkipOversized: true}, func(*wire.Event) error { return errors.New("delivered an event") })
		if !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("%s: error %v, want ErrTooLarge", name, err)
		}
	}
}

// endReader is the end of a body. With fail, reading it fails the test.
type endReader struct {
	t    *testing.T
	fail bool
}

func (r endReader) Read([]byte) (int, error) {
	if r.fail {
		r.t.Error("Watch read on after an HTML page")
	}
	return 0, io.EOF
}

// TestObjectNestedTooDeeplyIsSkipped checks that such an object is delivered by its identity, and
// that the objects after it are complete. Brackets in its strings do not count.
func TestObjectNestedTooDeeplyIsSkipped(t *testing.T) {
	object := func(name, data string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `","namespace":"ns"},"data":` + data + `}`
	}
	const depth = 12000
	deep := strings.Repeat(`{"a":[`, depth) + `"]}\"]}\\","]"` + strings.Repeat(`]}`, depth)
	list := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"42"},"items":[` + object("before", "{}") + "," + object("deep", deep) + "," + object("after", "{}") + `]}`
	watch := ""
	for _, o := range []string{object("before", "{}"), object("deep", deep), object("after", "{}")} {
		watch += `{"type":"ADDED","object":` + o + "}\n"
	}
	check := func(names *[]string) func(item *wire.Item) error {
		return func(item *wire.Item) error {
			meta, err := item.Meta()
			if *names = append(*names, meta.Name); err != nil || (item.TooLarge != nil) != (meta.Name == "deep") {
				t.Errorf("item %q: %v, TooLarge = %v", meta.Name, err, item.TooLarge)
			}
			if item.TooLarge != nil && !strings.Contains(item.TooLarge.Error(), "nested deeper than 10000 levels") {
				t.Errorf("TooLarge = %v", item.TooLarge)
			}
			return nil
		}
	}
	options := wire.Options{SkipOversized: true, Kind: "ConfigMap"}
	for readerName, reader := range readers {
		var listed, watched []string
		header, err := wire.List(reader(strings.NewReader(list)), wire.JSON, options, check(&listed))
		if want := "before deep after"; err != nil || strings.Join(listed, " ") != want || header.Meta.ResourceVersion != "42" {
			t.Errorf("%s: listed %q, %v; want %s", readerName, listed, err, want)
		}
		each := check(&watched)
		err = wire.Watch(reader(strings.NewReader(watch)), wire.JSON, options, func(e *wire.Event) error { return each(&e.Object) })
		if want := "before deep after"; err != nil || strings.Join(watched, " ") != want {
			t.Errorf("%s: watched %q, %v; want %s", readerName, watched, err, want)
		}
	}
	truncated := list[:strings.Index(list, `"]}`)+100]
	if _, err := wire.List(strings.NewReader(truncated), wire.JSON, options, ignore); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a truncated list: %v", err)
	}
}

// TestWhiteSpaceIsBounded separates items by as much white space as Limits.Other, and by more.
func TestWhiteSpaceIsBounded(t *testing.T) {
	const limit = 100 << 10
	body := func(space int) io.Reader {
		return strings.NewReader(`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"42"},"items":[` +
			strings.Repeat(" ", space) + `{"metadata":{"name":"a"}}` + strings.Repeat("\n", space) + `,{"metadata":{"name":"b"}}]}` + strings.Repeat(" ", space))
	}
	options := wire.Options{MaxHeaderSize: limit}
	if _, err := wire.List(body(limit), wire.JSON, options, ignore); err != nil {
		t.Errorf("a list with white space within the limit: %v", err)
	}
	if _, err := wire.List(body(4*limit), wire.JSON, options, ignore); !errors.Is(err, wire.ErrTooLarge) || !strings.Contains(err.Error(), "white space") || !strings.Contains(err.Error(), "Limits.Other") {
		t.Errorf("a list with too much white space: %v", err)
	}
}

// TestBeginningThatLacksTheNamespaceIsMalformed checks that an object which is cut between its name
// and its namespace is not taken for one without a namespace.
func TestBeginningThatLacksTheNamespaceIsMalformed(t *testing.T) {
	for name, value := range map[string]string{
		"too large": `{"metadata":{"name":"a","annotations":{"p":"` + strings.Repeat("x", 200<<10) + `"},"namespace":"ns","uid":"u"}}`,
		"too deep":  `{"metadata":{"name":"a","managedFields":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `,"namespace":"ns","uid":"u"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			options := wire.Options{SkipOversized: true}
			if name == "too large" {
				options.MaxItemSize = 1 << 10
			}
			_, err := wire.List(strings.NewReader(`{"kind":"L","items":[`+value+`]}`), wire.JSON, options, func(item *wire.Item) error {
				expectMalformed(t, item, true)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
