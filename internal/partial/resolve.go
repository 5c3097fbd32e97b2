// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package partial

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/internal/jsonfield"
)

// Struct is a struct with some of the fields of a struct of the API.
type Struct struct {
	Type   reflect.Type // the program's
	API    reflect.Type // the API's; nil for a part of an unstructured object
	Fields []Field
}

// Field is a field of a Struct.
type Field struct {
	Name  string // in JSON
	Index int    // in Type
	// Chain leads to the field in API: the inlined structs around it, the outermost first, and the
	// field itself. It is empty without API.
	Chain []reflect.StructField
	// Elem is the struct that the field holds, perhaps behind a pointer or as element of a list or
	// map, if that has fewer fields than the API's. It is nil for a field that is read as a whole.
	Elem *Struct
}

// Resolve finds the fields of a struct type in an API type, which is a pointer type. The error
// names each field that the API type does not have, or whose type does not fit.
func Resolve(api, fields reflect.Type) (*Fields, error) {
	if err := CheckObject(api); err != nil {
		return nil, err
	}
	if api == reflect.TypeFor[*unstructured.Unstructured]() {
		return resolve(nil, fields)
	}
	return resolve(api.Elem(), fields)
}

// Part finds the fields of a struct type among the fields.
func (f *Fields) Part(fields reflect.Type) (*Fields, error) { return resolve(f.Root.Type, fields) }

// resolve is Resolve for a struct of the API; nil stands for unstructured objects.
func resolve(api, fields reflect.Type) (*Fields, error) {
	r := resolver{known: map[[2]reflect.Type]*Struct{}, open: map[reflect.Type]bool{}}
	f := &Fields{api: api}
	switch {
	case fields.Kind() != reflect.Struct:
		return nil, fmt.Errorf("%s is not a struct", fields)
	case hasOwnForm(fields):
		return nil, fmt.Errorf("%s has a form of its own", fields)
	}
	f.Root = r.structOf(fields, f.api, "")
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	f.copier = sync.OnceValue(func() copyFunc { return newCopier().structOf(f.Root) })
	return f, nil
}

// CheckObject returns an error unless a type is that of objects of the API, with the usual
// metadata, or of unstructured ones.
func CheckObject(api reflect.Type) error {
	if api == reflect.TypeFor[*unstructured.Unstructured]() {
		return nil
	}
	if api.Kind() != reflect.Pointer || api.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%s is not a pointer to a struct", api)
	}
	for _, t := range []reflect.Type{reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[metav1.ObjectMeta]()} {
		if field, ok := api.Elem().FieldByName(t.Name()); !ok || field.Type != t {
			return fmt.Errorf("%s has no %s", api, t.Name())
		}
	}
	if jsonfield.Find(api.Elem(), "metadata") == nil { // such as an object that has only some fields itself
		return fmt.Errorf("%s has no metadata", api)
	}
	return nil
}

// resolver builds the tree. A type may contain itself.
type resolver struct {
	known map[[2]reflect.Type]*Struct // by Type and API
	open  map[reflect.Type]bool       // other types that are being resolved, of unstructured objects
	errs  []error
}

// inObject are the members of an object that a struct cannot name, and where they are instead.
var inObject = map[string]string{ //nolint:gochecknoglobals // constant
	"metadata":   "ObjectMeta has it",
	"apiVersion": "TypeMeta has it",
	"kind":       "TypeMeta has it",
}

// refuse records why a field cannot be read.
func (r *resolver) refuse(path, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("field %s: %w", path, fmt.Errorf(format, args...)))
}

func (r *resolver) structOf(own, api reflect.Type, path string) *Struct {
	key := [2]reflect.Type{own, api}
	if s := r.known[key]; s != nil {
		return s
	}
	s := &Struct{Type: own, API: api}
	r.known[key] = s
	var names []string
	for i := range own.NumField() {
		field := own.Field(i)
		at := strings.TrimPrefix(path+"."+field.Name, ".")
		name, reason := nameOf(field)
		switch {
		case reason != "":
			r.refuse(at, "%s", reason)
		case path == "" && inObject[name] != "":
			r.refuse(at, "%q is not to be named: %s", name, inObject[name])
		case slices.Contains(names, name):
			r.refuse(at, "another field is named %q", name)
		default:
			names = append(names, name)
			if resolved, ok := r.field(field, name, api, at); ok {
				resolved.Index = i
				s.Fields = append(s.Fields, resolved)
			}
		}
	}
	return s
}

// nameOf returns the name that the tag of a field states, or why the field cannot be read.
func nameOf(field reflect.StructField) (name, reason string) {
	tag, ok := field.Tag.Lookup("json")
	name, options, _ := strings.Cut(tag, ",")
	switch {
	case !field.IsExported():
		return "", "it is not exported"
	case !ok || name == "" || name == "-":
		return "", "its json tag names no field"
	case slices.Contains(strings.Split(options, ","), "string"):
		return "", `the option "string" of its json tag changes its form`
	}
	return name, ""
}

