// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/layout"
	"github.com/kinformer/kinformer/internal/omit"
	"github.com/kinformer/kinformer/internal/pack"
	"github.com/kinformer/kinformer/internal/partial"
	"github.com/kinformer/kinformer/internal/wire"
)

// FieldReader reads some fields of a collection's objects into structs of the caller, from bytes
// without decoding the rest, and from objects. It is safe for concurrent use.
type FieldReader struct {
	objects  ObjectType
	format   wire.Format     // of the bytes that the server sends
	encoded  *partial.Fields // of the objects that the server sends
	kept     *partial.Fields // of the objects that are kept
	wanted   *omit.Fields    // leaves metadata and the fields of objects in JSON
	protobuf func() (func(raw []byte, into any) error, error)
	metadata func() (*decode.Decoder, error)
}

// NewFieldReader returns a reader of the fields of a struct type, which resolves as package partial
// describes. An error names each field that the kept objects do not have.
func NewFieldReader(objects ObjectType, fields reflect.Type) (*FieldReader, error) {
	encoded, err := partial.Resolve(objects.GoType, fields)
	if err != nil {
		return nil, err
	}
	r := &FieldReader{objects: objects, format: objects.serverFormat(), encoded: encoded, kept: encoded}
	if objects.Partial != nil {
		if r.kept, err = objects.Partial.Fields.Part(fields); err != nil {
			return nil, err
		}
	}
	if r.wanted, err = omit.NewKeeping(objects.GoType, encoded.Paths(), nil); err != nil {
		return nil, err
	}
	r.protobuf = sync.OnceValues(func() (func(raw []byte, into any) error, error) {
		return readerOfBytes(objects.GoType, encoded)
	})
	r.metadata = sync.OnceValues(func() (*decode.Decoder, error) {
		return decode.NewPartial(partial.OnlyMetadata(), decode.Options{SmallTables: true})
	})
	return r, nil
}

// Omitted returns an error if some fields that the reader reads are omitted from the objects.
func (r *FieldReader) Omitted(omitted *omit.Fields) error {
	for _, names := range r.encoded.Paths() {
		if path, ok := omitted.Cuts(names); ok {
			return fmt.Errorf("OmitFields %q leaves it out", path)
		}
	}
	return nil
}

// Read reads the fields of a stored object into a zero struct. A panic of a field's own decoder is
// an error.
func (r *FieldReader) Read(stored pack.Stored, into any) error {
	_, err := feed.CatchPanic(func() (struct{}, error) { return struct{}{}, r.read(stored, into) })
	return err
}

func (r *FieldReader) read(stored pack.Stored, into any) error {
	if stored.Packed.IsZero() {
		return r.readObject(stored.Value, into)
	}
	return withBytes(stored.Packed, func(raw []byte) error {
		return r.readBytes(raw, r.objects.storedFormat(raw, r.format), into)
	})
}

// readObject reads the fields of a kept object.
func (r *FieldReader) readObject(obj, into any) error {
	switch u, ok := obj.(*unstructured.Unstructured); {
	case ok:
		raw, err := encodeUnstructured(u)
		if err != nil {
			return fmt.Errorf("encode %s: %w", r.objects, err)
		}
		return r.readJSON(raw, into)
	case r.objects.Partial != nil:
		obj = reflect.ValueOf(obj).Elem().FieldByName("Fields").Addr().Interface()
	}
	r.kept.Copy(into, obj)
	return nil
}

// readBytes reads the fields from an object's bytes.
func (r *FieldReader) readBytes(raw []byte, format wire.Format, into any) error {
	if format == wire.JSON {
		return r.readJSON(raw, into)
	}
	read, err := r.protobuf()
	if err != nil {
		return err
	}
	return read(raw, into)
}

// readerOfBytes returns a function that reads fields of objects in protobuf: those of a type whose
// fields cannot be decoded apart from whole objects.
func readerOfBytes(goType reflect.Type, fields *partial.Fields) (func(raw []byte, into any) error, error) {
	options := decode.Options{SmallTables: true}
	if decoder, err := decode.NewPartial(partial.OnlyFields(fields), options); err == nil {
		return func(raw []byte, into any) error { return decoder.DecodeInto(into, raw) }, nil
	}
	whole, err := decode.New(goType.Elem(), options)
	if err != nil {
		return nil, err
	}
	return func(raw []byte, into any) error {
		obj, err := whole.Decode(raw)
		if err == nil {
			fields.Copy(into, obj)
		}
		return err
	}, nil
}

// readJSON cuts the fields out before it decodes them, which takes a fraction of the time.
func (r *FieldReader) readJSON(raw []byte, into any) error {
	return r.withWanted(raw, func(cut []byte) error {
		return withoutValues(kjson.UnmarshalCaseSensitivePreserveInts(cut, into))
	})
}

// withWanted calls use with metadata and the fields of an object in JSON or, if it cannot be cut,
// with the object.
func (r *FieldReader) withWanted(raw []byte, use func(cut []byte) error) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	cut, ok := r.wanted.AppendJSON((*buffer)[:0], raw, layout.Object{})
	if *buffer = cut.Bytes; ok {
		raw = cut.Bytes
	}
	return use(raw)
}

// Metadata returns the metadata of a stored object without managedFields. It is the caller's.
func (r *FieldReader) Metadata(stored pack.Stored) (metadata metav1.ObjectMeta, err error) {
	if !stored.Packed.IsZero() {
		err = withBytes(stored.Packed, func(raw []byte) error {
			return r.readMetadata(raw, r.objects.storedFormat(raw, r.format), &metadata)
		})
		return metadata, err
	}
	if u, ok := stored.Value.(*unstructured.Unstructured); ok {
		raw, err := encodeUnstructured(u)
		if err == nil {
			err = r.readMetadata(raw, wire.JSON, &metadata)
		}
		return metadata, err
	}
	partial.CopyMetadata(&metadata, stored.Value)
	return metadata, nil
}

func (r *FieldReader) readMetadata(raw []byte, format wire.Format, into *metav1.ObjectMeta) error {
	if format == wire.JSON {
		var object partialObject
		err := r.withWanted(raw, func(cut []byte) error {
			return withoutValues(kjson.UnmarshalCaseSensitivePreserveInts(cut, &object))
		})
		*into = object.Metadata.ObjectMeta
		return err
	}
	decoder, err := r.metadata()
	if err != nil {
		return err
	}
	object, ok := metadataScratch.Get().(*metav1.PartialObjectMetadata)
	if !ok {
		object = new(metav1.PartialObjectMetadata)
	}
	if err := decoder.DecodeInto(object, raw); err != nil {
		return err
	}
	*into, object.ObjectMeta = object.ObjectMeta, metav1.ObjectMeta{}
	metadataScratch.Put(object)
	return nil
}

// metadataScratch holds objects without metadata, since one on the stack would escape to the heap.
var metadataScratch sync.Pool //nolint:gochecknoglobals // of *metav1.PartialObjectMetadata
