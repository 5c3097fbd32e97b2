// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is the first field in which two objects differ.
type Difference struct {
	Path     string // in JSON, such as spec.containers[0].image
	Old, New string // formatted and truncated
}

// diff returns the first difference of two values, in the order of fields, elements and sorted map
// keys, and reports whether there is one. Nil and empty values differ. Quantities and times are
// compared by value.
func diff(from, to any) (Difference, bool) {
	return diffValue(reflect.ValueOf(from), reflect.ValueOf(to), "")
}

func diffValue(from, to reflect.Value, path string) (Difference, bool) {
	if !from.IsValid() || !to.IsValid() || from.Type() != to.Type() {
		return newDifference(from, to, path, from.IsValid() != to.IsValid() || from.IsValid())
	}
	switch from.Kind() {
	case reflect.Pointer, reflect.Interface:
		if from.IsNil() || to.IsNil() {
			return newDifference(from, to, path, from.IsNil() != to.IsNil())
		}
		return diffValue(from.Elem(), to.Elem(), path)
	case reflect.Struct:
		return diffStruct(from, to, path)
	case reflect.Map:
		return diffMap(from, to, path)
	case reflect.Slice, reflect.Array:
		return diffSlice(from, to, path)
	default:
		return newDifference(from, to, path, !from.Equal(to))
	}
}

// newDifference returns the difference of two values, if they differ.
func newDifference(from, to reflect.Value, path string, differ bool) (Difference, bool) {
	if !differ {
		return Difference{}, false
	}
	if path == "" {
		path = "object"
	}
	return Difference{Path: path, Old: format(from), New: format(to)}, true
}

func diffStruct(from, to reflect.Value, path string) (Difference, bool) {
	if equal, ok := semanticEqual(from, to); ok {
		return newDifference(from, to, path, !equal)
	}
	for i := range from.NumField() {
		field := from.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if d, ok := diffValue(from.Field(i), to.Field(i), join(path, jsonName(field))); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// semanticEqual compares structs that are not compared field by field. It reports whether the
// values are equal and whether their type is such a struct.
func semanticEqual(from, to reflect.Value) (equal, ok bool) {
	switch a := from.Interface().(type) {
	case resource.Quantity:
		b := to.Interface().(resource.Quantity)
		return a.Cmp(b) == 0 && a.Format == b.Format, true
	case metav1.Time:
		b := to.Interface().(metav1.Time)
		return a.Equal(&b), true
	case metav1.MicroTime:
		b := to.Interface().(metav1.MicroTime)
		return a.Equal(&b), true
	}
	return false, false
}

func diffMap(from, to reflect.Value, path string) (Difference, bool) {
	if from.IsNil() != to.IsNil() {
		return newDifference(from, to, path, true)
	}
	keys := from.MapKeys()
	for _, key := range to.MapKeys() {
		if !from.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
	for _, key := range keys {
		if d, ok := diffValue(from.MapIndex(key), to.MapIndex(key), joinKey(path, fmt.Sprint(key))); ok {
			return d, true
		}
	}
	return Difference{}, false
}

func diffSlice(from, to reflect.Value, path string) (Difference, bool) {
	if from.Kind() == reflect.Slice && from.IsNil() != to.IsNil() {
		return newDifference(from, to, path, true)
	}
	if from.Kind() == reflect.Slice && from.Type().Elem().Kind() == reflect.Uint8 {
		return newDifference(from, to, path, string(from.Bytes()) != string(to.Bytes()))
	}
	for i := range max(from.Len(), to.Len()) {
		var a, b reflect.Value // invalid if there is no such element
		if i < from.Len() {
			a = from.Index(i)
		}
		if i < to.Len() {
			b = to.Index(i)
		}
		if d, ok := diffValue(a, b, fmt.Sprintf("%s[%d]", path, i)); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// jsonName returns the name of a field in JSON. It is empty for an inlined struct.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name != "" && name != "-":
		return name
	case field.Anonymous:
		return ""
	}
	return field.Name
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// joinKey adds a map key to a path, in brackets if it has dots or slashes like many labels.
func joinKey(path, key string) string {
	if strings.ContainsAny(key, "./[] ") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return join(path, key)
}

// maxFormatted is the length in bytes to which formatted values are truncated.
const maxFormatted = 80

// format formats a value for an error message.
func format(v reflect.Value) string {
	if !v.IsValid() {
		return "absent"
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	verb := "%v"
	if v.Kind() == reflect.String {
		verb = "%q"
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("%d bytes", v.Len())
	}
	text := fmt.Sprintf(verb, v)
	if len(text) > maxFormatted {
		text = text[:maxFormatted] + "..."
	}
	return text
}
