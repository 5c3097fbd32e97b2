// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsonfield finds the fields of Go structs by their names in JSON.
package jsonfield

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// NameOf returns the name of a field in JSON, empty if it has none. inline reports whether its
// members are those of the enclosing object instead.
func NameOf(field reflect.StructField) (name string, inline bool) {
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
func isStruct(t reflect.Type) bool { return structOf(t).Kind() == reflect.Struct }

// structOf returns the type that a pointer type points to, and any other type itself.
func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Find returns the field of a struct that has a name in JSON, behind the inlined structs that it is
// in, the outermost first. It returns nil if there is none.
func Find(t reflect.Type, name string) []reflect.StructField { return find(t, name, nil) }

// find is Find for a struct that is inlined into others.
func find(t reflect.Type, name string, outer []reflect.Type) []reflect.StructField {
	if slices.Contains(outer, t) {
		return nil
	}
	for field := range t.Fields() {
		if own, inline := NameOf(field); own == name && !inline && field.IsExported() {
			return []reflect.StructField{field}
		}
	}
	for field := range t.Fields() {
		if _, inline := NameOf(field); inline {
			if inner := find(structOf(field.Type), name, append(outer, t)); inner != nil {
				return append([]reflect.StructField{field}, inner...)
			}
		}
	}
	return nil
}

// IsOpaque reports whether a type has its own form in JSON.
func IsOpaque(t reflect.Type) bool {
	return t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}
