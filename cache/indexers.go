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
	"github.com/kinformer/kinformer/internal/store"
)

// Indexers are a store's indexes by name:
//
//	cache.Indexers[*corev1.Pod]{
//		cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc),
//		"node":               cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }),
//	}
type Indexers[T Object] map[string]Index[T]

// Index is one index of a store, made by ByObject or ByMetadata. The zero Index is invalid.
type Index[T Object] struct {
	object   func(obj T) ([]string, error)
	metadata func(metadata Metadata) ([]string, error)
}

// Metadata is the part of an object that a function of ByMetadata reads.
type Metadata interface {
	GetNamespace() string
	GetName() string
	GetLabels() map[string]string
	GetAnnotations() map[string]string
	GetOwnerReferences() []metav1.OwnerReference
}

// ByObject returns an index by the whole object. The function returns the values under which the index
// finds an object. It must depend on the object alone and must not change it. It may return the same
// slice more than once. If it returns an error or panics, the error is reported, and the object is
// stored but not found by the index. With Packed, each object that is stored is decoded for it.
func ByObject[T Object](index func(obj T) ([]string, error)) Index[T] { return Index[T]{object: index} }

// ByMetadata returns an index like that of ByObject, whose function reads metadata only. The metadata
// is valid until the function returns. With Packed, only the metadata is decoded for it, and nothing if
// the function reads namespace and name only.
func ByMetadata[T Object](index func(metadata Metadata) ([]string, error)) Index[T] {
	return Index[T]{metadata: index}
}

// NamespaceIndex is the name of an index by namespace. A Lister uses the index of that name.
const NamespaceIndex = "namespace"

// MetaNamespaceIndexFunc returns the namespace, for ByMetadata.
func MetaNamespaceIndexFunc(metadata Metadata) ([]string, error) {
	return []string{metadata.GetNamespace()}, nil
}

// check returns an error that names the indexes without a function.
func (indexers Indexers[T]) check() (err error) {
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		if indexers[name].object == nil && indexers[name].metadata == nil {
			err = errors.Join(err, fmt.Errorf("index %q has no function: use ByObject or ByMetadata", name))
		}
	}
	return err
}

// functions returns the indexes as functions of objects, without those that check refuses.
func (indexers Indexers[T]) functions() map[string]store.IndexFunc[T] {
	functions := make(map[string]store.IndexFunc[T], len(indexers))
	for name, index := range indexers {
		switch {
		case index.object != nil:
			functions[name] = store.IndexFunc[T](index.object)
		case index.metadata != nil:
			functions[name] = func(obj T) ([]string, error) { return index.metadata(obj) }
		}
	}
	return functions
}

// itemFunctions returns the indexes by metadata as functions of items, which need no decoded
// object.
func (indexers Indexers[T]) itemFunctions() map[string]func(feed.Item) ([]string, error) {
	functions := make(map[string]func(feed.Item) ([]string, error))
	for name, index := range indexers {
		if index.metadata != nil {
			functions[name] = func(item feed.Item) ([]string, error) {
				return codec.IndexMetadata(item, func(m codec.Metadata) ([]string, error) { return index.metadata(m) })
			}
		}
	}
	return functions
}
