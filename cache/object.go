// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// Object is a cached object: a pointer to an API type, such as *corev1.Pod,
// *unstructured.Unstructured or *metav1.PartialObjectMetadata.
type Object interface {
	runtime.Object
	metav1.Object
}

// KeyFunc returns the key under which a store keeps an object. It must depend on the object alone
// and return the same key for every state of it.
type KeyFunc[T Object] func(obj T) (string, error)

// MetaNamespaceKeyFunc is the default KeyFunc. It returns "namespace/name", or "name" for an
// object without namespace. A nil object, or one without a name, is an error.
func MetaNamespaceKeyFunc[T Object](obj T) (string, error) {
	if codec.IsNil(obj) {
		return "", errNilObject
	}
	if obj.GetName() == "" {
		return "", fmt.Errorf("%T in namespace %q: metadata.name is empty", obj, obj.GetNamespace())
	}
	return codec.Key(obj), nil
}

var errNilObject = errors.New("object is nil")

// SplitMetaNamespaceKey splits a key that MetaNamespaceKeyFunc returned. The namespace is empty
// for an object without one.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	before, after, found := strings.Cut(key, "/")
	switch {
	case !found:
		return "", key, nil
	case strings.Contains(after, "/"):
		return "", "", fmt.Errorf("unexpected key %q: more than one slash", key)
	default:
		return before, after, nil
	}
}

// as converts a value of the engine, which knows objects as any, to T. It converts nil to a zero T.
func as[T Object](value any) T {
	if value == nil {
		return *new(T)
	}
	return value.(T)
}

// keyOf returns a function that returns an object's key by keyFunc, or by the default if it is nil.
// An error, or a panic of keyFunc, names the object.
func keyOf[T Object](keyFunc KeyFunc[T]) KeyFunc[T] {
	if keyFunc == nil {
		keyFunc = MetaNamespaceKeyFunc[T]
	}
	return func(obj T) (string, error) {
		if codec.IsNil(obj) {
			return "", errNilObject
		}
		key, err := feed.CatchPanic(func() (string, error) { return keyFunc(obj) })
		if err != nil {
			return "", fmt.Errorf("no key for %T%s: %w", obj, codec.QuotedName(obj), err)
		}
		return key, nil
	}
}
