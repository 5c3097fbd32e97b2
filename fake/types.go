// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// blankOf returns an empty object of example's type. Unstructured and metadata-only objects keep
// the kind of the example.
func blankOf(example Object) Object {
	switch example := example.(type) {
	case *unstructured.Unstructured:
		blank := &unstructured.Unstructured{Object: map[string]any{}}
		blank.SetGroupVersionKind(example.GroupVersionKind())
		return blank
	case *metav1.PartialObjectMetadata:
		return &metav1.PartialObjectMetadata{TypeMeta: example.TypeMeta}
	}
	return reflect.New(reflect.TypeOf(example).Elem()).Interface().(Object)
}

// kindOf returns the kind in obj's type metadata or, without that, in client-go's scheme. The
// result is empty if both lack it.
func kindOf(obj runtime.Object) schema.GroupVersionKind {
	if gvk := obj.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk
	}
	gvks, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(gvks) == 0 {
		return schema.GroupVersionKind{}
	}
	return gvks[0]
}

// resourceOf returns the resource name for error messages, guessed from the kind.
func resourceOf(obj runtime.Object) schema.GroupResource {
	gvk := kindOf(obj)
	if gvk.Empty() {
		return schema.GroupResource{Resource: strings.ToLower(reflect.TypeOf(obj).Elem().Name())}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return resource.GroupResource()
}

// listFuncFor returns a function that returns a list with copies of the given items.
func listFuncFor(blank Object) func([]*history.Item, metav1.ListMeta) (runtime.Object, error) {
	newList := newListFor(blank)
	return func(items []*history.Item, listMeta metav1.ListMeta) (runtime.Object, error) {
		list := newList()
		objects := make([]runtime.Object, len(items))
		for i, item := range items {
			objects[i] = item.Object.DeepCopyObject()
		}
		if err := meta.SetList(list, objects); err != nil {
			return nil, fmt.Errorf("set items of %T to %T: %w", list, blank, err)
		}
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return nil, fmt.Errorf("set list metadata of %T: %w", list, err)
		}
		accessor.SetResourceVersion(listMeta.ResourceVersion)
		accessor.SetContinue(listMeta.Continue)
		accessor.SetRemainingItemCount(listMeta.RemainingItemCount)
		if listMeta.ShardInfo != nil {
			setShardInfo(list, listMeta.ShardInfo)
		}
		return list, nil
	}
}

// setShardInfo sets the shardInfo of a list. As with kube-apiserver, lists of custom resources and
// of metadata have none.
func setShardInfo(list runtime.Object, info *metav1.ShardInfo) {
	switch list := list.(type) {
	case *metav1.PartialObjectMetadataList:
	case metav1.ShardedListInterface:
		list.SetShardInfo(info)
	case *unstructured.UnstructuredList:
		if scheme.Scheme.Recognizes(list.GroupVersionKind()) {
			_ = unstructured.SetNestedField(list.Object, info.Selector, "metadata", "shardInfo", "selector") // the metadata is a map
		}
	}
}

// newListFor returns a function that returns an empty list for objects of blank's type.
func newListFor(blank Object) func() runtime.Object {
	gvk := kindOf(blank)
	gvk.Kind += "List"
	switch blank.(type) {
	case *unstructured.Unstructured:
		return func() runtime.Object {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(gvk)
			return list
		}
	case *metav1.PartialObjectMetadata:
		return func() runtime.Object { return &metav1.PartialObjectMetadataList{} }
	}
	return func() runtime.Object {
		if list, err := scheme.Scheme.New(gvk); err == nil {
			return list
		}
		return &metav1.List{}
	}
}
