// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/wire"
)

// oneEvent splits a watch of one event and calls check with it.
func oneEvent(t *testing.T, format wire.Format, body []byte, check func(*wire.Event)) {
	t.Helper()
	n := 0
	err := wire.Watch(bytes.NewReader(body), format, wire.Options{Kind: "Pod"}, func(event *wire.Event) error {
		n++
		check(event)
		return nil
	})
	if err != nil || n != 1 {
		t.Fatalf("%v: %d events, %v", format, n, err)
	}
}

func TestBookmark(t *testing.T) {
	for _, format := range formats {
		for value, want := range map[string]bool{"true": true, "false": false, "": false, "none": false} {
			pod := typed(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12"}})
			if value != "none" {
				pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: value, "other": "true"}
			}
			oneEvent(t, format, encodeEvent(t, format, "BOOKMARK", pod), func(event *wire.Event) {
				rv, end, err := event.Bookmark()
				if err != nil || rv != "12" || end != want || event.Type != watch.Bookmark {
					t.Errorf("%v, %q: %s with Bookmark() = %q, %v, %v", format, value, event.Type, rv, end, err)
				}
				if event.Err() != nil {
					t.Errorf("Err() of a bookmark = %v", event.Err())
				}
			})
		}
	}
}

func TestErrorEvent(t *testing.T) {
	for _, format := range formats {
		status := &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   "Failure", Message: "too old resource version", Reason: metav1.StatusReasonExpired, Code: 410,
		}
		oneEvent(t, format, encodeEvent(t, format, "ERROR", status), func(event *wire.Event) {
			var statusErr *apierrors.StatusError
			if err := event.Err(); !apierrors.IsResourceExpired(err) || !errors.As(err, &statusErr) || statusErr.ErrStatus.Message != status.Message {
				t.Errorf("%v: Err() = %v", format, err)
			}
		})
		oneEvent(t, format, encodeEvent(t, format, "ERROR", typed(t, newPod(1))), func(event *wire.Event) {
			if err := event.Err(); !errors.Is(err, wire.ErrWrongKind) {
				t.Errorf("%v: Err() of an ERROR event with a Pod = %v, want ErrWrongKind", format, err)
			}
		})
	}
}

func TestWatchErrors(t *testing.T) {
	object := string(envelope(t, "v1", "Pod", []byte(bytesField(1, bytesField(1, "n")))))
	framed := func(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }
	event := func(object string) string { return bytesField(1, "ADDED") + bytesField(2, bytesField(1, object)) }
	good := map[wire.Format]string{wire.Protobuf: framed(event(object)), wire.JSON: `{"type":"ADDED","object":{"kind":"Pod"}}`}
	for _, tt := range []struct {
		name   string
		format wire.Format
		body   string // follows a valid event
		want   string
	}{
		{"neither type nor object", wire.JSON, `{"type":"X","object":5}`, `event 1, byte 63, object: not an object`},
		{"ERROR without an object", wire.JSON, `{"type":"ERROR","object":null}`, "event 1, byte 70, object: missing in ERROR event"},
		{"no event", wire.JSON, `{}`, "event 1, byte 42: single object, want a stream of events"},
		{"HTML", wire.JSON, `<html>`, "event 1, byte 40: unexpected '<', want an object"},
		{"number", wire.JSON, `5`, "event 1, byte 40: unexpected '5', want an object"},
		{"empty frame", wire.Protobuf, framed(""), "event 1, byte 45, type: missing"},
		{"wrong wire type", wire.Protobuf, framed("\x08\x01"), "event 1, byte 45, type: wrong wire type 0"},
		{"an object", wire.Protobuf, object, "byte 57: single object, want a stream of events"},
	} {
		t.Run(tt.format.String()+" "+tt.name, func(t *testing.T) {
			n := 0
			err := wire.Watch(strings.NewReader(good[tt.format]+tt.body), tt.format, wire.Options{Kind: "Pod"}, func(*wire.Event) error {
				n++
				return nil
			})
			if n != 1 || err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("%d events,\n%v, want\n%v", n, err, tt.want)
			}
		})
	}
}