// field resolves a field. It reports whether the field can be read.
func (r *resolver) field(field reflect.StructField, name string, api reflect.Type, path string) (resolved Field, ok bool) {
	resolved.Name = name
	if api == nil {
		resolved.Elem, ok = r.untyped(field.Type, path)
		return resolved, ok
	}
	if resolved.Chain = jsonfield.Find(api, name); resolved.Chain == nil {
		r.refuse(path, "%s has no field %q", api, name)
		return resolved, false
	}
	last := len(resolved.Chain) - 1
	if _, options, _ := strings.Cut(resolved.Chain[last].Tag.Get("json"), ","); slices.Contains(strings.Split(options, ","), "string") {
		r.refuse(path, `%s has %q with the option "string", which changes its form`, api, name)
		return resolved, false
	}
	for _, inlined := range resolved.Chain[:last] {
		if inlined.Type.Kind() == reflect.Pointer {
			r.refuse(path, "%s has %q behind an embedded pointer", api, name)
			return resolved, false
		}
	}
	resolved.Elem, ok = r.typed(field.Type, resolved.Chain[last].Type, path)
	return resolved, ok
}

// typed checks that a field of a type can have the values of a field of an API type. elem is the
// struct with fewer fields that it holds, if any.
func (r *resolver) typed(own, api reflect.Type, path string) (elem *Struct, ok bool) {
	switch {
	case own == api:
		return nil, r.copies(own, path)
	case decodesItself(api):
		r.refuse(path, "its type must be %s, which has a form of its own, not %s", api, own)
		return nil, false
	case own.Kind() != api.Kind() || decodesItself(own) || hasOwnForm(own):
		r.refuse(path, "its type must be %s or of the same kind, not %s", api, own)
		return nil, false
	}
	switch own.Kind() {
	case reflect.Pointer, reflect.Slice:
		return r.typed(own.Elem(), api.Elem(), path)
	case reflect.Map:
		if !isName(own.Key()) || api.Key().Kind() != reflect.String {
			r.refuse(path, "its type must be %s, not %s", api, own)
			return nil, false
		}
		return r.typed(own.Elem(), api.Elem(), path)
	case reflect.Struct:
		return r.structOf(own, api, path), true
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array, reflect.UnsafePointer:
		r.refuse(path, "its type cannot be %s", own)
		return nil, false
	default:
		return nil, true
	}
}

// untyped is typed for a part of an unstructured object, which may have any form.
func (r *resolver) untyped(own reflect.Type, path string) (elem *Struct, ok bool) {
	switch {
	case r.open[own]:
		return nil, true
	case decodesItself(own) || readsText(own) || reflect.PointerTo(own).Implements(reflect.TypeFor[unmarshaler]()):
		return nil, r.copies(own, path)
	case hasOwnForm(own):
		r.refuse(path, "%s has no UnmarshalJSON or UnmarshalText", own)
		return nil, false
	}
	r.open[own] = own.Kind() != reflect.Struct
	defer delete(r.open, own)
	switch own.Kind() {
	case reflect.Pointer, reflect.Slice:
		return r.untyped(own.Elem(), path)
	case reflect.Map:
		if !isName(own.Key()) {
			r.refuse(path, "the keys of %s are not strings", own)
			return nil, false
		}
		return r.untyped(own.Elem(), path)
	case reflect.Struct:
		return r.structOf(own, nil, path), true
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		r.refuse(path, "its type cannot be %s", own)
		return nil, false
	default:
		return nil, true
	}
}

// copies reports whether DeepCopy can copy values of a type that is read as a whole.
func (r *resolver) copies(t reflect.Type, path string) bool {
	shallow := shallowIn(t, map[reflect.Type]bool{})
	if shallow != nil {
		r.refuse(path, "%s has no DeepCopyInto", shallow)
	}
	return shallow == nil
}

// isName reports whether the members of an object in JSON can be keys of a type.
func isName(key reflect.Type) bool { return key.Kind() == reflect.String && !hasOwnForm(key) }

// unmarshaler is implemented by the generated types of the API.
type unmarshaler interface{ Unmarshal(data []byte) error }

// decodesItself reports whether values of a type are read as a whole or not at all: they have their
// own form in JSON, or a method that reads them from protobuf and is not that of a struct's fields.
func decodesItself(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return false
	}
	return jsonfield.IsOpaque(t) || reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) && t.Kind() != reflect.Struct
}

// readsText reports whether a type reads itself from strings in JSON.
func readsText(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// hasOwnForm reports whether values of a type are read or written in their own form in JSON, which
// they do not have in protobuf.
func hasOwnForm(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t.Kind() != reflect.Pointer && (jsonfield.IsOpaque(t) || readsText(t) ||
		pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()))
}
