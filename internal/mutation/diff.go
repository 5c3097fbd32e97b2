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
	Path    string // as in JSON: spec.containers[0].image
	Was, Is string // what was there, and is; cut short
}

// Diff returns the first difference of two values of one type, in the order of
// their fields, elements, and sorted keys. Nil and empty differ. Quantities and
// times are the same if they are equal, however they are kept in memory.
func Diff(was, is any) (Difference, bool) {
	return diff(reflect.ValueOf(was), reflect.ValueOf(is), "")
}

func diff(was, is reflect.Value, path string) (Difference, bool) {
	if !was.IsValid() || !is.IsValid() || was.Type() != is.Type() {
		return different(was, is, path, was.IsValid() != is.IsValid() || was.IsValid())
	}
	switch was.Kind() {
	case reflect.Pointer, reflect.Interface:
		if was.IsNil() || is.IsNil() {
			return different(was, is, path, was.IsNil() != is.IsNil())
		}
		return diff(was.Elem(), is.Elem(), path)
	case reflect.Struct:
		return diffStruct(was, is, path)
	case reflect.Map:
		return diffMap(was, is, path)
	case reflect.Slice, reflect.Array:
		return diffList(was, is, path)
	default:
		return different(was, is, path, !was.Equal(is))
	}
}

// different is a difference, if there is one.
func different(was, is reflect.Value, path string, differ bool) (Difference, bool) {
	if !differ {
		return Difference{}, false
	}
	if path == "" {
		path = "all of it"
	}
	return Difference{Path: path, Was: show(was), Is: show(is)}, true
}

func diffStruct(was, is reflect.Value, path string) (Difference, bool) {
	if equal, ok := equalAsWhole(was, is); ok {
		return different(was, is, path, !equal)
	}
	for i := range was.NumField() {
		field := was.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		if d, ok := diff(was.Field(i), is.Field(i), join(path, nameOf(field))); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// equalAsWhole compares what has a notion of being equal of its own.
func equalAsWhole(was, is reflect.Value) (equal, ok bool) {
	switch a := was.Interface().(type) {
	case resource.Quantity:
		b := is.Interface().(resource.Quantity)
		return a.Cmp(b) == 0 && a.Format == b.Format, true
	case metav1.Time:
		b := is.Interface().(metav1.Time)
		return a.Equal(&b), true
	case metav1.MicroTime:
		b := is.Interface().(metav1.MicroTime)
		return a.Equal(&b), true
	}
	return false, false
}

func diffMap(was, is reflect.Value, path string) (Difference, bool) {
	if was.IsNil() != is.IsNil() {
		return different(was, is, path, true)
	}
	keys := was.MapKeys()
	for _, key := range is.MapKeys() {
		if !was.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
	for _, key := range keys {
		if d, ok := diff(was.MapIndex(key), is.MapIndex(key), joinKey(path, fmt.Sprint(key))); ok {
			return d, true
		}
	}
	return Difference{}, false
}

func diffList(was, is reflect.Value, path string) (Difference, bool) {
	if was.Kind() == reflect.Slice && was.IsNil() != is.IsNil() {
		return different(was, is, path, true)
	}
	if was.Kind() == reflect.Slice && was.Type().Elem().Kind() == reflect.Uint8 {
		return different(was, is, path, string(was.Bytes()) != string(is.Bytes()))
	}
	for i := range max(was.Len(), is.Len()) {
		var a, b reflect.Value // not valid: not there
		if i < was.Len() {
			a = was.Index(i)
		}
		if i < is.Len() {
			b = is.Index(i)
		}
		if d, ok := diff(a, b, fmt.Sprintf("%s[%d]", path, i)); ok {
			return d, true
		}
	}
	return Difference{}, false
}

// nameOf returns a field's name in JSON, empty where its fields are its parent's.
func nameOf(field reflect.StructField) string {
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
const maxShown = 80

// show returns a value for an error.
func show(v reflect.Value) string {
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
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return text
}
