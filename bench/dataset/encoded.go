package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is what can be encoded: a pointer to a generated type.
type Object interface {
	metav1.Object
	Marshal() ([]byte, error)
}

// Encoded holds objects of one kind as an API server sends them in protobuf. They
// are encoded once; a list or a watch's frames are then put together from the
// bytes.
//
// It is for one goroutine, except that what List and Raw returned may be read by
// others as long as nobody calls Touch.
type Encoded struct {
	apiVersion, kind string
	items            []encodedItem
}

// encodedItem is an object, and where its resourceVersion is.
type encodedItem struct {
	framed    []byte // tag and length of a list's item, then the object
	start     int    // of the object
	versionAt int    // of the ten digits
}

// Tags of the messages' fields, all of them of fields that have a length.
const (
	tag1 = 1<<3 | 2
	tag2 = 2<<3 | 2
	tag3 = 3<<3 | 2
	tag4 = 4<<3 | 2

	tagListItem        = tag2
	tagMetadata        = tag1
	tagResourceVersion = 6<<3 | 2
)

// envelope is the magic that every protobuf body of an API server begins with, and
// every object inside a watch's frame.
const envelope = "k8s\x00"

// Encode encodes objects of the kind, such as "v1" and "Pod". Their versions must
// be those of Version.
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

// Raw returns the i-th object's bytes, which are not to be changed: what Unmarshal
// of its type takes.
func (e *Encoded) Raw(i int) []byte { return e.items[i].framed[e.items[i].start:] }

// Touch gives the i-th object the n-th version.
func (e *Encoded) Touch(i, n int) {
	item := &e.items[i]
	copy(item.framed[item.versionAt:], Version(n))
}

// List returns the body of a list of all objects at the n-th version, as buffers to
// be written or read in turn. Those of the objects are shared with every other
// list.
func (e *Encoded) List(n int) net.Buffers {
	meta := (&metav1.ListMeta{ResourceVersion: Version(n)})
	metaBytes, err := meta.Marshal()
	if err != nil {
		panic("a ListMeta cannot be encoded: " + err.Error())
	}
	head := appendField(nil, tag1, metaBytes)
	size := len(head)
	for _, item := range e.items {
		size += len(item.framed)
	}
	body := make(net.Buffers, 0, len(e.items)+3)
	body = append(body, append(e.open(e.kind+"List", size), head...))
	for _, item := range e.items {
		body = append(body, item.framed)
	}
	return append(body, closing())
}

// ListSize returns the number of bytes of a body.
func ListSize(body net.Buffers) (size int64) {
	for _, buffer := range body {
		size += int64(len(buffer))
	}
	return size
}

// Frame returns a frame of a watch's stream: the length, and an event of the i-th
// object as it is.
func (e *Encoded) Frame(eventType watch.EventType, i int) []byte {
	raw := e.Raw(i)
	object := bytes.Join([][]byte{e.open(e.kind, len(raw)), raw, closing()}, nil)
	event := appendField(nil, tag1, []byte(eventType))
	event = appendField(event, tag2, appendField(nil, tag1, object))
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(event)), uint32(len(event))), event...)
}

// open returns the beginning of an envelope around so many bytes of a kind;
// closing is its end: content encoding and content type, which say nothing.
func (e *Encoded) open(kind string, size int) []byte {
	typeMeta := appendField(appendField(nil, tag1, []byte(e.apiVersion)), tag2, []byte(kind))
	opening := append([]byte(envelope), appendField(nil, tag1, typeMeta)...)
	return binary.AppendUvarint(append(opening, tag2), uint64(size))
}

func closing() []byte { return []byte{tag3, 0, tag4, 0} }

func appendField(b []byte, tag byte, content []byte) []byte {
	return append(binary.AppendUvarint(append(b, tag), uint64(len(content))), content...)
}

// versionIn returns where in an object the digits of metadata.resourceVersion are.
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

// findField returns where the content of a field is, among fields that all have a
// length, as an object's metadata and all before its resourceVersion do.
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
