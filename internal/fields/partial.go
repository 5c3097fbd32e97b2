// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fields

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
)

// Partial is the fields that a struct has of an API type. It is immutable.
type Partial struct {
	Root *Node
	// Type is the struct that objects are read into: Root.Own, or a struct with TypeMeta,
	// ObjectMeta and, as Fields, that struct.
	Type reflect.Type

	copier func() copyFunc // compiled on first use
}

// Resolve finds the fields of a struct type in an API type, which is a pointer type. The error
// names each field that the API type does not have, or whose type does not fit.
func Resolve(api, own reflect.Type) (*Partial, error) {
	if err := CheckObject(api); err != nil {
		return nil, err
	}
	if api == reflect.TypeFor[*unstructured.Unstructured]() {
		return resolve(nil, own)
	}
	return resolve(api.Elem(), own)
}

// Part finds the fields of a struct type among the fields.
func (p *Partial) Part(own reflect.Type) (*Partial, error) { return resolve(p.Root.Own, own) }

// WithMetadata returns the same fields of objects with metadata.
func (p *Partial) WithMetadata(t reflect.Type) *Partial { return &Partial{p.Root, t, p.copier} }

// HasMetadata reports whether the objects have metadata.
func (p *Partial) HasMetadata() bool { return p.Type != p.Root.Own }

// resolve is Resolve for a struct of the API; nil stands for unstructured objects.
func resolve(api, own reflect.Type) (*Partial, error) {
	switch {
	case own.Kind() != reflect.Struct:
		return nil, fmt.Errorf("%s is not a struct", own)
	case hasOwnForm(own):
		return nil, fmt.Errorf("%s has a form of its own", own)
	}
	r, root := resolver{known: map[[2]reflect.Type]*Node{}, open: map[reflect.Type]bool{}}, &Node{}
	r.addFields(root, own, api, "")
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return &Partial{root, own, sync.OnceValue(func() copyFunc { return newCopier().structOf(root) })}, nil
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
	if findField(api.Elem(), metadataName, nil) == nil { // such as an object that has only some fields itself
		return fmt.Errorf("%s has no metadata", api)
	}
	return nil
}

// resolver builds the tree of a struct.
type resolver struct {
	// known are the nodes of structs by the types of the program and of the API; nil while the
	// fields of the struct are being resolved.
	known map[[2]reflect.Type]*Node
	open  map[reflect.Type]bool // other types that are being resolved, of unstructured objects
	errs  []error
}

// inObject are the members of an object that a struct cannot name, and where they are instead.
var inObject = map[string]string{ //nolint:gochecknoglobals // constant
	metadataName: "ObjectMeta has it",
	"apiVersion": "TypeMeta has it",
	"kind":       "TypeMeta has it",
}

// addFields adds the fields of a struct. A struct inside itself has no children: it is read like
// the one around it, and editors leave it whole.
func (r *resolver) addFields(n *Node, own, api reflect.Type, path string) {
	n.Own, n.Type, n.keep = own, api, true
	key := [2]reflect.Type{own, api}
	if known, ok := r.known[key]; ok {
		if known != nil {
			n.Children = known.Children
		}
		return
	}
	r.known[key] = nil
	var names []string
	for i := range own.NumField() {
		field := own.Field(i)
		at := strings.TrimPrefix(path+"."+field.Name, ".")
		name, err := ownNameOf(field)
		switch {
		case err != nil:
		case path == "" && inObject[name] != "":
			err = fmt.Errorf("%q is not to be named: %s", name, inObject[name])
		case slices.Contains(names, name):
			err = fmt.Errorf("another field is named %q", name)
		default:
			names = append(names, name)
			var child *Node
			if child, err = fieldOf(n, name); err == nil {
				err = r.value(child, field.Type, child.Field.Type, at)
				child.OwnIndex, child.whole = i, child.whole || len(child.Children) == 0
			}
		}
		if err != nil {
			r.errs = append(r.errs, fmt.Errorf("field %s: %w", at, err))
		}
	}
	r.known[key] = n
}

// ownNameOf returns the name that the tag of a field states.
func ownNameOf(field reflect.StructField) (name string, err error) {
	tag, ok := field.Tag.Lookup("json")
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case !field.IsExported():
		return "", errors.New("it is not exported")
	case !ok || name == "" || name == "-":
		return "", errors.New("its json tag names no field")
	case isQuoted(field):
		return "", errors.New(`the option "string" of its json tag changes its form`)
	}
	return name, nil
}

