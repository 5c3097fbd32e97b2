// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/fields"
)

// ObjectType is the one type of a collection's objects.
type ObjectType struct {
	// GoType is the pointer type of the objects that the server sends; nil stands for objects of
	// any type.
	GoType reflect.Type
	// Partial, if set, is the fields of the objects that are kept.
	Partial *fields.Partial
	// GVK is the kind of unstructured objects; empty stands for any kind.
	GVK schema.GroupVersionKind
}

// TypeOf returns the type of objects such as example, which may be a nil pointer. It takes the
// kind from an unstructured example and keeps nothing else of it.
func TypeOf(goType reflect.Type, example runtime.Object) ObjectType {
	t := ObjectType{GoType: goType}
	if goType != nil && !IsNil(example) && t.IsUnstructured() {
		t.GVK = example.GetObjectKind().GroupVersionKind()
	}
	return t
}

// protobufMessage is implemented by generated API types.
type protobufMessage interface {
	runtime.Object
	Unmarshal(data []byte) error
}

// IsGenerated reports whether the objects can be decoded from protobuf.
func (t ObjectType) IsGenerated() bool {
	return t.GoType.Implements(reflect.TypeFor[protobufMessage]())
}

// IsUnstructured reports whether objects of the Go type may be of several kinds. The kind of
// metadata-only objects is always PartialObjectMetadata.
func (t ObjectType) IsUnstructured() bool {
	return t.GoType.Implements(reflect.TypeFor[runtime.Unstructured]())
}

// IsMetadata reports whether the objects are metadata only.
func (t ObjectType) IsMetadata() bool {
	return t.GoType == reflect.TypeFor[*metav1.PartialObjectMetadata]()
}

// Kind returns the kind of the objects, such as "Pod". It is empty if it is not known.
func (t ObjectType) Kind() string {
	switch {
	case !t.GVK.Empty():
		return t.GVK.Kind
	case t.GoType == nil || t.IsUnstructured() || t.IsMetadata():
		return ""
	}
	return t.typeName() // the Go types of the API are named like their kinds
}

// Name returns a name for objects such as example, which may be a nil pointer: their kind or, if it
// is not known, the name of their Go type. It is empty for objects of any type.
func (t ObjectType) Name(example runtime.Object) string {
	if metadata, ok := example.(*metav1.PartialObjectMetadata); ok && metadata != nil && metadata.Kind != "" {
		return metadata.Kind
	}
	if kind := t.Kind(); kind != "" || t.GoType == nil {
		return kind
	}
	return t.typeName()
}

// typeName returns the name of the Go type, without its package and type arguments.
func (t ObjectType) typeName() string {
	goType := t.GoType
	if goType.Kind() == reflect.Pointer { // others are invalid
		goType = goType.Elem()
	}
	name, _, _ := strings.Cut(goType.Name(), "[")
	return name
}

// String describes the type for logs and errors.
func (t ObjectType) String() string {
	switch {
	case t.GoType == nil:
		return "objects of any type"
	case t.GVK.Empty():
		return t.GoType.String()
	default:
		return fmt.Sprintf("%s of %s", t.GoType, t.GVK)
	}
}

// decodesItself reports whether values of the Go type may be decoded by an UnmarshalJSON method
// that is not Kubernetes' own.
func (t ObjectType) decodesItself() bool {
	return t.GoType != nil && contains(t.KeptType(), func(part reflect.Type) bool {
		return part.Kind() != reflect.Interface && part.PkgPath() != "" && !strings.HasPrefix(part.PkgPath(), "k8s.io/") &&
			reflect.PointerTo(part).Implements(reflect.TypeFor[json.Unmarshaler]()) && part != reflect.TypeFor[time.Time]()
	}, map[reflect.Type]bool{})
}

// ErrOtherType is wrapped by the errors of Check.
var ErrOtherType = errors.New("another type")

// Check returns an error that names obj unless obj is of the type.
func (t ObjectType) Check(obj runtime.Object) error {
	if got := reflect.TypeOf(obj); got != t.GoType && t.GoType != nil {
		return fmt.Errorf("%w: expected %s, got %s%s", ErrOtherType, t, got, QuotedName(obj))
	}
	if t.GVK.Empty() {
		return nil
	}
	if got := obj.GetObjectKind().GroupVersionKind(); got != t.GVK {
		return fmt.Errorf("%w: expected %s, got %s%s", ErrOtherType, t, got, QuotedName(obj))
	}
	return nil
}

// ItemType returns the pointer type of the items of a list type, or nil if they may be of any
// type.
func ItemType(list reflect.Type) reflect.Type {
	if list == nil || list.Kind() != reflect.Pointer || list.Elem().Kind() != reflect.Struct {
		return nil
	}
	if list == reflect.TypeFor[*unstructured.UnstructuredList]() {
		return reflect.TypeFor[*unstructured.Unstructured]()
	}
	items, ok := list.Elem().FieldByName("Items")
	if !ok || items.Type.Kind() != reflect.Slice {
		return nil
	}
	item := items.Type.Elem()
	if item.Kind() != reflect.Pointer {
		item = reflect.PointerTo(item)
	}
	if !item.Implements(reflect.TypeFor[metav1.Object]()) { // such as runtime.RawExtension
		return nil
	}
	return item
}
