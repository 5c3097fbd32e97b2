// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/wire"
)

// smallList returns a list with three different objects.
func smallList(t testing.TB) *corev1.ConfigMapList {
	return typed(t, &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "42", Continue: "next"},
		Items: []corev1.ConfigMap{
			{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u1", ResourceVersion: "7", Labels: map[string]string{"k": "v"}}},
			{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}, Data: map[string]string{"text": "\"quoted\"\n\u00e9", "empty": ""}},
			{ObjectMeta: metav1.ObjectMeta{Name: "c"}, BinaryData: map[string][]byte{"x": {0, 1, 2}}},
		},
	})
}

// failingReader returns err in place of io.EOF.
type failingReader struct {
	r   io.Reader
	err error
}

var errConnection = errors.New("connection reset by peer")

func (f failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// TestConnectionBrokenAtEndIsAnError checks that an error of the connection is returned even where
// the body could have ended.
func TestConnectionBrokenAtEndIsAnError(t *testing.T) {
	for _, format := range formats {
		list := smallList(t)
		body := encode(t, serializer(format), list)
		_, err := wire.List(failingReader{bytes.NewReader(body), io.ErrUnexpectedEOF}, format, wire.Options{}, ignore)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v list: %v", format, err)
		}
		frame := encodeEvent(t, format, "ADDED", typed(t, &list.Items[0]))
		err = wire.Watch(failingReader{bytes.NewReader(frame), io.ErrUnexpectedEOF}, format, wire.Options{}, func(*wire.Event) error { return nil })
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v watch: %v", format, err)
		}
	}
}

// completeAt returns the offsets before the end at which a list is complete. In protobuf two empty
// fields follow the content of the envelope, in JSON a newline.
func completeAt(format wire.Format, body []byte) map[int]bool {
	if format == wire.JSON {
		return map[int]bool{len(bytes.TrimSpace(body)): true}
	}
	return map[int]bool{len(body) - 2: true, len(body) - 4: true}
}

// TestTruncatedListDeliversCompleteItems truncates a list at every byte. List must deliver the
// complete items and return io.ErrUnexpectedEOF with the offset.
func TestTruncatedListDeliversCompleteItems(t *testing.T) {
	for _, e := range encoders {
		t.Run(e.name, func(t *testing.T) {
			body := encode(t, e.encoder, smallList(t))
			ends := itemEnds(t, e.format, body)
			complete := completeAt(e.format, body)
			for n := range body {
				for readerName, reader := range readers {
					checkTruncated(t, fmt.Sprintf("%s, %d bytes", readerName, n), e.format, reader(bytes.NewReader(body[:n])), n, ends, complete[n])
				}
				_, err := wire.List(failingReader{bytes.NewReader(body[:n]), errConnection}, e.format, wire.Options{}, ignore)
				if !errors.Is(err, errConnection) {
					t.Fatalf("%d bytes and a broken connection: error %v", n, err)
				}
			}
		})
	}
}

func ignore(*wire.Item) error { return nil }

