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

// Format is one content type. It is immutable and may be used from any goroutine.
type Format struct {
	ContentType       string // of a single object or a list
	StreamContentType string // of a watch
	info              runtime.SerializerInfo
}

// Set is the formats that are spoken. It is immutable.
type Set struct {
	formats []*Format // the preferred one first
}

// NewSet returns JSON and protobuf for all types of client-go's scheme. Lists are encoded item by item, as by the real server, and objects are written
// as they are: kind and apiVersion must be set in them.
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

// JSON is the format for those who do not ask for one.
func (s *Set) JSON() *Format { return s.formats[0] }

// Encode writes an object or a list.
func (f *Format) Encode(w io.Writer, obj runtime.Object) error {
	return f.info.Serializer.Encode(obj, w)
}

// EncodeEvent returns one frame of a watch.
func (f *Format) EncodeEvent(eventType watch.EventType, obj runtime.Object) ([]byte, error) {
	var object, frame bytes.Buffer
	if err := f.Encode(&object, obj); err != nil {
		return nil, fmt.Errorf("cannot encode the object of a %s event: %w", eventType, err)
	}
	encoder := streaming.NewEncoder(f.info.StreamSerializer.NewFrameWriter(&frame), f.info.StreamSerializer.Serializer)
	event := &metav1.WatchEvent{Type: string(eventType), Object: runtime.RawExtension{Raw: object.Bytes()}}
	if err := encoder.Encode(event); err != nil {
		return nil, fmt.Errorf("cannot frame a %s event: %w", eventType, err)
	}
	return frame.Bytes(), nil
}

// Decode reads one object of the given type. Its own kind and apiVersion win, where it has them, over the default; so the caller checks what came.
// If it is strict an unknown or a repeated field of JSON is an error that runtime.IsStrictDecodingError knows.
func (f *Format) Decode(data []byte, kind schema.GroupVersionKind, into runtime.Object, strict bool) (runtime.Object, *schema.GroupVersionKind, error) {
	if strict && f.info.StrictSerializer != nil {
		return f.info.StrictSerializer.Decode(data, &kind, into)
	}
	return f.info.Serializer.Decode(data, &kind, into)
}

// IsJSON tells whether this is the format for those who do not ask for one.
func (f *Format) IsJSON() bool { return f.ContentType == runtime.ContentTypeJSON }
