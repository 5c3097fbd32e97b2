package cache

import (
	"errors"

	"github.com/kinformer/kinformer/internal/store"
)

// IndexFunc returns the values under which an index finds an object. It must
// depend on the object alone, must not change it, and may return the same slice
// again and again. One that fails or panics costs the object its entry in that
// index, which is reported.
type IndexFunc[T Object] func(obj T) ([]string, error)

// Indexers are index functions by the names of their indexes.
type Indexers[T Object] map[string]IndexFunc[T]

// NamespaceIndex is the usual name of an index by namespace.
const NamespaceIndex = "namespace"

// MetaNamespaceIndexFunc indexes objects by their namespaces.
func MetaNamespaceIndexFunc[T Object](obj T) ([]string, error) {
	return []string{obj.GetNamespace()}, nil
}

func (indexers Indexers[T]) functions() map[string]store.IndexFunc[T] {
	functions := make(map[string]store.IndexFunc[T], len(indexers))
	for name, index := range indexers {
		if index == nil {
			index = func(T) ([]string, error) { return nil, errNoIndexFunc }
		}
		functions[name] = store.IndexFunc[T](index)
	}
	return functions
}

var errNoIndexFunc = errors.New("the index function is nil")