// isQuoted reports whether a number or bool is a string in JSON.
func isQuoted(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return slices.Contains(strings.Split(options, ","), "string")
}

// fieldOf adds the child for a field of the API that can be read.
func fieldOf(n *Node, name string) (*Node, error) {
	if n.Type == nil {
		return n.addName(name, nil), nil
	}
	child, err := n.addField(name)
	switch {
	case err != nil:
		return nil, err
	case isQuoted(child.Field):
		return nil, fmt.Errorf(`%s has %q with the option "string", which changes its form`, n.Type, name)
	case child.behindPointer:
		return nil, fmt.Errorf("%s has %q behind an embedded pointer", n.Type, name)
	}
	return child, nil
}

// value checks that a field of a type can have the values of a field of an API type, which is nil
// for parts of unstructured objects: they may have any form. If the field holds a struct, perhaps
// behind a pointer or as element of a list or map, that may have fewer fields than the API's.
func (r *resolver) value(n *Node, own, api reflect.Type, path string) error {
	if api != nil {
		switch {
		case own == api:
			return checkCopies(own)
		case decodesItself(api):
			return fmt.Errorf("its type must be %s, which has a form of its own, not %s", api, own)
		case own.Kind() != api.Kind() || decodesItself(own) || hasOwnForm(own):
			return fmt.Errorf("its type must be %s or of the same kind, not %s", api, own)
		}
		return r.parts(n, own, api, path)
	}
	switch {
	case r.open[own]:
		return nil
	case decodesItself(own) || readsText(own) || reflect.PointerTo(own).Implements(reflect.TypeFor[unmarshaler]()):
		return checkCopies(own)
	case hasOwnForm(own):
		return fmt.Errorf("%s has no UnmarshalJSON or UnmarshalText", own)
	}
	r.open[own] = own.Kind() != reflect.Struct
	defer delete(r.open, own)
	return r.parts(n, own, nil, path)
}

// parts is value for what a value consists of.
func (r *resolver) parts(n *Node, own, api reflect.Type, path string) error {
	switch own.Kind() {
	case reflect.Map:
		n.whole = true
		switch {
		case isName(own.Key()) && (api == nil || api.Key().Kind() == reflect.String):
		case api == nil:
			return fmt.Errorf("the keys of %s are not strings", own)
		default:
			return fmt.Errorf("its type must be %s, not %s", api, own)
		}
		fallthrough
	case reflect.Pointer, reflect.Slice:
		if api != nil {
			api = api.Elem()
		}
		return r.value(n, own.Elem(), api, path)
	case reflect.Struct:
		r.addFields(n, own, api, path)
		return nil
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return fmt.Errorf("its type cannot be %s", own)
	default:
		return nil
	}
}

// checkCopies returns an error unless DeepCopy can copy values of a type that is read as a whole.
func checkCopies(t reflect.Type) error {
	if shallow := shallowIn(t, map[reflect.Type]bool{}); shallow != nil {
		return fmt.Errorf("%s has no DeepCopyInto", shallow)
	}
	return nil
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
	return isOpaque(t) || reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]()) && t.Kind() != reflect.Struct
}

// readsText reports whether a type reads itself from strings in JSON.
func readsText(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// hasOwnForm reports whether values of a type are read or written in their own form in JSON, which
// they do not have in protobuf.
func hasOwnForm(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t.Kind() != reflect.Pointer && (isOpaque(t) || readsText(t) ||
		pointer.Implements(reflect.TypeFor[json.Marshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()))
}

// Of returns a new object with the fields, the metadata without managedFields, apiVersion and kind
// of an API object, of which it shares nothing but strings. Both are pointers. It must not be
// called for unstructured objects, nor without metadata.
func (p *Partial) Of(object any) any {
	result, from := reflect.New(p.Type), reflect.ValueOf(object)
	metadata := *metadataOf(from)
	metadata.ManagedFields = nil
	metadata.DeepCopyInto(metadataOf(result))
	*typeMetaOf(result) = *typeMetaOf(from)
	p.copier()(result.Elem().FieldByName("Fields"), from.Elem())
	return result.Interface()
}

// metadataOf returns the metadata of an API object or a kept one.
func metadataOf(object reflect.Value) *metav1.ObjectMeta {
	return object.Elem().FieldByName("ObjectMeta").Addr().Interface().(*metav1.ObjectMeta)
}

// typeMetaOf returns apiVersion and kind of an API object or a kept one.
func typeMetaOf(object reflect.Value) *metav1.TypeMeta {
	return object.Elem().FieldByName("TypeMeta").Addr().Interface().(*metav1.TypeMeta)
}
