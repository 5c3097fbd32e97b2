// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"maps"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// An object consists of its metadata, its status, and its content, which is everything else: spec,
// data, rules, webhooks. The functions below copy parts of one object to another of the same type,
// typed or unstructured. The copies are shallow, which is safe because stored objects are never
// modified.

// Copy returns a shallow copy of an object. Metadata fields of the copy may be set without
// modifying the original.
func Copy(obj history.Object) history.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		top := maps.Clone(u.Object)
		if metadata, ok := top["metadata"].(map[string]any); ok {
			top["metadata"] = maps.Clone(metadata)
		}
		return &unstructured.Unstructured{Object: top}
	}
	next := reflect.New(reflect.TypeOf(obj).Elem())
	next.Elem().Set(reflect.ValueOf(obj).Elem())
	return next.Interface().(history.Object)
}

// CopyStatus sets the status of an object to that of another object, or removes it if from is nil.
func CopyStatus(obj, from history.Object) {
	copyParts(obj, from, isStatus)
}

// CopyContent sets the content of an object to that of another object.
func CopyContent(obj, from history.Object) {
	copyParts(obj, from, func(part string) bool { return !isStatus(part) })
}

// EqualContent reports whether two objects have equal content.
func EqualContent(a, b history.Object) bool {
	return equalParts(a, b, func(part string) bool { return !isStatus(part) })
}

// EqualStatus reports whether two objects have an equal status, or both have none.
func EqualStatus(a, b history.Object) bool {
	return equalParts(a, b, isStatus)
}

// equalParts reports whether two objects are equal in all wanted parts other than metadata and
// kind.
func equalParts(a, b history.Object, wanted func(part string) bool) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		return equalFields(u.Object, b.(*unstructured.Unstructured).Object, wanted)
	}
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if part := x.Type().Field(i).Name; isIdentity(part) || !wanted(part) {
			continue
		}
		if !apiequality.Semantic.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func equalFields(a, b map[string]any, wanted func(part string) bool) bool {
	parts := func(object map[string]any) map[string]any {
		object = maps.Clone(object)
		maps.DeleteFunc(object, func(field string, _ any) bool { return isIdentity(field) || !wanted(field) })
		return object
	}
	return apiequality.Semantic.DeepEqual(parts(a), parts(b))
}

// copyParts copies all wanted parts other than metadata and kind. It clears parts that from does
// not have.
func copyParts(obj, from history.Object, wanted func(part string) bool) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		take := func(field string, _ any) bool { return !isIdentity(field) && wanted(field) }
		maps.DeleteFunc(u.Object, take)
		if from != nil {
			for field, value := range from.(*unstructured.Unstructured).Object {
				if take(field, value) {
					u.Object[field] = value
				}
			}
		}
		return
	}
	to := reflect.ValueOf(obj).Elem()
	for i := range to.NumField() {
		if part := to.Type().Field(i).Name; isIdentity(part) || !wanted(part) {
			continue
		}
		if from == nil {
			to.Field(i).SetZero()
		} else {
			to.Field(i).Set(reflect.ValueOf(from).Elem().Field(i))
		}
	}
}

// isStatus and isIdentity accept the names of Go fields and of JSON fields.
func isStatus(part string) bool { return part == "Status" || part == "status" }

func isIdentity(part string) bool {
	switch part {
	case "TypeMeta", "ObjectMeta", "kind", "apiVersion", "metadata":
		return true
	}
	return false
}
