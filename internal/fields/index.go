// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UntypedPath returns the field of unstructured objects that names lead to, for Keep.
func UntypedPath(names []string) *Partial {
	root := &Node{}
	root.addKept(names)
	return &Partial{Root: root}
}

// addKept adds a field that is left, of which names are on the way.
func (n *Node) addKept(names []string) {
	for _, name := range names {
		n.keep = true
		n = n.addName(name, nil)
	}
	n.whole = true
}

// PathType returns a struct type with the one field of an API struct that names lead to, for
// Resolve. The field must have a value that JSON writes as a string, number or bool.
func PathType(api reflect.Type, names []string) (reflect.Type, error) {
	chain := findField(api, names[0], nil)
	if chain == nil {
		return nil, fmt.Errorf("%s has no field %q", api, names[0])
	}
	inner, err := pathType(chain[len(chain)-1].Type, names[0], names[1:])
	if err != nil {
		return nil, err
	}
	return reflect.StructOf([]reflect.StructField{{Name: "Field", Type: inner, Tag: reflect.StructTag("json:" + strconv.Quote(names[0]))}}), nil
}

// pathType returns the type of the values of a field, of which only what the names lead to is left.
func pathType(t reflect.Type, field string, names []string) (reflect.Type, error) {
	switch {
	case isText(t):
		return t, endOf(t, names)
	case decodesItself(t) || hasOwnForm(t):
		return nil, fmt.Errorf("%s is a %s, which is not always a string", field, t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		inner, err := pathType(t.Elem(), field, names)
		switch {
		case err != nil:
			return nil, err
		case t.Kind() == reflect.Pointer:
			return reflect.PointerTo(inner), nil
		case t.Elem().Kind() == reflect.Uint8:
			return nil, fmt.Errorf("%s has bytes", field)
		}
		return reflect.SliceOf(inner), nil
	case reflect.Struct:
		if len(names) == 0 {
			return nil, fmt.Errorf("%s is a struct: name one of its fields", field)
		}
		return PathType(t, names)
	case reflect.Map:
		return nil, fmt.Errorf("%s is a map", field)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return t, endOf(t, names)
	default:
		return nil, fmt.Errorf("%s is a %s", field, t)
	}
}

// endOf returns an error if names go on behind a value without fields.
func endOf(t reflect.Type, names []string) error {
	if len(names) > 0 {
		return fmt.Errorf("%s has no field %q", t, names[0])
	}
	return nil
}

// isText reports whether a type with a form of its own in JSON is always a string there.
func isText(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.Duration]():
		return true
	}
	return false
}

// PathValues appends the values of a struct of PathType as text. A field that is no pointer and has
// its zero value counts as absent, because JSON leaves it out and protobuf writes it.
func PathValues(values []string, object any) []string {
	return appendValues(values, reflect.ValueOf(object).Elem().Field(0), false)
}

// appendValues appends the values of a field, or of an element. present says that it is known to be
// there although it may have its zero value.
func appendValues(values []string, v reflect.Value, present bool) []string {
	switch {
	case v.Kind() == reflect.Pointer:
		if !v.IsNil() {
			values = appendValues(values, v.Elem(), true)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			values = appendValues(values, v.Index(i), true)
		}
	case v.Kind() == reflect.Struct && !isText(v.Type()):
		values = appendValues(values, v.Field(0), false)
	case present || !isZero(v):
		values = append(values, textOf(v))
	}
	return values
}

// isZero reports whether a value is the zero value of its type. A decoded Quantity of zero has a
// format.
func isZero(v reflect.Value) bool {
	if q, ok := reflect.TypeAssert[resource.Quantity](v); ok {
		return q.IsZero()
	}
	return v.IsZero()
}

// textOf returns a value as JSON writes it, a string without its quotes.
func textOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Struct:
		return textOfStruct(v.Interface())
	case reflect.Float32, reflect.Float64:
		text, _ := json.Marshal(v.Interface())
		return string(text)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	default:
		return strconv.FormatInt(v.Int(), 10)
	}
}

// textOfStruct is textOf for the types of isText.
func textOfStruct(value any) string {
	switch value := value.(type) {
	case resource.Quantity:
		return value.String()
	case metav1.Time:
		text, _ := value.MarshalQueryParameter()
		return text
	case metav1.MicroTime:
		if value.IsZero() {
			return ""
		}
		return value.UTC().Format(metav1.RFC3339Micro)
	case metav1.Duration:
		return value.Duration.String()
	}
	return ""
}
