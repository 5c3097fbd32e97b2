// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package omit

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/jsonfield"
)

// resolve adds a path to the tree.
func (f *Fields) resolve(segments []segment, added *path) error {
	at := f.root
	for i, s := range segments {
		parent := parentOf(segments[:i])
		added.unknown = added.unknown || at.goType == nil && (i > 0 || s.name != metadataName)
		next, err := f.step(at, s, parent)
		if err != nil {
			return err
		}
		at = next
		switch {
		case at.omit != nil:
			return fmt.Errorf("%q omits it already", at.omit.text)
		case at.whole:
			return fmt.Errorf("the type of the cached objects has %s", join(segments[:i+1]))
		}
	}
	if at.keep {
		return errors.New("the type of the cached objects has a field below it")
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
	case f.unstructured && at == f.root && s.name == metadataName:
		return at.addChild(node{name: s.name, goType: reflect.TypeFor[metav1.ObjectMeta]()}), nil
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
	if at.goType.Kind() != reflect.Map || at.goType.Key().Kind() != reflect.String || jsonfield.IsOpaque(at.goType) {
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
	for !jsonfield.IsOpaque(t) && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8) {
		t = t.Elem()
	}
	return t
}

// hasFields reports whether a type is a struct whose fields are members in JSON.
func hasFields(t reflect.Type) bool { return t.Kind() == reflect.Struct && !jsonfield.IsOpaque(t) }

// fieldStep is step for a field of a struct. It returns nil if there is none with the name.
func (f *Fields) fieldStep(at *node, name string) *node {
	chain := jsonfield.Find(at.goType, name)
	if chain == nil {
		return nil
	}
	last := len(chain) - 1
	for _, field := range chain[:last] {
		f.jsonUnsupported = f.jsonUnsupported || field.Type.Kind() == reflect.Pointer // which JSON sets only if a member is there
		inlined := nodeOf(field, "")
		inlined.inline, inlined.keep = true, at.keep // its members are those of the struct around it
		at = at.addInline(inlined)
	}
	return at.addChild(nodeOf(chain[last], name))
}

// nodeOf returns the node of a struct's field.
func nodeOf(field reflect.StructField, name string) node {
	return node{name: name, number: fieldNumber(field), index: field.Index[0], goType: elementOf(field.Type)}
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
