// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/testing/cachetest/memory"
	"github.com/kinformer/kinformer/internal/wire"
)

// endless reads head, then the same text n times, then tail. Its memory does not depend on n.
func endless(head, text string, n int, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), &repeatReader{b: []byte(text), n: n}, strings.NewReader(tail))
}

// bounds are those of the tests of hostile bodies. The bodies have a thousand times as many bytes.
const (
	objectBound = 64 << 10
	headerBound = 16 << 10
	hostileSize = 64 << 20
)

const (
	listHead  = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},`
	eventHead = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"8"`
)

// prefix returns a protobuf field with a length of n, without its bytes.
func prefix[N int | int64](field int, n N) string {
	b := binary.AppendUvarint(nil, uint64(field)<<3|2)
	return string(binary.AppendUvarint(b, uint64(n)))
}

// frame returns the head of a protobuf watch event of type t that has n bytes in the object's
// field, whose message begins with text.
func frame(t, text string, n int) string {
	envelope := "k8s\x00" + bytesField(1, bytesField(1, "v1")+bytesField(2, "Pod")) + prefix(2, len(text)+n) + text
	extension := prefix(1, len(envelope)+n) + envelope
	event := bytesField(1, t) + prefix(2, len(extension)+n) + extension
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(event)+n))) + event
}

// hostileBodies are bodies that exceed a bound a thousandfold. The error names the bound, and the
// field where it is known.
var hostileBodies = map[string]struct {
	format wire.Format
	body   func() io.Reader
	want   string
}{
	"continue token": {wire.JSON, func() io.Reader {
		return endless(`{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"`, "x", hostileSize, `"},"items":[]}`)
	}, "metadata: larger than allowed: at least 65489 bytes, Limits.Other is 16384"},
	"continue token after the items": {wire.JSON, func() io.Reader {
		return endless(listHead+`"items":[],"metadata":{"continue":"`, "x", hostileSize, `"}}`)
	}, "Limits.Other"},
	"version of a list":   {wire.JSON, func() io.Reader { return endless(`{"metadata":{"resourceVersion":"`, "1", hostileSize, `"}}`) }, "metadata: larger"},
	"kind":                {wire.JSON, func() io.Reader { return endless(`{"kind":"`, "x", hostileSize, `"}`) }, "kind: larger"},
	"apiVersion":          {wire.JSON, func() io.Reader { return endless(`{"apiVersion":"`, "x", hostileSize, `"}`) }, "apiVersion: larger"},
	"unknown member":      {wire.JSON, func() io.Reader { return endless(listHead+`"x":"`, "x", hostileSize, `"}`) }, "another member: larger"},
	"name of a member":    {wire.JSON, func() io.Reader { return endless(listHead+`"`, "x", hostileSize, `":1}`) }, "Limits.Other"},
	"number":              {wire.JSON, func() io.Reader { return endless(listHead+`"x":`, "1", hostileSize, `}`) }, "Limits.Other"},
	"members before kind": {wire.JSON, func() io.Reader { return endless(`{`, `"x":1,`, hostileSize/6, `"kind":"PodList"}`) }, "Limits.Other"},
	"message of a Status": {wire.JSON, func() io.Reader {
		return endless(`{"kind":"Status","apiVersion":"v1","message":"`, "x", hostileSize, `"}`)
	}, "message: larger"},
	"null items":  {wire.JSON, func() io.Reader { return endless(`{"items":n`, "x", hostileSize, "") }, "items: unexpected"},
	"item":        {wire.JSON, func() io.Reader { return endless(listHead+`"items":[{"data":"`, "x", hostileSize, `"}]}`) }, "item 0, byte"},
	"white space": {wire.JSON, func() io.Reader { return endless("", " \n", hostileSize/2, listHead+`"items":[]}`) }, "white space: larger"},
	"white space between items": {wire.JSON, func() io.Reader {
		return endless(listHead+`"items":[{}`, " ", hostileSize, `,{}]}`)
	}, "Limits.Other is 16384"},
	"nested arrays":  {wire.JSON, func() io.Reader { return endless(listHead+`"x":`, "[", hostileSize, "") }, "nested deeper than 10000 levels"},
	"nested objects": {wire.JSON, func() io.Reader { return endless(listHead+`"items":[`, `{"a":`, hostileSize, "") }, "nested deeper than 10000 levels"},
	"metadata, protobuf": {wire.Protobuf, func() io.Reader {
		return endless(protobufList(hostileSize)+prefix(1, hostileSize), "x", hostileSize, "")
	}, "metadata: larger than allowed: at least 67108864 bytes, Limits.Other is 16384"},
	"typeMeta, protobuf": {wire.Protobuf, func() io.Reader { return endless("k8s\x00"+prefix(1, hostileSize), "x", hostileSize, "") }, "typeMeta: larger"},
	"Status, protobuf": {wire.Protobuf, func() io.Reader {
		return endless("k8s\x00"+bytesField(1, bytesField(2, "Status"))+prefix(2, hostileSize), "x", hostileSize, "")
	}, "raw: larger"},
	"item, protobuf": {wire.Protobuf, func() io.Reader {
		return endless(protobufList(hostileSize)+prefix(2, hostileSize), "x", hostileSize, "")
	}, "Limits.Object is 65536"},
	"negative, protobuf": {wire.Protobuf, func() io.Reader { return strings.NewReader(protobufList(hostileSize) + prefix(2, -1)) }, "negative length"},
	"over 2^31, protobuf": {wire.Protobuf, func() io.Reader {
		return strings.NewReader(protobufList(int64(1<<32)) + prefix(2, int64(1<<31)) + "xxxxxxxxxx")
	}, "Limits.Object"},
}

