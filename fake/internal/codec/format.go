// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Format encodes and decodes one content type. It is safe for concurrent use.
type Format struct {
	ContentType       string // for a single object or a list
	StreamContentType string // for a watch
	info              runtime.SerializerInfo
}

// Set holds the supported formats. It is safe for concurrent use.
type Set struct {
	formats []*Format // the preferred format first
}

// NewSet returns the formats JSON and protobuf for all types of client-go's scheme. Lists are
// encoded item by item, as by the real server. Encoded objects must have kind and apiVersion set.
func NewSet() *Set {
	factory := serializer.NewCodecFactory(scheme.Scheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
	stream := map[string]string{
		runtime.ContentTypeJSON:     runtime.ContentTypeJSON,
		runtime.ContentTypeProtobuf: runtime.ContentTypeProtobuf + ";stream=watch",
	}
	s := &Set{}
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, _ := runtime.SerializerInfoForMediaType(factory.SupportedMediaTypes(), contentType)
		s.formats = append(s.formats, &Format{ContentType: contentType, StreamContentType: stream[contentType], info: info})
	}
	return s
}

// JSON returns the JSON format, which is the default for requests that name none.
func (s *Set) JSON() *Format { return s.formats[0] }

// Encode writes an object or a list to w.
func (f *Format) Encode(w io.Writer, obj runtime.Object) error {
	return f.info.Serializer.Encode(obj, w)
}

// EncodeEvent returns a watch event encoded as one frame of a watch stream.
func (f *Format) EncodeEvent(eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	var object, frame bytes.Buffer
	if err := f.Encode(&object, obj); err != nil {
		return nil, fmt.Errorf("encode object of %s event: %w", eventType, err)
	}
	encoder := streaming.NewEncoder(f.info.StreamSerializer.NewFrameWriter(&frame), f.info.StreamSerializer.Serializer)
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object.Bytes()}}
	if err := encoder.Encode(event); err != nil {
		return nil, fmt.Errorf("encode %s event: %w", eventType, err)
	}
	return frame.Bytes(), nil
}

// Decode decodes one object into the given object. The given kind is the default for data without
// kind and apiVersion; data that has them overrides it, so the caller must check the returned kind.
// If strict is set, an unknown or duplicate JSON field is an error for which
// [runtime.IsStrictDecodingError] reports true.
func (f *Format) Decode(data []byte, kind schema.GroupVersionKind, into runtime.Object, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	if strict && f.info.StrictSerializer != nil {
		return f.info.StrictSerializer.Decode(data, &kind, into)
	}
	return f.info.Serializer.Decode(data, &kind, into)
}

// IsJSON reports whether the format is JSON.
func (f *Format) IsJSON() bool { return f.ContentType == runtime.ContentTypeJSON }