// itemEnds returns the offsets at which the items of a list end.
func itemEnds(t *testing.T, format wire.Format, body []byte) (ends []int) {
	t.Helper()
	_, err := wire.List(bytes.NewReader(body), format, wire.Options{}, func(item *wire.Item) error {
		ends = append(ends, int(item.Offset)+len(item.Raw))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

func checkTruncated(t *testing.T, where string, format wire.Format, body io.Reader, n int, ends []int, complete bool) {
	t.Helper()
	want := 0
	for want < len(ends) && ends[want] <= n {
		want++
	}
	items := 0
	_, err := wire.ListBuffered(body, format, wire.Options{}, 16, func(*wire.Item) error {
		items++
		return nil
	})
	var located *wire.Error
	switch {
	case items != want:
		t.Fatalf("%s: %d items, want %d", where, items, want)
	case complete && err != nil:
		t.Fatalf("%s: %v", where, err)
	case complete:
	case !errors.Is(err, io.ErrUnexpectedEOF):
		t.Fatalf("%s: error %v, want io.ErrUnexpectedEOF", where, err)
	case !errors.As(err, &located) || located.Offset != int64(n):
		t.Fatalf("%s: error %v, want offset %d", where, err, n)
	}
}

// TestTruncatedWatchIsAnErrorWithinAnEvent truncates a watch at every byte. It may end only after
// an event.
func TestTruncatedWatchIsAnErrorWithinAnEvent(t *testing.T) {
	for _, format := range formats {
		t.Run(format.String(), func(t *testing.T) {
			var body []byte
			ends := map[int]int{0: 0} // number of events by the offsets at which the body may end
			list := smallList(t)
			for i := range list.Items {
				body = append(body, encodeEvent(t, format, "ADDED", typed(t, &list.Items[i]))...)
				ends[len(body)] = i + 1
				if format == wire.JSON {
					ends[len(body)-1] = i + 1 // the newline is optional
				}
			}
			for n := range len(body) + 1 {
				events := 0
				err := wire.WatchBuffered(iotest.HalfReader(bytes.NewReader(body[:n])), format, wire.Options{}, 16, func(*wire.Event) error {
					events++
					return nil
				})
				want, boundary := ends[n]
				if boundary && (err != nil || events != want) {
					t.Fatalf("%d bytes: %d events, %v; want %d", n, events, err, want)
				}
				if !boundary && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%d bytes: error %v, want io.ErrUnexpectedEOF", n, err)
				}
				err = wire.Watch(failingReader{bytes.NewReader(body[:n]), errConnection}, format, wire.Options{}, func(*wire.Event) error { return nil })
				if !errors.Is(err, errConnection) {
					t.Fatalf("%d bytes and a broken connection: %v", n, err)
				}
			}
		})
	}
}

// TestTruncatedObjectIsAnError truncates an object at every byte.
func TestTruncatedObjectIsAnError(t *testing.T) {
	object := smallList(t).Items[1]
	for _, format := range formats {
		raw := rawOf(t, format, typed(t, &object))
		for n := range raw {
			item, err := wire.Parse(raw[:n], format)
			if err == nil {
				_, err = item.Meta()
			}
			// A protobuf message truncated after a field is valid.
			if err == nil && format == wire.Protobuf && new(corev1.ConfigMap).Unmarshal(raw[:n]) == nil {
				continue
			}
			if err == nil {
				t.Fatalf("%v, %d bytes: no error", format, n)
			}
			if format == wire.JSON && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%d bytes: %v, want io.ErrUnexpectedEOF", n, err)
			}
		}
	}
}

// rawOf encodes an object in the form of Item.Raw.
func rawOf(t testing.TB, format wire.Format, object runtime.Object) []byte {
	t.Helper()
	if format == wire.JSON {
		return bytes.TrimSpace(encode(t, jsonSerializer, object))
	}
	raw, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// observedReader returns one byte per Read. It calls onRead first, with the number of bytes
// returned so far.
type observedReader struct {
	b      []byte
	n      int
	onRead func(n int)
}

func (r *observedReader) Read(p []byte) (int, error) {
	r.onRead(r.n)
	if r.n == len(r.b) {
		return 0, io.EOF
	}
	p[0] = r.b[r.n]
	r.n++
	return 1, nil
}

// TestObjectIsDeliveredBeforeNextRead checks that an object is delivered before the byte after it
// is read, which may arrive minutes later in a watch.
func TestObjectIsDeliveredBeforeNextRead(t *testing.T) {
	for _, format := range formats {
		list := smallList(t)
		body := encode(t, serializer(format), list)
		checkDeliveredBeforeNextRead(t, body, itemEnds(t, format, body), func(r io.Reader, delivered func()) error {
			_, err := wire.List(r, format, wire.Options{}, func(*wire.Item) error { delivered(); return nil })
			return err
		})
		var frames []byte
		var ends []int
		for i := range list.Items {
			frames = append(frames, encodeEvent(t, format, "ADDED", typed(t, &list.Items[i]))...)
			ends = append(ends, len(frames))
			if format == wire.JSON {
				ends[i]-- // the newline
			}
		}
		checkDeliveredBeforeNextRead(t, frames, ends, func(r io.Reader, delivered func()) error {
			return wire.Watch(r, format, wire.Options{}, func(*wire.Event) error { delivered(); return nil })
		})
	}
}

func checkDeliveredBeforeNextRead(t *testing.T, body []byte, ends []int, run func(r io.Reader, delivered func()) error) {
	t.Helper()
	count := 0
	reader := &observedReader{b: body, onRead: func(n int) {
		if count < len(ends) && n >= ends[count] {
			t.Errorf("read after %d bytes, but object %d ended at %d", n, count, ends[count])
		}
	}}
	if err := run(reader, func() { count++ }); err != nil || count != len(ends) {
		t.Errorf("%d objects, %v; want %d", count, err, len(ends))
	}
}
