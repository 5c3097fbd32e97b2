// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/structural"
)

// Resource describes a kind of objects and the API path that serves it. It must not be modified.
type Resource struct {
	schema.GroupVersionResource
	Kind       schema.GroupVersionKind // the served kind and version
	Stored     schema.GroupVersionKind // the stored kind and version
	Singular   string
	ShortNames []string
	Categories []string
	Namespaced bool
	HasStatus  bool     // the status is written only through a status subresource
	Custom     bool     // objects are unstructured: JSON only, no strategic merge patch
	Selectable []string // selectable fields of a custom resource, besides name and namespace
	Rules      Rules
	// Schema and StoredSchema are those of the served and the stored version of a custom resource.
	// They are nil if any field is accepted.
	Schema       *structural.Schema
	StoredSchema *structural.Schema
	// Outdated is set if objects may have been stored with another StoredSchema. Reads prune and
	// default them.
	Outdated bool
	converts bool // Schema differs from StoredSchema

	// New returns an empty object with the stored kind and apiVersion set.
	New     func() history.Object
	newList func() runtime.Object
}

// Verbs returns the verbs that the resource supports.
func (r *Resource) Verbs() []string {
	switch {
	case r.Group == "" && r.Resource == "namespaces":
		return []string{"create", "delete", "get", "list", "patch", "update", "watch"}
	case r.Custom && !isUnstructuredBuiltIn(r.Group):
		return []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// Conform prunes and defaults a new object of a custom resource by the schema of the served
// version. It returns the paths of the fields that this version does not have.
func (r *Resource) Conform(obj history.Object) (unknown []string) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	unknown = r.Schema.Prune(u.Object)
	r.Schema.Default(u.Object)
	return unknown
}

// Validate returns the errors of an object: those of its metadata, and those of its fields by the
// schema of the served version. The object must be in that version, pruned and defaulted. current
// is the one that it replaces, in the same version, or nil. If status is set, only the status is
// written.
func (r *Resource) Validate(obj, current history.Object, status bool, metadata field.ErrorList) field.ErrorList {
	if r.Schema == nil {
		return metadata
	}
	object := obj.(*unstructured.Unstructured).Object
	switch {
	case current == nil:
		return r.Schema.Validate(object, metadata)
	case status:
		return r.Schema.ValidateStatus(object, current.(*unstructured.Unstructured).Object, metadata)
	}
	return r.Schema.ValidateUpdate(object, current.(*unstructured.Unstructured).Object, metadata)
}

// ToStored converts a new object in the served version to the stored version. It may have been
// converted before.
func (r *Resource) ToStored(obj history.Object) {
	obj.GetObjectKind().SetGroupVersionKind(r.Stored)
	if u, ok := obj.(*unstructured.Unstructured); ok && r.converts {
		r.StoredSchema.Prune(u.Object)
		r.StoredSchema.Default(u.Object)
	}
}

// Present returns a stored object in the resource's served version. Versions differ in apiVersion
// and in the fields of their schemas; there is no other conversion. The returned object must not be
// modified.
func (r *Resource) Present(obj history.Object) history.Object {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || r.Kind == r.Stored && !r.Outdated {
		return obj
	}
	shown := maps.Clone(u.Object)
	if r.Outdated || r.converts {
		shown = runtime.DeepCopyJSON(u.Object)
	}
	if r.Outdated {
		r.StoredSchema.Prune(shown)
		r.StoredSchema.Default(shown)
	}
	if r.converts {
		r.Schema.Prune(shown)
	}
	shown["apiVersion"] = r.Kind.GroupVersion().String()
	return &unstructured.Unstructured{Object: shown}
}

// List returns the list object for items. It contains shallow copies of the items, so it must not
// be modified.
func (r *Resource) List(items []*history.Item, listMeta metav1.ListMeta) (runtime.Object, error) {
	list := r.newList()
	list.GetObjectKind().SetGroupVersionKind(r.Kind.GroupVersion().WithKind(r.Kind.Kind + "List"))
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("set metadata of %T: %w", list, err)
	}
	accessor.SetResourceVersion(listMeta.ResourceVersion)
	accessor.SetContinue(listMeta.Continue)
	accessor.SetRemainingItemCount(listMeta.RemainingItemCount)
	if listMeta.ShardInfo != nil {
		r.setShardInfo(list, listMeta.ShardInfo)
	}
	if list, ok := list.(*unstructured.UnstructuredList); ok {
		list.Items = make([]unstructured.Unstructured, len(items))
		for i, item := range items {
			list.Items[i].Object = r.Present(item.Object).(*unstructured.Unstructured).Object
		}
		return list, nil
	}
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil, fmt.Errorf("set items of %T: %w", list, err)
	}
	setItems(reflect.ValueOf(pointer).Elem(), items)
	return list, nil
}

// setShardInfo sets the shardInfo of a list, except that of custom resources: they are filtered,
// but the real server cannot set it in unstructured lists.
func (r *Resource) setShardInfo(list runtime.Object, info *metav1.ShardInfo) {
	switch list := list.(type) {
	case metav1.ShardedListInterface:
		list.SetShardInfo(info)
	case *unstructured.UnstructuredList:
		if isUnstructuredBuiltIn(r.Group) {
			_ = unstructured.SetNestedField(list.Object, info.Selector, "metadata", "shardInfo", "selector") // the metadata is a map
		}
	}
}

// setItems sets a slice of structs to the structs that the items point to. It clears their kind and
// apiVersion, which list items of typed objects do not have.
func setItems(slice reflect.Value, items []*history.Item) {
	slice.Set(reflect.MakeSlice(slice.Type(), len(items), len(items)))
	typeMeta, ok := slice.Type().Elem().FieldByName("TypeMeta")
	for i, item := range items {
		slice.Index(i).Set(reflect.ValueOf(item.Object).Elem())
		if ok {
			slice.Index(i).FieldByIndex(typeMeta.Index).SetZero()
		}
	}
}