// protobufList returns the head of a list in protobuf whose content has n bytes and its prefix.
func protobufList[N int | int64](n N) string {
	return "k8s\x00" + bytesField(1, bytesField(2, "PodList")) + prefix(2, n+6)
}

// TestListHoldsNoMoreThanItsBounds splits lists that exceed a bound. The error names it, and what
// was allocated depends on the bounds alone.
func TestListHoldsNoMoreThanItsBounds(t *testing.T) {
	for name, hostile := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			options := wire.Options{MaxItemSize: objectBound, MaxHeaderSize: headerBound}
			memory.ExpectProportional(t, objectBound, 8, func() {
				_, err := wire.List(hostile.body(), hostile.format, options, ignore)
				expectBound(t, err, hostile.want)
			})
		})
	}
}

// expectBound checks that an error, in a text of a bounded length, says what is wrong.
func expectBound(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
		t.Errorf("error %.300v, want %q", err, want)
	}
	if strings.Contains(want, "Limits.") && !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("error %.300v, want ErrTooLarge", err)
	}
}

// hostileWatches are the same for watches.
var hostileWatches = map[string]struct {
	format wire.Format
	body   func() io.Reader
	want   string
}{
	"event":         {wire.JSON, func() io.Reader { return endless(`{"type":"ADDED","x":"`, "x", hostileSize, `"}`) }, "event 0, byte 65536: larger than allowed: at least 65536 bytes, Limits.Object is 65536"},
	"type":          {wire.JSON, func() io.Reader { return endless(`{"type":"`, "x", hostileSize, `"}`) }, "Limits.Object"},
	"bookmark":      {wire.JSON, func() io.Reader { return endless(eventHead+`,"annotations":{"a":"`, "x", 2*headerBound, `"}}}}`) }, "object: larger than allowed: at least 32858 bytes, Limits.Other is 16384"},
	"huge bookmark": {wire.JSON, func() io.Reader { return endless(eventHead+`,"name":"a","x":"`, "x", hostileSize, `"}}}`) }, "Limits.Object"},
	"ERROR": {wire.JSON, func() io.Reader {
		return endless(`{"type":"ERROR","object":{"kind":"Status","message":"`, "x", 2*headerBound, `"}}`)
	}, "Limits.Other"},
	"huge ERROR": {wire.JSON, func() io.Reader {
		return endless(`{"type":"ERROR","object":{"kind":"Status","metadata":{"name":"a"},"message":"`, "x", hostileSize, `"}}`)
	}, "Limits.Object"},
	"Status": {wire.JSON, func() io.Reader {
		return endless(`{"type":"MODIFIED","object":{"kind":"Status","message":"`, "x", 2*headerBound, `"}}`)
	}, "Limits.Other"},
	"unframed Status": {wire.JSON, func() io.Reader { return endless(`{"kind":"Status","message":"`, "x", 2*headerBound, `"}`) }, "single object"},
	"nested":          {wire.JSON, func() io.Reader { return endless(`{"type":`, "[", hostileSize, "") }, "nested deeper"},
	"unknown kind": {wire.JSON, func() io.Reader {
		return endless(`{"type":"ADDED","object":{"kind":"`, "x", objectBound/2, `","metadata":{}}}`)
	}, `wrong kind "xxx`},
	"bookmark, proto":   {wire.Protobuf, func() io.Reader { return endless(frame("BOOKMARK", "", 2*headerBound), "\x7a\x00", headerBound, "") }, "object: larger than allowed: at least 32768 bytes, Limits.Other is 16384"},
	"ERROR, proto":      {wire.Protobuf, func() io.Reader { return endless(frame("ERROR", "", 2*headerBound), "\x7a\x00", headerBound, "") }, "Limits.Other"},
	"frame without end": {wire.Protobuf, func() io.Reader { return strings.NewReader(frame("ADDED", "", hostileSize) + "x") }, "Limits.Object"},
	"frame of 2^32":     {wire.Protobuf, func() io.Reader { return strings.NewReader("\xff\xff\xff\xffxxxxxxxxxx") }, "Limits.Object"},
	"empty frame":       {wire.Protobuf, func() io.Reader { return endless("", "\x00\x00\x00\x00", hostileSize, "") }, "type: missing"},
	"white space":       {wire.JSON, func() io.Reader { return endless("", " \n", hostileSize/2, "") }, "white space: larger"},
	"empty event":       {wire.JSON, func() io.Reader { return endless("", "{}", hostileSize, "") }, "single object"},
	"unframed, proto": {wire.Protobuf, func() io.Reader {
		return endless("k8s\x00"+bytesField(1, bytesField(2, "Status"))+prefix(2, 2*headerBound), "x", 2*headerBound, "")
	}, "single object"},
}

