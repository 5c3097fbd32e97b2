// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package partial

import (
	"reflect"
	"slices"
)

// Fields are the fields that a struct has of an API type. It is immutable.
type Fields struct {
	Root *Struct
	api  reflect.Type // a struct; nil for unstructured objects

	copier func() copyFunc // compiled on first use
}

// Paths returns the names on the way to each field: into structs with fewer fields, but not into
// maps. It ends at a struct without fields, of which a program reads how many there are.
func (f *Fields) Paths() [][]string { return paths(f.Root, nil, nil) }

// paths returns the paths below a prefix. outer are the structs around s, which may be one of them:
// the field that leads there again is one path.
func paths(s *Struct, prefix []string, outer []*Struct) (all [][]string) {
	outer = append(outer, s)
	for _, field := range s.Fields {
		path := append(slices.Clip(prefix), field.Name)
		if field.Elem == nil || len(field.Elem.Fields) == 0 || slices.Contains(outer, field.Elem) || holdsMap(s.Type.Field(field.Index).Type) {
			all = append(all, path)
			continue
		}
		all = append(all, paths(field.Elem, path, outer)...)
	}
	return all
}

// holdsMap reports whether a type is a map, or a list or pointer of one.
func holdsMap(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Map
}
