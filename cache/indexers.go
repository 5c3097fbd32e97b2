// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/fields"
)

// Indexers are a store's indexes by name:
//
//	cache.Indexers[*corev1.Pod]{
//		cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc),
//		"node":               cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }),
//	}
type Indexers[T Object] map[string]Index[T]

// Index is one index of a store, made by ByObject, ByMetadata or ByField. The zero Index is
// invalid.
type Index[T Object] struct {
	// resolve returns the functions of the index for objects of a type.
	resolve func(objects codec.ObjectType) (indexFuncs[T], error)
}

// indexFuncs return the values of an object under an index.
type indexFuncs[T Object] struct {
	object func(obj T) ([]string, error)
	// item, if set, needs no decoded object.
	item  func(item feed.Item) ([]string, error)
	field *codec.FieldIndex // of ByField
}

// Metadata is the part of an object that a function of ByMetadata reads.
type Metadata interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	GetOwnerReferences() []metav1.OwnerReference
}

// ByObject returns an index by the whole object. The function returns the values under which the
// index finds an object. It must depend on the object alone and must not change it. It may return
// the same slice more than once. If it returns an error or panics, the error is reported, and the
// object is stored but not found by the index. With Packed, each object that is stored is decoded
// for it.
func ByObject[T Object](index func(obj T) ([]string, error)) Index[T] {
	return newIndex(index == nil, indexFuncs[T]{object: index})
}

// ByMetadata returns an index like that of ByObject, whose function reads metadata only. The
// metadata is valid until the function returns. With Packed, only the metadata is decoded for it,
// and nothing if the function reads namespace and name only.
func ByMetadata[T Object](index func(metadata Metadata) ([]string, error)) Index[T] {
	return newIndex(index == nil, indexFuncs[T]{
		object: func(obj T) ([]string, error) { return index(obj) },
		item: func(item feed.Item) ([]string, error) {
			return codec.IndexMetadata(item, func(m codec.Metadata) ([]string, error) { return index(m) })
		},
	})
}

// newIndex returns an index whose functions do not depend on the type of the objects.
func newIndex[T Object](invalid bool, functions indexFuncs[T]) Index[T] {
	if invalid {
		return Index[T]{}
	}
	return Index[T]{func(codec.ObjectType) (indexFuncs[T], error) { return functions, nil }}
}

// ByField returns an index by the values of a field, as JSON writes them, such as that of
// "spec.nodeName" or "spec.containers.image": a list on the way gives a value for each of its
// elements. With Packed, the field is read from an object's bytes, and nothing else of it is
// decoded.
//
// A zero value that is not behind a pointer counts as absent: JSON leaves it out, and the index
// must be the same with protobuf, which writes it. Behind a pointer, 0 and false are values. In an
// unstructured object, whose types are not known, all values but null count. The field must be a
// string, a number, a bool, a time or a Quantity, and not in metadata. The index is invalid if the
// objects' type has no such field (for a PartialObject, if it is not in S), or if OmitFields leaves
// it out.
func ByField[T Object](path string) Index[T] {
	return Index[T]{func(objects codec.ObjectType) (indexFuncs[T], error) {
		field, err := codec.NewFieldIndex(objects, path)
		if err != nil {
			return indexFuncs[T]{}, fmt.Errorf("field %q: %w", path, err)
		}
		return indexFuncs[T]{func(obj T) ([]string, error) { return field.OfObject(obj) }, field.OfItem, field}, nil
	}}
}

// NamespaceIndex is the name of an index by namespace. A Lister uses the index of that name.
const NamespaceIndex = "namespace"

// MetaNamespaceIndexFunc returns the namespace, for ByMetadata.
func MetaNamespaceIndexFunc(metadata Metadata) ([]string, error) {
	return []string{metadata.GetNamespace()}, nil
}

// resolve returns the functions of the indexes for objects of a type, without those of invalid
// ones, which the error names.
func (indexers Indexers[T]) resolve(objects codec.ObjectType) (functions map[string]indexFuncs[T], err error) {
	functions = make(map[string]indexFuncs[T], len(indexers))
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		resolve := indexers[name].resolve
		if resolve == nil {
			err = errors.Join(err, fmt.Errorf("index %q has no function: use ByObject, ByMetadata or ByField", name))
			continue
		}
		index, invalid := resolve(objects)
		if invalid != nil {
			err = errors.Join(err, fmt.Errorf("index %q: %w", name, invalid))
			continue
		}
		functions[name] = index
	}
	return functions, err
}

// checkOmitted returns an error that names the indexes by a field that is omitted.
func checkOmitted[T Object](indexers map[string]indexFuncs[T], omitted *fields.Omitted) (err error) {
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		if field := indexers[name].field; field != nil && field.Omitted(omitted) != nil {
			err = errors.Join(err, fmt.Errorf("index %q: %w", name, field.Omitted(omitted)))
		}
	}
	return err
}