// TestWatchHoldsNoMoreThanItsBounds is the same for watches, whose bookmarks and errors are decoded
// whole.
func TestWatchHoldsNoMoreThanItsBounds(t *testing.T) {
	for name, hostile := range hostileWatches {
		t.Run(name, func(t *testing.T) {
			for _, skip := range []bool{false, true} {
				options := wire.Options{MaxItemSize: objectBound, MaxHeaderSize: headerBound, SkipOversized: skip, Kind: "Pod"}
				memory.ExpectProportional(t, objectBound, 8, func() {
					err := wire.Watch(hostile.body(), hostile.format, options, func(event *wire.Event) error { return cmp.Or(event.Err(), event.Object.Malformed) })
					expectBound(t, err, hostile.want)
				})
			}
		})
	}
}

// TestEndlessBodiesNeedNoMemory splits bodies that have nothing but what is skipped, and ones of
// millions of the smallest items.
func TestEndlessBodiesNeedNoMemory(t *testing.T) {
	const million = 1 << 20
	items := 0
	count := func(*wire.Item) error { items++; return nil }
	for name, split := range map[string]func() error{
		"members": func() error {
			_, err := wire.List(endless(listHead, `"x":1,`, million, `"items":[]}`), wire.JSON, wire.Options{}, count)
			return err
		},
		"empty items": func() error {
			_, err := wire.List(endless(listHead+`"items":[`, `{},`, million, `{}]}`), wire.JSON, wire.Options{}, count)
			return err
		},
		"empty items, protobuf": func() error {
			_, err := wire.List(endless(protobufList(2*million-6), "\x12\x00", million, ""), wire.Protobuf, wire.Options{}, count)
			return err
		},
		"fields, protobuf": func() error {
			_, err := wire.List(endless(protobufList(2*million-6), "\x78\x01", million, ""), wire.Protobuf, wire.Options{}, count)
			return err
		},
		"groups, protobuf": func() error {
			_, err := wire.List(io.MultiReader(endless(protobufList(2*million-6), "\x7b", million, ""), endless("", "\x7c", million, "")), wire.Protobuf, wire.Options{}, count)
			return err
		},
		"bookmarks": func() error {
			return wire.Watch(endless("", eventHead+"}}}\n", million/32, ""), wire.JSON, wire.Options{}, func(*wire.Event) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			items = 0
			memory.ExpectProportional(t, 0, 0, func() {
				if err := split(); err != nil {
					t.Error(err)
				}
			})
			if strings.Contains(name, "items") && items < million {
				t.Errorf("%d items, want %d", items, million)
			}
		})
	}
}

// TestLabelsOfAnObjectAreBoundedByItsSize reads the labels of an object that has nothing but
// labels.
func TestLabelsOfAnObjectAreBoundedByItsSize(t *testing.T) {
	const n = 100_000
	var labels strings.Builder
	for i := range n {
		labels.WriteString(bytesField(11, bytesField(1, fmt.Sprintf("%05d", i))))
	}
	raw := []byte(prefix(1, labels.Len()) + labels.String())
	item := parse(t, raw, wire.Protobuf)
	memory.ExpectProportional(t, len(raw), 40, func() {
		if got, _, err := labelsOf(&item); err != nil || len(got) != n {
			t.Errorf("%d labels, %v", len(got), err)
		}
	})
}
