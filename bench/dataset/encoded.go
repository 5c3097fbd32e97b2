package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
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
	apiVersion, kind string
	items            []encodedItem
}

// encodedItem is an encoded object.
type encodedItem struct {
	framed  []byte // tag and length of a list item, then the object
	start   int    // offset of the object
	version int    // offset of the ten digits of its resourceVersion
}

// Tags of length-delimited fields.
const (
	tag1 = 1<<3 | 2
	tag2 = 2<<3 | 2
	tag3 = 3<<3 | 2
	tag4 = 4<<3 | 2

	tagListItem        = tag2
	tagMetadata        = tag1
	tagResourceVersion = 6<<3 | 2
)

// magic precedes every protobuf body of an API server, and every object in a watch frame.
const magic = "k8s\x00"

// Encode encodes objects of a kind, for instance "v1" and "Pod". Their resource versions must be
// results of Version.
func Encode[T Object](apiVersion, kind string, objects []T) (*Encoded, error) {
	e := &Encoded{apiVersion: apiVersion, kind: kind, items: make([]encodedItem, 0, len(objects))}
	for _, object := range objects {
		raw, err := object.Marshal()
		if err != nil {
			return nil, fmt.Errorf("encode %s %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
		}
		version, err := versionIn(raw)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
		}
		framed := appendField(make([]byte, 0, len(raw)+6), tagListItem, raw)
		start := len(framed) - len(raw)
		e.items = append(e.items, encodedItem{framed, start, start + version})
	}
	return e, nil
}

// Len returns the number of objects.
func (e *Encoded) Len() int { return len(e.items) }

// Raw returns the i-th object's bytes as Marshal returned them. They must not be changed.
func (e *Encoded) Raw(i int) []byte { return e.items[i].framed[e.items[i].start:] }

// Touch sets the i-th object's resourceVersion to Version(n).
func (e *Encoded) Touch(i, n int) {
	item := &e.items[i]
	copy(item.framed[item.version:], Version(n))
}

// List returns the body of a list of all objects at Version(n). All lists share the buffers of the
// objects.
func (e *Encoded) List(n int) net.Buffers {
	head, err := listHead(n)
	if err != nil {
		panic(err)
	}
	size := len(head)
	for _, item := range e.items {
		size += len(item.framed)
	}
	body := make(net.Buffers, 0, len(e.items)+3)
	body = append(body, append(openEnvelope(e.apiVersion, e.kind+"List", size), head...))
	for _, item := range e.items {
		body = append(body, item.framed)
	}
	return append(body, closeEnvelope())
}

// listHead returns the field of a list before its items: the metadata, at Version(n).
func listHead(n int) ([]byte, error) {
	meta, err := (&metav1.ListMeta{ResourceVersion: Version(n)}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode list metadata: %w", err)
	}
	return appendField(nil, tag1, meta), nil
}

// ListSize returns the size of a body in bytes.
func ListSize(body net.Buffers) (size int64) {
	for _, buffer := range body {
		size += int64(len(buffer))
	}
	return size
}

// Frame returns a frame of a watch: the length and an event with the i-th object.
func (e *Encoded) Frame(eventType watch.EventType, i int) []byte {
	raw := e.Raw(i)
	object := bytes.Join([][]byte{openEnvelope(e.apiVersion, e.kind, len(raw)), raw, closeEnvelope()}, nil)
	event := appendField(nil, tag1, []byte(eventType))
	event = appendField(event, tag2, appendField(nil, tag1, object))
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(event)), uint32(len(event))), event...)
}

// openEnvelope returns the start of an envelope (runtime.Unknown) around an object of the given
// size.
func openEnvelope(apiVersion, kind string, size int) []byte {
	typeMeta := appendField(appendField(nil, tag1, []byte(apiVersion)), tag2, []byte(kind))
	opening := append([]byte(magic), appendField(nil, tag1, typeMeta)...)
	return binary.AppendUvarint(append(opening, tag2), uint64(size))
}

// closeEnvelope returns the end of an envelope: empty content encoding and content type.
func closeEnvelope() []byte { return []byte{tag3, 0, tag4, 0} }

func appendField(b []byte, tag byte, content []byte) []byte {
	return append(binary.AppendUvarint(append(b, tag), uint64(len(content))), content...)
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
