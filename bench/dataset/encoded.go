// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"encoding/binary"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/testing/envelope"
)

// Object is an object that can be encoded in protobuf: a pointer to a generated type.
type Object interface {
	metav1.Object
	Marshal() ([]byte, error)
}

// Encoded holds objects of one kind in protobuf, as an API server sends them. Each object is
// encoded once. The bodies of lists and the frames of watches consist of these bytes.
//
// Its methods are not safe for concurrent use. The results of List and Raw may be read concurrently
// until the next call of Touch.
type Encoded struct {
	envelope envelope.Envelope
	items    []encodedItem
	shard    *metav1.ShardInfo // that lists state, nil if there is none
}

// encodedItem is an encoded object.
type encodedItem struct {
	framed  []byte // tag and length of a list item, then the object
	start   int    // offset of the object
	version int    // offset of the ten digits of its resourceVersion
}

// Tags of length-delimited fields on the path to the resourceVersion.
const (
	tagMetadata        = 1<<3 | 2
	tagResourceVersion = 6<<3 | 2
)

// Encode encodes objects of a kind, for instance "v1" and "Pod". Their resource versions must be
// results of Version.
func Encode[T Object](apiVersion, kind string, objects []T) (*Encoded, error) {
	e := &Encoded{envelope: envelope.Of(apiVersion, kind, false), items: make([]encodedItem, 0, len(objects))}
	for _, object := range objects {
		raw, err := object.Marshal()
		if err != nil {
			return nil, fmt.Errorf("encode %s %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
		}
		version, err := versionIn(raw)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
		}
		framed := envelope.AppendItem(make([]byte, 0, len(raw)+6), raw)
		start := len(framed) - len(raw)
		e.items = append(e.items, encodedItem{framed, start, start + version})
	}
	return e, nil
}

// Len returns the number of objects.
func (e *Encoded) Len() int { return len(e.items) }

// ListContentType returns the content type of the lists.
func (e *Encoded) ListContentType() string { return e.envelope.ListContentType() }

// WatchContentType returns the content type of a watch.
func (e *Encoded) WatchContentType() string { return e.envelope.WatchContentType() }

// Raw returns the i-th object's bytes as Marshal returned them. They must not be changed.
func (e *Encoded) Raw(i int) []byte { return e.items[i].framed[e.items[i].start:] }

// Shard returns the objects that keep selects by their number. Lists of them state the shard
// selector. The result shares the bytes of the objects, and so what Touch changes.
func (e *Encoded) Shard(selector string, keep func(i int) bool) *Encoded {
	shard := &Encoded{envelope: e.envelope, shard: &metav1.ShardInfo{Selector: selector}}
	for i, item := range e.items {
		if keep(i) {
			shard.items = append(shard.items, item)
		}
	}
	return shard
}

// Touch sets the i-th object's resourceVersion to Version(n).
func (e *Encoded) Touch(i, n int) {
	item := &e.items[i]
	copy(item.framed[item.version:], Version(n))
}

// All returns the page with all objects.
func (e *Encoded) All() Page { return Page{End: e.Len()} }

// List returns the body of a page of a list at Version(n). All lists share the buffers of the
// objects.
func (e *Encoded) List(n int, page Page) net.Buffers {
	size, items := int64(0), e.items[page.First:page.End]
	for _, item := range items {
		size += int64(len(item.framed))
	}
	meta := listMeta(n)
	meta.ShardInfo = e.shard
	page.setRest(&meta, e.Len())
	start, err := e.envelope.ListStart(meta, size)
	if err != nil {
		panic(err)
	}
	body := append(make(net.Buffers, 0, len(items)+2), start)
	for _, item := range items {
		body = append(body, item.framed)
	}
	return append(body, e.envelope.ListEnd())
}

// listMeta returns the metadata of a list at Version(n).
func listMeta(n int) metav1.ListMeta { return metav1.ListMeta{ResourceVersion: Version(n)} }

// ListSize returns the size of a body in bytes.
func ListSize(body net.Buffers) (size int64) {
	for _, buffer := range body {
		size += int64(len(buffer))
	}
	return size
}

// Frame returns a frame of a watch: the length and an event with the i-th object.
func (e *Encoded) Frame(eventType watch.EventType, i int) []byte {
	return e.envelope.Frame(eventType, e.Raw(i))
}

// versionIn returns the offset of metadata.resourceVersion in an object.
func versionIn(object []byte) (int, error) {
	from, to, ok := findField(object, 0, len(object), tagMetadata)
	if ok {
		from, to, ok = findField(object, from, to, tagResourceVersion)
	}
	if !ok || to-from != len(Version(0)) {
		return 0, fmt.Errorf("metadata.resourceVersion %q is not one of dataset.Version", object[from:to])
	}
	return from, nil
}

// findField returns the bounds of a field's content in b[from:to]. All fields before it must be
// length-delimited, as those before an object's resourceVersion are.
func findField(b []byte, from, to int, tag byte) (start, end int, ok bool) {
	for from < to {
		length, n := binary.Uvarint(b[from+1 : to])
		start, end = from+1+n, from+1+n+int(length)
		if n <= 0 || end > to || b[from]&7 != 2 {
			return from, from, false
		}
		if b[from] == tag {
			return start, end, true
		}
		from = end
	}
	return from, from, false
}
