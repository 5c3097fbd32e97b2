// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// SameWrite reports whether two states of one version of an object were made by one write, whatever
// servers show of them. It is false if the states do not say so: their managedFields have no times,
// or were omitted.
func SameWrite(a, b any) bool {
	first, isObject := a.(metav1.Object)
	second, isToo := b.(metav1.Object)
	if !isObject || !isToo {
		return false
	}
	x, known := sumOfWrite(first)
	y, knownToo := sumOfWrite(second)
	return known && knownToo && x == y
}

// EqualContents reports whether two objects are equal as Kubernetes compares them: nil and empty
// are equal. apiVersion and kind are not compared, as typed clients clear them in events, and the
// items of a list may have or lack them. It panics on types with unexported fields that it does not
// know.
func EqualContents(a, b any) bool {
	first, isObject := a.(runtime.Object)
	second, isToo := b.(runtime.Object)
	if isObject && isToo && first.GetObjectKind().GroupVersionKind() != second.GetObjectKind().GroupVersionKind() {
		a, b = withoutKind(first), withoutKind(second)
	}
	return equality.Semantic.DeepEqual(a, b)
}

// withoutKind returns a shallow copy of an object with neither apiVersion nor kind, or the object
// if its type has no such fields.
func withoutKind(object runtime.Object) any {
	if dynamic, ok := object.(*unstructured.Unstructured); ok {
		contents := maps.Clone(dynamic.Object)
		delete(contents, "apiVersion")
		delete(contents, "kind")
		return contents
	}
	value := reflect.ValueOf(object)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return object
	}
	field, ok := value.Elem().Type().FieldByName("TypeMeta")
	if !ok || field.Type != reflect.TypeFor[metav1.TypeMeta]() || len(field.Index) != 1 {
		return object
	}
	out := reflect.New(value.Elem().Type())
	out.Elem().Set(value.Elem())
	out.Elem().FieldByIndex(field.Index).SetZero()
	return out.Interface()
}
