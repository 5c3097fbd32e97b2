// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/kinformer/kinformer/internal/decode"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
)

// PartialTypeOf returns the type of a collection whose server sends objects of an API type, and of
// which only the metadata and the fields of a struct are kept. Kept objects are of a struct type
// with TypeMeta, ObjectMeta and, as Fields, that struct. The example is one of them.
func PartialTypeOf(kept, api, own reflect.Type, example runtime.Object) (ObjectType, error) {
	if err := fields.CheckObject(api); err != nil {
		return ObjectType{}, err
	}
	t := TypeOf(api, example)
	resolved, err := fields.Resolve(api, own)
	if err != nil {
		return t, err
	}
	t.Partial = resolved.WithMetadata(kept.Elem())
	return t, nil
}

// KeptType returns the pointer type of the objects that are kept.
func (t ObjectType) KeptType() reflect.Type {
	if t.Partial != nil {
		return reflect.PointerTo(t.Partial.Type)
	}
	return t.GoType
}

// OfKept returns the type of the kept objects themselves.
func (t ObjectType) OfKept() ObjectType { return ObjectType{GoType: t.KeptType(), GVK: t.GVK} }

// whole returns the type of the objects that the server sends.
func (t ObjectType) whole() ObjectType { return ObjectType{GoType: t.GoType, GVK: t.GVK} }

// Omit returns the fields to leave out of the objects that the server sends; nil if there are none.
func (t ObjectType) Omit(paths []string, neverWritten bool) (*fields.Omitted, error) {
	if t.Partial != nil {
		return fields.Keep(t.Partial, paths)
	}
	return fields.Omit(t.GoType, paths, neverWritten)
}

// Kept returns the object that is kept for one that the client has decoded: itself or, with
// Partial, a copy of some of its fields. The error has no values of the object.
func (t ObjectType) Kept(obj runtime.Object) (runtime.Object, error) {
	if t.Partial == nil {
		return obj, nil
	}
	kept, err := feed.CatchPanic(func() (runtime.Object, error) { return t.copyKept(obj) })
	return kept, withoutValues(err)
}

// copyKept is Kept with Partial.
func (t ObjectType) copyKept(obj runtime.Object) (runtime.Object, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return t.Partial.Of(obj).(runtime.Object), nil
	}
	raw, err := encodeUnstructured(u)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", t, err)
	}
	return t.decodePartial(raw)
}

// decodePartial decodes an object of which only some fields are kept from JSON.
func (t ObjectType) decodePartial(raw []byte) (runtime.Object, error) {
	result := reflect.New(t.Partial.Type)
	if err := decodePartialInto(result.Elem(), raw); err != nil {
		return nil, err
	}
	return result.Interface().(runtime.Object), nil
}

// decodePartialInto decodes an object of which only some fields are kept into the zero value of its
// type.
func decodePartialInto(into reflect.Value, raw []byte) error {
	var object partialObject
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into.FieldByName("Fields").Addr().Interface()); err != nil {
		return err
	}
	into.FieldByName("TypeMeta").Set(reflect.ValueOf(object.TypeMeta))
	into.FieldByName("ObjectMeta").Set(reflect.ValueOf(object.Metadata.ObjectMeta))
	return nil
}

// partialObject is what every object of which only some fields are kept has beside these fields.
type partialObject struct {
	metav1.TypeMeta `json:",inline"`

	Metadata struct {
		metav1.ObjectMeta `json:",inline"`

		ManagedFields ignored `json:"managedFields,omitzero"`
	} `json:"metadata"`
}

// ignored is a value in JSON that is not decoded.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// EncodePartial returns an object of which only some fields are kept in JSON, with another
// apiVersion and kind. The object is a pointer: a part of it may have a MarshalJSON method of its
// pointer.
func EncodePartial(obj runtime.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	return encodePartial(reflect.ValueOf(obj).Elem(), gvk)
}

// encodePartial is EncodePartial for the struct of the object.
func encodePartial(from reflect.Value, gvk schema.GroupVersionKind) ([]byte, error) {
	object := partialObject{}
	object.APIVersion, object.Kind = gvk.ToAPIVersionAndKind()
	object.Metadata.ObjectMeta = from.FieldByName("ObjectMeta").Interface().(metav1.ObjectMeta)
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(from.FieldByName("Fields").Addr().Interface())
	if err != nil || len(rest) <= len("{}") {
		return encoded, err
	}
	return bytes.Join([][]byte{encoded[:len(encoded)-1], rest[1:]}, []byte(",")), nil
}

// protobufDecoder decodes objects of one type from protobuf.
type protobufDecoder interface {
	Decode(raw []byte) (any, error)
	Check(raw []byte) error
	Allocates(raw []byte, limit int) int
}

// protobufDecoder returns the decoder of the kept objects. Of a type outside Kubernetes the struct
// tags do not tell how its Unmarshal method reads the fields, so that decodes the whole object.
func (t ObjectType) protobufDecoder(options decode.Options) (protobufDecoder, error) {
	if t.Partial != nil {
		if decoder, err := decode.NewPartial(t.Partial, options); err == nil {
			return decoder, nil
		}
	}
	whole, err := decode.New(t.GoType.Elem(), options)
	if err != nil || t.Partial == nil {
		return whole, err
	}
	return copyingDecoder{whole, t.Partial, decode.LargestElement(t.GoType.Elem())}, nil
}

// copyingDecoder decodes whole objects, and copies some of their fields.
type copyingDecoder struct {
	*decode.Decoder

	of      *fields.Partial
	largest int // decode.LargestElement of the whole objects' type
}

// Decode implements protobufDecoder.
func (d copyingDecoder) Decode(raw []byte) (any, error) {
	whole, err := d.Decoder.Decode(raw)
	if err != nil {
		return nil, err
	}
	return d.of.Of(whole), nil
}
