package resource

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Resource is one kind of objects and where it is served. It is immutable.
type Resource struct {
	schema.GroupVersionResource
	Kind       schema.GroupVersionKind // as it is served
	Stored     schema.GroupVersionKind // as it is stored; differs from Kind where a custom resource has several versions
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool
	HasStatus  bool     // there is a status subresource: only it writes status
	Custom     bool     // objects are unstructured: JSON only, no strategic merge patch
	Selectable []string // fields of a custom resource that selectors can use, beside name and namespace
	Columns    []Column
	Rules      Rules

	// New returns an empty object with its kind and apiVersion, as stored, set, as all stored objects have them.
	New     func() history.Object
	newList func() runtime.Object
}

// Verbs returns what can be done with the resource's objects.
func (r *Resource) Verbs() []string {
	switch {
	case r.Group == "" && r.Resource == "namespaces":
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	case r.Custom && r.Group != "apiextensions.k8s.io":
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// Present returns a stored object as this resource's version shows it. There is no conversion: versions differ in apiVersion alone. What it
// returns is read only.
func (r *Resource) Present(obj history.Object) history.Object {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || r.Kind == r.Stored {
		return obj
	}
	shown := maps.Clone(u.Object)
	shown["apiVersion"] = r.Kind.GroupVersion().String()
	return &unstructured.Unstructured{Object: shown}
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
	if list, ok := list.(*unstructured.UnstructuredList); ok {
		list.Items = make([]unstructured.Unstructured, len(items))
		for i, item := range items {
			list.Items[i].Object = r.Present(item.Object).(*unstructured.Unstructured).Object
		}
		return list, nil
	}
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