// TestMalformedEventDoesNotEndWatch splits watches with an event whose type is unknown, or that
// has no object of the watch's kind.
func TestMalformedEventDoesNotEndWatch(t *testing.T) {
	object := string(envelope(t, "v1", "Pod", []byte(bytesField(1, bytesField(1, "n")+bytesField(6, "7")))))
	framed := func(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }
	event := func(object string) string { return bytesField(1, "ADDED") + bytesField(2, bytesField(1, object)) }
	good := map[wire.Format]string{wire.Protobuf: framed(event(object)), wire.JSON: `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"n","resourceVersion":"7"}}}`}
	pod := `{"kind":"Pod","metadata":{"name":"n","resourceVersion":"7"}}`
	for _, tt := range []struct {
		name   string
		format wire.Format
		body   string
		want   string          // the end of the error
		typed  watch.EventType // of the event
		meta   wire.ObjectMeta
	}{
		{"no type", wire.JSON, `{"object":` + pod + `}`, "type: missing", "", wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"null type", wire.JSON, `{"object":` + pod + `,"type":null}`, "type: missing", "", wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"type a number", wire.JSON, `{"type":5,"object":` + pod + `}`, "type: missing", "", wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"unknown type", wire.JSON, `{"type":"X","object":` + pod + `}`, "type: unknown event type", "", wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"no object", wire.JSON, `{"type":"ADDED"}`, "object: missing in ADDED event", watch.Added, wire.ObjectMeta{}},
		{"null object", wire.JSON, `{"type":"DELETED","object":null}`, "object: missing in DELETED event", watch.Deleted, wire.ObjectMeta{}},
		{"object a number", wire.JSON, `{"type":"DELETED","object":5}`, "object: not an object", watch.Deleted, wire.ObjectMeta{}},
		{"object an array", wire.JSON, `{"object":[` + pod + `],"type":"MODIFIED"}`, "object: not an object", watch.Modified, wire.ObjectMeta{}},
		{"empty object", wire.JSON, `{"type":"ADDED","object":{}}`, `object: wrong kind: none, want "Pod"`, watch.Added, wire.ObjectMeta{}},
		{"other kind", wire.JSON, `{"type":"ADDED","object":{"kind":"Node","metadata":{"name":"n"}}}`, `object: wrong kind "Node", want "Pod"`, watch.Added, wire.ObjectMeta{}},
		{"bookmark of another kind", wire.JSON, `{"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"8"}}}`, `object: wrong kind "Node", want "Pod"`, watch.Bookmark, wire.ObjectMeta{}},
		{"uid a number", wire.JSON, `{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"n","uid":5,"resourceVersion":"7"}}}`, "metadata.uid: not a string", watch.Deleted, wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"unknown type", wire.Protobuf, framed(bytesField(1, "X") + bytesField(2, bytesField(1, object))), "type: unknown event type", "", wire.ObjectMeta{Key: "n", Name: "n", ResourceVersion: "7"}},
		{"no object", wire.Protobuf, framed(bytesField(1, "ADDED")), "object: missing in ADDED event", watch.Added, wire.ObjectMeta{}},
		{"empty content", wire.Protobuf, framed(event("k8s\x00" + bytesField(1, bytesField(2, "Pod")))), "object: missing in ADDED event", watch.Added, wire.ObjectMeta{}},
		{"wrong magic", wire.Protobuf, framed(event("{}")), `object: begins with '{', want "k8s\x00"`, watch.Added, wire.ObjectMeta{}},
		{"broken envelope", wire.Protobuf, framed(event("k8s\x00\x12\x05x")), "object.raw: exceeds the enclosing message", watch.Added, wire.ObjectMeta{}},
	} {
		t.Run(tt.format.String()+" "+tt.name, func(t *testing.T) {
			for readerName, reader := range readers {
				n := 0
				err := wire.Watch(reader(strings.NewReader(good[tt.format]+tt.body+good[tt.format])), tt.format, wire.Options{Kind: "Pod"}, func(event *wire.Event) error {
					meta, err := event.Object.Meta()
					switch n++; {
					case event.Err() != nil || n != 2 && (err != nil || meta.Key != "n" || event.Object.Malformed != nil):
						t.Errorf("%s: event %d: %+v, %v, %v", readerName, n, meta, err, event.Err())
					case n == 2 && (event.Type != tt.typed || meta != tt.meta || err == nil || !strings.HasSuffix(err.Error(), tt.want)):
						t.Errorf("%s: %s event of %+v, %v", readerName, event.Type, meta, err)
					}
					return nil
				})
				if n != 3 || err != nil {
					t.Errorf("%s: %d events, %v", readerName, n, err)
				}
			}
		})
	}
}

// TestUnusualWatch checks that members and fields may come in any order, and that white space
// between events is optional.
func TestUnusualWatch(t *testing.T) {
	pod := string(envelope(t, "v1", "Pod", []byte(bytesField(1, bytesField(1, "n")))))
	late := ("k8s\x00" + bytesField(2, bytesField(1, bytesField(1, "n"))) + bytesField(1, bytesField(2, "Pod")))
	object := func(s string) string { return bytesField(2, bytesField(1, s)) }
	framed := func(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }
	for _, tt := range []struct {
		format wire.Format
		body   string
	}{
		{wire.JSON, `{"object":{"metadata":{"name":"n"},"kind":"Pod"},"type":"ADDED"}`},
		{wire.JSON, ` { "type" : "X" , "other" : { "name" : "no" } , "object" : { "kind" : "Node", "metadata" : { "uid" : 5, "name" : "no" } } , "object" : { "kind" : "Pod" , "metadata" : { "name" : "n" } } , "object" : null, "type" : "ADDED" } `},
		{wire.JSON, `{"t\u0079pe":"ADDED","obj\u0065ct":{"kind":"Pod","metadata":{"labels":{"a":"b"},"name":"n"}}}`},
		{wire.Protobuf, framed(object(pod) + bytesField(1, "ADDED"))},
		{wire.Protobuf, framed(bytesField(1, "X") + object("no") + bytesField(9, "x") + object(pod) + bytesField(1, "ADDED"))},
		{wire.Protobuf, framed(bytesField(1, "ADDED") + object(late))},
	} {
		body := tt.body + tt.body
		if tt.format == wire.JSON {
			body += "\n\n" + tt.body
		}
		want := 2 + strings.Count(body, "\n\n")
		n := 0
		err := wire.WatchBuffered(strings.NewReader(body), tt.format, wire.Options{Kind: "Pod"}, 16, func(event *wire.Event) error {
			n++
			meta, err := event.Object.Meta()
			if event.Type != watch.Added || meta.Key != "n" {
				t.Errorf("%q: %s event of %+v, want ADDED of n", tt.body, event.Type, meta)
			}
			return err
		})
		if err != nil || n != want {
			t.Errorf("%q: %d events, %v; want %d", tt.body, n, err, want)
		}
	}
}
