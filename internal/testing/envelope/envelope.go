// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package envelope encodes what an API server sends around objects that are encoded already: the
// bodies of lists and the frames of watches, in protobuf and in JSON. Package wire takes them apart
// again.
package envelope

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Envelope encloses objects of one kind, all in the same encoding.
type Envelope struct {
	Object metav1.TypeMeta // apiVersion and kind of an object
	List   metav1.TypeMeta // and of a list
	JSON   bool            // the objects are JSON, not protobuf
}

// Of returns the envelope of a kind whose list kind has the suffix "List".
func Of(apiVersion, kind string, inJSON bool) Envelope {
	return Envelope{
		Object: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		List:   metav1.TypeMeta{APIVersion: apiVersion, Kind: kind + "List"},
		JSON:   inJSON,
	}
}

// ListContentType returns the content type of a list.
func (e Envelope) ListContentType() string {
	if e.JSON {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeProtobuf
}

// WatchContentType returns the content type of a watch.
func (e Envelope) WatchContentType() string {
	if e.JSON {
		return runtime.ContentTypeJSON
	}
	return runtime.ContentTypeProtobuf + ";stream=watch"
}

// ListStart returns the body of a list before its items. Their size, the sum of ItemSize, is not
// used for JSON.
func (e Envelope) ListStart(meta metav1.ListMeta, itemsSize int64) ([]byte, error) {
	if !e.JSON {
		return protobufListStart(e.List, meta, itemsSize)
	}
	head, err := json.Marshal(struct {
		metav1.TypeMeta
		Metadata metav1.ListMeta `json:"metadata"`
	}{e.List, meta})
	if err != nil {
		return nil, err
	}
	return append(head[:len(head)-1], `,"items":[`...), nil
}

// ListEnd returns the body of a list after its items.
func (e Envelope) ListEnd() []byte {
	if e.JSON {
		return []byte("]}")
	}
	return []byte(closing)
}

// Frame returns an event of a watch. An object in JSON must have an apiVersion and a kind.
func (e Envelope) Frame(eventType watch.EventType, object []byte) []byte {
	if e.JSON {
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", string(eventType), object)
	}
	return protobufFrame(string(eventType), e.Object, object)
}

// Bookmark returns a bookmark of a watch. That which ends the initial events of a WatchList is
// annotated.
func (e Envelope) Bookmark(resourceVersion string, initialEventsEnd bool) ([]byte, error) {
	object := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: resourceVersion}}
	if initialEventsEnd {
		object.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	encode := object.Marshal // every type has its metadata in the same field
	if e.JSON {
		object.TypeMeta = e.Object
		encode = func() ([]byte, error) { return json.Marshal(object) }
	}
	encoded, err := encode()
	if err != nil {
		return nil, err
	}
	return e.Frame(watch.Bookmark, encoded), nil
}

// ListWriter writes the body of a list.
type ListWriter struct {
	envelope  Envelope
	out       *bufio.Writer
	item      []byte // reused
	separator string
}

// NewListWriter starts the body of a list; see ListStart.
func (e Envelope) NewListWriter(out io.Writer, meta metav1.ListMeta, itemsSize int64) (*ListWriter, error) {
	start, err := e.ListStart(meta, itemsSize)
	if err != nil {
		return nil, err
	}
	w := &ListWriter{envelope: e, out: bufio.NewWriterSize(out, 256<<10)}
	_, _ = w.out.Write(start) // Close returns the error
	return w, nil
}

// Write writes an item. An error of the underlying writer is permanent.
func (w *ListWriter) Write(object []byte) error {
	if !w.envelope.JSON {
		w.item = AppendItem(w.item[:0], object)
		_, err := w.out.Write(w.item)
		return err
	}
	_, _ = w.out.WriteString(w.separator)
	w.separator = ","
	_, err := w.out.Write(object)
	return err
}

// Close writes the end of the body.
func (w *ListWriter) Close() error {
	_, _ = w.out.Write(w.envelope.ListEnd())
	return w.out.Flush()
}
