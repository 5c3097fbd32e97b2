// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package storewriter

import (
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// Store is the program's store. Its methods are called one at a time.
type Store[T any] interface {
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error
	// Replace makes objs the whole content. After an error the content must be unchanged.
	Replace(objs []T, resourceVersion string) error
}

// List is the new content of a store that takes it object by object.
type List[T any] interface {
	Add(obj T) error // in place of an earlier state
	Delete(obj T) error
	Commit(resourceVersion string) error
}

// Config is the configuration of a Sink.
type Config[T any] struct {
	Store Store[T]
	// Get returns the stored object of an item. The item's Object is nil if it cannot be decoded.
	Get func(item feed.Item) (obj T, held bool, err error)
	// Compare compares each item with the stored object. Neither an older state nor the stored one
	// is written, nor the deletion of an object that is not held, and an object that the store
	// refuses is quarantined. Without Compare each event is written, and an error is reported only.
	Compare bool
	// GoType is what IdentityOnly makes for Delete, without Compare.
	GoType reflect.Type
	// Transform, if set, is applied to objects of lists. The store transforms those of events.
	Transform func(obj T) (T, error)
	// Begin, if set, starts the List that is used instead of Replace.
	Begin func() List[T]
	// Report receives each error on an object, a *feed.EffectError.
	Report func(key string, err error)
}

// IdentityOnly returns an object of goType, a pointer type, that has only the identity of an item.
// It returns false if there is no type, or the key has no name.
func IdentityOnly[T any](item feed.Item, goType reflect.Type) (obj T, ok bool) {
	namespace, name := path.Split(item.Key)
	if goType == nil || name == "" || strings.Count(namespace, "/") > 1 {
		return obj, false
	}
	obj, ok = reflect.TypeAssert[T](reflect.New(goType.Elem()))
	accessor, err := meta.Accessor(obj)
	if !ok || err != nil {
		return obj, false
	}
	accessor.SetNamespace(strings.TrimSuffix(namespace, "/"))
	accessor.SetName(name)
	accessor.SetUID(types.UID(item.UID))
	accessor.SetResourceVersion(item.ResourceVersion)
	return obj, true
}

// metaOf returns the metadata of a stored object, which is empty if it has none.
func metaOf(obj any) metav1.Object {
	if accessor, err := meta.Accessor(obj); err == nil {
		return accessor
	}
	return &metav1.ObjectMeta{}
}

// isPredecessor reports whether a stored object has an item's key and another UID: it was deleted.
func isPredecessor(old any, item feed.Item) bool {
	last := metaOf(old)
	return codec.Key(last) == item.Key && last.GetUID() != "" && item.UID != "" && string(last.GetUID()) != item.UID
}
