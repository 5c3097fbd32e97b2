package resource

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Resource is one kind of objects and where it is served. It is immutable.
type Resource struct {
	schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
	HasStatus  bool // there is a status subresource: only it writes status, and it writes nothing else

	// New returns an empty object with its kind and apiVersion set, as all stored objects have them.
	New     func() history.Object
	newList func() runtime.Object
}

// List makes the list of some items. The items are not copied but for their topmost struct, so the list is read only.
func (r *Resource) List(items []*history.Item, listMeta metav1.ListMeta) (runtime.Object, error) {
	list := r.newList()
	list.GetObjectKind().SetGroupVersionKind(r.Kind.GroupVersion().WithKind(r.Kind.Kind + "List"))
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("cannot set the metadata of a %T: %w", list, err)
	}
	accessor.SetResourceVersion(listMeta.ResourceVersion)
	accessor.SetContinue(listMeta.Continue)
	accessor.SetRemainingItemCount(listMeta.RemainingItemCount)
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil, fmt.Errorf("cannot set the items of a %T: %w", list, err)
	}
	fill(reflect.ValueOf(pointer).Elem(), items)
	return list, nil
}

// fill puts the structs that the items point to into a slice of such structs, without kind and apiVersion: in a list, the list says them.
func fill(slice reflect.Value, items []*history.Item) {
	slice.Set(reflect.MakeSlice(slice.Type(), len(items), len(items)))
	typeMeta, ok := slice.Type().Elem().FieldByName("TypeMeta")
	for i, item := range items {
		slice.Index(i).Set(reflect.ValueOf(item.Object).Elem())
		if ok {
			slice.Index(i).FieldByIndex(typeMeta.Index).SetZero()
		}
	}
}

// Status returns an object's status for reading and, where the object is the caller's own, for writing.
func (r *Resource) Status(obj history.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}
