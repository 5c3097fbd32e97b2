// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resolve adds a path to the tree.
func (f *Fields) resolve(segments []segment, added *path) error {
	at := f.root
	for i, s := range segments {
		parent := parentOf(segments[:i])
		if f.unstructured && i == 0 && s.name == metadataName {
			at = at.addChild(node{name: s.name, goType: reflect.TypeFor[metav1.ObjectMeta]()})
			continue
		}
		added.unknown = added.unknown || at.goType == nil
		next, err := f.step(at, s, parent)
		if err != nil {
			return err
		}
		if at = next; at.omit != nil {
			return fmt.Errorf("%q omits it already", at.omit.text)
		}
	}
	if len(at.children) > 0 {
		return errors.New("another path is below it")
	}
	at.omit = added
	return nil
}

// parentOf returns the text of the path to a parent, for errors.
func parentOf(segments []segment) string {
	if len(segments) == 0 {
		return "the object"
	}
	return join(segments)
}

// step returns the child of a node that a segment leads to.
func (f *Fields) step(at *node, s segment, parent string) (*node, error) {
	switch {
	case at.goType == nil:
		return untypedStep(at, s, parent)
	case s.key:
		return keyStep(at, s, parent)
	case at.goType.Kind() == reflect.Map:
		return nil, fmt.Errorf("%s is a map: name one of its keys in brackets, as in %[1]s[key]", parent)
	case !hasFields(at.goType):
		return nil, fmt.Errorf("%s is a %s, which has no fields", parent, at.goType)
	}
	next := f.fieldStep(at, s.name)
	if next == nil {
		return nil, fmt.Errorf("%s has no field %s", at.goType, s.name)
	}
	return next, nil
}

// untypedStep is step for a value of an unstructured object.
func untypedStep(at *node, s segment, parent string) (*node, error) {
	if s.key {
		if _, err := strconv.Atoi(s.name); err == nil {
			return nil, indexError(parent)
		}
		at.isMap = true
	}
	return at.addChild(node{name: s.name}), nil
}

func indexError(parent string) error {
	return fmt.Errorf("%s cannot have an index: a path applies to all elements of a list", parent)
}

// keyStep is step for a key of a map.
func keyStep(at *node, s segment, parent string) (*node, error) {
	if at.goType.Kind() != reflect.Map || at.goType.Key().Kind() != reflect.String || isOpaque(at.goType) {
		if _, err := strconv.Atoi(s.name); err == nil {
			return nil, indexError(parent)
		}
		return nil, fmt.Errorf("%s is no map", parent)
	}
	at.isMap = true
	return at.addChild(node{name: s.name, goType: elementOf(at.goType.Elem())}), nil
}

// elementOf returns the type of a value, or that of its elements if it is a list, without pointers.
// It stops at a type with its own form in JSON.
func elementOf(t reflect.Type) reflect.Type {
	for !isOpaque(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8) {
		t = t.Elem()
	}
	return t
}

// isOpaque reports whether a type has its own form in JSON.
func isOpaque(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// hasFields reports whether a type is a struct whose fields are members in JSON.
func hasFields(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isOpaque(t) }

// fieldStep is step for a field of a struct. It returns nil if there is none with the name.
func (f *Fields) fieldStep(at *node, name string) *node {
	for field := range at.goType.Fields() {
		if own, inline := jsonName(field); own == name && !inline && field.IsExported() {
			return at.addChild(nodeOf(field, name))
		}
	}
	for field := range at.goType.Fields() {
		if _, inline := jsonName(field); inline && hasMember(elementOf(field.Type), name, nil) {
			f.jsonUnsupported = f.jsonUnsupported || field.Type.Kind() == reflect.Pointer // which JSON sets only if a member is there
			inlined := nodeOf(field, "")
			inlined.inline = true
			return f.fieldStep(at.addInline(inlined), name)
		}
	}
	return nil
}

// hasMember reports whether objects of a struct type have a member with a name in JSON. outer are
// the types that embed the type, which may be one of them.
func hasMember(t reflect.Type, name string, outer []reflect.Type) bool {
	if slices.Contains(outer, t) {
		return false
	}
	for field := range t.Fields() {
		own, inline := jsonName(field)
		if own == name && !inline && field.IsExported() || inline && hasMember(elementOf(field.Type), name, append(outer, t)) {
			return true
		}
	}
	return false
}

// nodeOf returns the node of a struct's field.
func nodeOf(field reflect.StructField, name string) node {
	return node{name: name, number: fieldNumber(field), index: field.Index[0], goType: elementOf(field.Type), zero: zeroOf(field.Type)}
}

// jsonName returns the name of a field in JSON, empty if it has none. inline reports whether its
// members are those of the enclosing object instead.
func jsonName(field reflect.StructField) (name string, inline bool) {
	tag, _ := field.Tag.Lookup("json")
	if tag == "-" {
		return "", false
	}
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case name != "":
		return name, false
	case field.Anonymous && isStruct(field.Type):
		return "", field.IsExported() // others cannot be set
	}
	return field.Name, false
}

// isStruct reports whether a type is a struct or a pointer to one.
func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// fieldNumber returns the number of a field in protobuf, or 0 if it has none:
//
//	protobuf:"bytes,3,rep,name=finalizers"
func fieldNumber(field reflect.StructField) int32 {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	number, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return 0
	}
	return int32(number)
}
