// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package randomapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxDepth is the depth of structs below which all fields are taken, since types contain
// themselves.
const maxDepth = 5

// Fields returns a struct type with some of the fields of an object of the API, which is a pointer
// type. Their structs have fewer fields too, and their types may be others of the same kind.
func Fields(random *rand.Rand, object reflect.Type) reflect.Type {
	return fieldsOf(random, object.Elem(), 0)
}

// KeptType returns a struct type with metadata, and a struct type as Fields.
func KeptType(fields reflect.Type) reflect.Type {
	return reflect.StructOf([]reflect.StructField{
		{Name: "TypeMeta", Type: reflect.TypeFor[metav1.TypeMeta]()},
		{Name: "ObjectMeta", Type: reflect.TypeFor[metav1.ObjectMeta]()},
		{Name: "Fields", Type: fields},
	})
}

func fieldsOf(random *rand.Rand, api reflect.Type, depth int) reflect.Type {
	var fields []reflect.StructField
	share := 1 + random.IntN(4) // a quarter of the fields, or all
	for _, field := range members(api) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if random.IntN(4) >= share || depth == 0 && slices.Contains([]string{"metadata", "apiVersion", "kind"}, name) {
			continue
		}
		tag := fmt.Sprintf(`json:"%s%s"`, name, []string{"", ",omitempty"}[random.IntN(2)])
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", len(fields)), Type: typeOf(random, field.Type, depth), Tag: reflect.StructTag(tag)})
	}
	random.Shuffle(len(fields), func(i, j int) {
		fields[i].Type, fields[j].Type, fields[i].Tag, fields[j].Tag = fields[j].Type, fields[i].Type, fields[j].Tag, fields[i].Tag
	})
	return reflect.StructOf(fields)
}

// members returns the fields of a struct and of those that it inlines.
func members(t reflect.Type) (all []reflect.StructField) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			all = append(all, field)
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			all = append(all, members(field.Type)...)
		}
	}
	return all
}

// typeOf returns a type for a field of a type.
func typeOf(random *rand.Rand, t reflect.Type, depth int) reflect.Type {
	if isWhole(t) || depth == maxDepth || random.IntN(4) == 0 {
		return t
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(typeOf(random, t.Elem(), depth))
	case reflect.Slice:
		return reflect.SliceOf(typeOf(random, t.Elem(), depth))
	case reflect.Map:
		return reflect.MapOf(reflect.TypeFor[string](), typeOf(random, t.Elem(), depth))
	case reflect.Struct:
		return fieldsOf(random, t, depth+1)
	case reflect.String:
		return reflect.TypeFor[string]()
	default:
		return t
	}
}

// isWhole reports whether a type cannot be replaced: it has a decoder of its own, or is a number.
func isWhole(t reflect.Type) bool {
	decodesItself := reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ Unmarshal(data []byte) error }]())
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) && t.Kind() != reflect.Pointer || decodesItself && t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer
}
