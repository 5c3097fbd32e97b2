package cache

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KeyFunc returns the key under which a store keeps an object. It must depend on
// the object alone, and return the same for every state of it.
type KeyFunc[T Object] func(obj T) (string, error)

// MetaNamespaceKeyFunc is the usual key function: "namespace/name", or "name" of
// an object without namespace. An object that is nil or has no name is an error.
func MetaNamespaceKeyFunc[T Object](obj T) (string, error) {
	if isNil(obj) {
		return "", errNilObject
	}
	if obj.GetName() == "" {
		return "", fmt.Errorf("%T in namespace %q: metadata.name is empty", obj, obj.GetNamespace())
	}
	return objectKey(obj), nil
}

var errNilObject = errors.New("object is nil")

func objectKey(obj metav1.Object) string {
	if namespace := obj.GetNamespace(); namespace != "" {
		return namespace + "/" + obj.GetName()
	}
	return obj.GetName()
}

// SplitMetaNamespaceKey returns the namespace, if any, and the name of a key that
// MetaNamespaceKeyFunc made.
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
