package cache

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lister reads a store by names and labels, as the API is read. Its methods are safe for
// concurrent use; what they return is the cache's and must not be changed.
type Lister[T Object] struct {
	reader    Reader[T]
	resource  schema.GroupResource
	namespace string
}

// NewLister returns a Lister of a store, whose keys must be the usual ones
// (MetaNamespaceKeyFunc). The resource, such as corev1.Resource("pods"), is what its errors
// name.
func NewLister[T Object](reader Reader[T], resource schema.GroupResource) Lister[T] {
	return Lister[T]{reader: reader, resource: resource}
}

// Namespace returns the Lister of one namespace.
func (l Lister[T]) Namespace(namespace string) Lister[T] {
	l.namespace = namespace
	return l
}

// Get returns an object by its name: in the Lister's namespace, or without one. That there
// is none is an error that apierrors.IsNotFound tells.
func (l Lister[T]) Get(name string) (T, error) {
	key := name
	if l.namespace != "" {
		key = l.namespace + "/" + name
	}
	obj, exists := l.reader.GetByKey(key)
	if !exists {
		var none T
		return none, apierrors.NewNotFound(l.resource, name)
	}
	return obj, nil
}

// List returns the objects that a selector matches, in the Lister's namespace or, if it has
// none, in all, in no order. A nil selector matches everything. A namespace is found without
// looking at the others if the store has the index NamespaceIndex, which must then be by
// namespace. Of packed objects only those that match are decoded.
func (l Lister[T]) List(selector labels.Selector) []T {
	var matches func(map[string]string) bool
	if selector != nil && !selector.Empty() {
		matches = func(set map[string]string) bool { return selector.Matches(labels.Set(set)) }
	}
	state := l.reader.Snapshot().state
	if l.namespace == "" {
		return state.Select(matches)
	}
	if objs, err := state.SelectByIndex(NamespaceIndex, l.namespace, matches); err == nil {
		return objs
	}
	prefix := l.namespace + "/"
	return state.SelectByKey(func(key string) bool { return strings.HasPrefix(key, prefix) }, matches)
}
