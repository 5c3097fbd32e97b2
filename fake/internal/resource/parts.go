package resource

import (
	"maps"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// An object has three parts: metadata, status, and the rest, which is called its content here: spec, data, rules, webhooks. The functions below
// move parts from one object to another of the same type, typed or unstructured. Two objects may share parts afterwards: stored ones never change.

// Copy returns an object that shares all parts with the given one, and whose metadata may be set without changing the other's.
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

// TakeStatus gives an object the status of another, or none if there is no other.
func TakeStatus(obj, from history.Object) {
	takeParts(obj, from, isStatus)
}

// TakeContent gives an object the content of another.
func TakeContent(obj, from history.Object) {
	takeParts(obj, from, func(part string) bool { return !isStatus(part) })
}

// SameContent tells whether two objects have equal content.
func SameContent(a, b history.Object) bool {
	return same(a, b, func(part string) bool { return !isStatus(part) })
}

// SameStatus tells whether two objects have an equal status, or both none.
func SameStatus(a, b history.Object) bool {
	return same(a, b, isStatus)
}

// same compares the wanted ones of the parts that are not identity.
func same(a, b history.Object, wanted func(part string) bool) bool {
	if u, ok := a.(*unstructured.Unstructured); ok {
		return sameFields(u.Object, b.(*unstructured.Unstructured).Object, wanted)
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

func sameFields(a, b map[string]any, wanted func(part string) bool) bool {
	parts := func(object map[string]any) map[string]any {
		object = maps.Clone(object)
		maps.DeleteFunc(object, func(field string, _ any) bool { return isIdentity(field) || !wanted(field) })
		return object
	}
	return apiequality.Semantic.DeepEqual(parts(a), parts(b))
}

// takeParts moves the wanted ones of the parts that are not identity. Nothing in another's place is a part too.
func takeParts(obj, from history.Object, wanted func(part string) bool) {
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

// isStatus and isIdentity know the names of Go fields as well as those of JSON.
func isStatus(part string) bool { return part == "Status" || part == "status" }

func isIdentity(part string) bool {
	switch part {
	case "TypeMeta", "ObjectMeta", "kind", "apiVersion", "metadata":
		return true
	}
	return false
}
