// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package partial

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object describes a struct that holds some fields of an API object, and perhaps its metadata.
type Object struct {
	Type         reflect.Type // the struct
	Fields       *Fields
	FieldsOffset uintptr // of the fields' struct in Type

	HasMetadata    bool
	MetadataOffset uintptr // of the ObjectMeta in Type
}

// OnlyFields returns an Object that is the fields' struct itself.
func OnlyFields(f *Fields) Object { return Object{Type: f.Root.Type, Fields: f} }

// WithMetadata returns an Object of a struct type that has an ObjectMeta, and the fields' struct as
// Fields.
func WithMetadata(t reflect.Type, f *Fields) *Object {
	fields, _ := t.FieldByName("Fields")
	metadata, _ := t.FieldByName("ObjectMeta")
	return &Object{Type: t, Fields: f, FieldsOffset: fields.Offset, HasMetadata: true, MetadataOffset: metadata.Offset}
}

// metadataOf returns the metadata of an API object or an Object.
func metadataOf(object reflect.Value) *metav1.ObjectMeta {
	return object.Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta)
}

// typeMetaOf returns apiVersion and kind of an API object or an Object.
func typeMetaOf(object reflect.Value) *metav1.TypeMeta {
	return object.Elem().FieldByName("TypeMeta").Addr().Interface().(*metav1.TypeMeta)
}

// Of returns a new Object with the fields, the metadata without managedFields, apiVersion and kind
// of an API object, of which it shares nothing but strings. All are pointers. It must not be called
// for unstructured objects.
func (o *Object) Of(object any) any {
	result, from := reflect.New(o.Type), reflect.ValueOf(object)
	metadata := *metadataOf(from)
	metadata.ManagedFields = nil
	metadata.DeepCopyInto(metadataOf(result))
	*typeMetaOf(result) = *typeMetaOf(from)
	o.Fields.copier()(result.Elem().FieldByName("Fields"), from.Elem())
	return result.Interface()
}
