package cache

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is what a cache keeps: a pointer to an API type, such as *corev1.Pod,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// kind is the one type of objects that a collection has.
type kind struct {
	goType reflect.Type            // a pointer type
	gvk    schema.GroupVersionKind // of unstructured objects; empty: any

	shareEqual bool // equal parts of the objects are to be in memory once
	packed     bool // few of the objects are there decoded
}

// kindOf returns the kind of T. The example need not be more than a nil pointer
// where the Go type says everything; an unstructured one may name its apiVersion
// and kind. Nothing of it is kept.
func kindOf[T Object](example T) (kind, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		return kind{}, fmt.Errorf("the type argument %s is an interface; name the type of the objects, such as *v1.Pod", t)
	}
	k := kind{goType: t}
	if !isNil(example) && carriesKind(t) {
		k.gvk = example.GetObjectKind().GroupVersionKind()
	}
	return k, nil
}

// carriesKind tells whether objects of one Go type may be of several kinds. (The
// metadata of an object is of one: PartialObjectMetadata.)
func carriesKind(t reflect.Type) bool { return t.Implements(reflect.TypeFor[runtime.Unstructured]()) }

// isMetadata tells whether objects are metadata only.
func (k kind) isMetadata() bool { return k.goType == reflect.TypeFor[*metav1.PartialObjectMetadata]() }

func (k kind) String() string {
	if k.goType == nil {
		return "objects of any type"
	}
	if k.gvk.Empty() {
		return k.goType.String()
	}
	return fmt.Sprintf("%s of %s", k.goType, k.gvk)
}

// check returns an error unless obj is of the kind.
func (k kind) check(obj runtime.Object) error {
	if t := reflect.TypeOf(obj); t != k.goType && k.goType != nil {
		return fmt.Errorf("expected %s, got %s%s", k, t, named(obj))
	}
	if k.gvk.Empty() {
		return nil
	}
	if got := obj.GetObjectKind().GroupVersionKind(); got != k.gvk {
		return fmt.Errorf("expected %s, got %s%s", k, got, named(obj))
	}
	return nil
}

// named returns the name of an object for an error, as far as it has one.
func named(obj any) string {
	if object, ok := obj.(metav1.Object); ok && !isNil(obj) && object.GetName() != "" {
		return fmt.Sprintf(" %q", objectKey(object))
	}
	return ""
}

// isNil tells whether obj is nil, or an interface around nil.
func isNil(obj any) bool {
	if obj == nil {
		return true
	}
	switch v := reflect.ValueOf(obj); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		return v.IsNil()
	default:
		return false
	}
}
