package mutation

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Difference is the first place where two objects differ.
type Difference struct {
	Path     string // as in JSON: spec.containers[0].image
	Old, New string // what was there, and is; cut short
}

// Diff returns the first difference of two values of one type, in the order of
// their fields, elements, and sorted keys. Nil and empty differ. Quantities and
// times are the same if they are equal, however they are kept in memory.
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

// different is a difference, if there is one.
func newDifference(from, to reflect.Value, path string, differ bool) (Difference, bool) {
	if !differ {
		return Difference{}, false
	}
	if path == "" {
		path = "all of it"
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

// equalAsWhole compares what has a notion of being equal of its own.
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
		var a, b reflect.Value // not valid: not there
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

// nameOf returns a field's name in JSON, empty where its fields are its parent's.
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

// joinKey adds a key of a map: in brackets where it has dots or slashes, as labels
// have.
func joinKey(path, key string) string {
	if strings.ContainsAny(key, "./[] ") {
		return fmt.Sprintf("%s[%q]", path, key)
	}
	return join(path, key)
}

// maxShown is how much of a value an error shows: secrets may be long too.
const maxFormatted = 80

// show returns a value for an error.
func format(v reflect.Value) string {
	if !v.IsValid() {
		return "not there"
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	format := "%v"
	if v.Kind() == reflect.String {
		format = "%q"
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return fmt.Sprintf("%d bytes", v.Len())
	}
	text := fmt.Sprintf(format, v)
	if len(text) > maxFormatted {
		text = text[:maxFormatted] + "..."
	}
	return text
}
