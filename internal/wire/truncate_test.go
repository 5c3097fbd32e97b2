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

// smallList is a list that has a few of everything.
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

// failing ends with an error that is not io.EOF.
type failing struct {
	r   io.Reader
	err error
}

var errConnection = errors.New("connection reset by peer")

func (f failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

// TestBrokenAtTheEnd holds that a body is not believed to be whole if the
// connection broke where it could have ended: net/http knows better.
func TestBrokenAtTheEnd(t *testing.T) {
	for _, format := range formats {
		list := smallList(t)
		body := encode(t, serializer(format), list)
		_, err := wire.List(failing{bytes.NewReader(body), io.ErrUnexpectedEOF}, format, wire.Options{}, ignore)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v list: %v", format, err)
		}
		frame := encodeEvent(t, format, "ADDED", typed(t, &list.Items[0]))
		err = wire.Watch(failing{bytes.NewReader(frame), io.ErrUnexpectedEOF}, format, wire.Options{}, func(*wire.Event) error { return nil })
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v watch: %v", format, err)
		}
	}
}

// wholeAt returns at what offsets a body has all that a list needs: the content
// of a protobuf envelope is followed by two empty fields, JSON by a newline.
func wholeAt(format wire.Format, body []byte) map[int]bool {
	if format == wire.JSON {
		return map[int]bool{len(bytes.TrimSpace(body)): true}
	}
	return map[int]bool{len(body) - 2: true, len(body) - 4: true}
}

// TestListTruncated cuts a list at every byte: what was complete is handed out,
// nothing else, and the error says that the body ended, and where.
func TestListTruncated(t *testing.T) {
	for _, e := range encoders {
		t.Run(e.name, func(t *testing.T) {
			body := encode(t, e.encoder, smallList(t))
			ends := itemEnds(t, e.format, body)
			whole := wholeAt(e.format, body)
			for n := range body {
				for how, reader := range readers {
					checkTruncated(t, fmt.Sprintf("%s, %d bytes", how, n), e.format, reader(bytes.NewReader(body[:n])), n, ends, whole[n])
				}
				_, err := wire.List(failing{bytes.NewReader(body[:n]), errConnection}, e.format, wire.Options{}, ignore)
				if !errors.Is(err, errConnection) {
					t.Fatalf("%d bytes and a broken connection: %v", n, err)
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

func checkTruncated(t *testing.T, where string, format wire.Format, body io.Reader, n int, ends []int, whole bool) {
	t.Helper()
	complete := 0
	for complete < len(ends) && ends[complete] <= n {
		complete++
	}
	items := 0
	_, err := wire.ListBuffered(body, format, wire.Options{}, 16, func(*wire.Item) error {
		items++
		return nil
	})
	var located *wire.Error
	switch {
	case items != complete:
		t.Fatalf("%s: %d items, %d are complete", where, items, complete)
	case whole && err != nil:
		t.Fatalf("%s: %v", where, err)
	case whole:
	case !errors.Is(err, io.ErrUnexpectedEOF):
		t.Fatalf("%s: %v, want io.ErrUnexpectedEOF", where, err)
	case !errors.As(err, &located) || located.Offset != int64(n):
		t.Fatalf("%s: %v, want offset %d", where, err, n)
	}
}

// TestWatchTruncated cuts a watch at every byte. It may end behind an event, and
// nowhere else.
func TestWatchTruncated(t *testing.T) {
	for _, format := range formats {
		t.Run(format.String(), func(t *testing.T) {
			var body []byte
			ends := map[int]int{0: 0} // events complete at an offset where the body may end
			list := smallList(t)
			for i := range list.Items {
				body = append(body, encodeEvent(t, format, "ADDED", typed(t, &list.Items[i]))...)
				ends[len(body)] = i + 1
				if format == wire.JSON {
					ends[len(body)-1] = i + 1 // the newline is of no importance
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
					t.Fatalf("%d bytes: %d events of %d, %v", n, events, want, err)
				}
				if !boundary && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%d bytes: %v, want io.ErrUnexpectedEOF", n, err)
				}
				err = wire.Watch(failing{bytes.NewReader(body[:n]), errConnection}, format, wire.Options{}, func(*wire.Event) error { return nil })
				if !errors.Is(err, errConnection) {
					t.Fatalf("%d bytes and a broken connection: %v", n, err)
				}
			}
		})
	}
}

// TestMetaTruncated cuts an object at every byte.
func TestMetaTruncated(t *testing.T) {
	object := smallList(t).Items[1]
	for _, format := range formats {
		raw := rawOf(t, format, typed(t, &object))
		for n := range raw {
			item, err := wire.Parse(raw[:n], format)
			if err == nil {
				_, err = item.Meta()
			}
			// A protobuf message that ends behind a field is a message.
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

// rawOf returns an object's bytes as Item.Raw has them.
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

// spy gives one byte at a time and tells how many it has given before.
type spy struct {
	b     []byte
	given int
	tell  func(given int)
}

func (s *spy) Read(p []byte) (int, error) {
	s.tell(s.given)
	if s.given == len(s.b) {
		return 0, io.EOF
	}
	p[0] = s.b[s.given]
	s.given++
	return 1, nil
}

// TestAtOnce holds that an object is handed out before the byte behind it is
// asked for: on a watch that may come minutes later.
func TestAtOnce(t *testing.T) {
	for _, format := range formats {
		list := smallList(t)
		body := encode(t, serializer(format), list)
		checkAtOnce(t, body, itemEnds(t, format, body), func(r io.Reader, seen func()) error {
			_, err := wire.List(r, format, wire.Options{}, func(*wire.Item) error { seen(); return nil })
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
		checkAtOnce(t, frames, ends, func(r io.Reader, seen func()) error {
			return wire.Watch(r, format, wire.Options{}, func(*wire.Event) error { seen(); return nil })
		})
	}
}

func checkAtOnce(t *testing.T, body []byte, ends []int, run func(r io.Reader, seen func()) error) {
	t.Helper()
	count := 0
	reader := &spy{b: body, tell: func(given int) {
		if count < len(ends) && given >= ends[count] {
			t.Errorf("%d bytes were given, object %d ended at %d", given, count, ends[count])
		}
	}}
	if err := run(reader, func() { count++ }); err != nil || count != len(ends) {
		t.Errorf("%d objects of %d, %v", count, len(ends), err)
	}
}
