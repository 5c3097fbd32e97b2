package cache

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lister reads a store by names and labels, as a client reads the API. Its methods are safe for
// concurrent use. The objects they return belong to the cache and must not be changed. The zero
// Lister has no objects; its Get returns an error.
type Lister[T Object] struct {
	reader    Reader[T]
	resource  schema.GroupResource
	namespace string
}

// NewLister returns a Lister of a store whose keys are those of MetaNamespaceKeyFunc. Errors name
// the resource, such as corev1.Resource("pods").
func NewLister[T Object](reader Reader[T], resource schema.GroupResource) Lister[T] {
	return Lister[T]{reader: reader, resource: resource}
}

// Namespace returns a Lister of one namespace.
func (l Lister[T]) Namespace(namespace string) Lister[T] {
	l.namespace = namespace
	return l
}

var errZeroLister = errors.New("the Lister has no store: use NewLister")

// Get returns the object with a name, in the Lister's namespace or, if it has none, the object
// without namespace. If there is none, it returns an error for which apierrors.IsNotFound is true.
func (l Lister[T]) Get(name string) (obj T, err error) {
	if l.reader == nil {
		return obj, errZeroLister
	}
	key := name
	if l.namespace != "" {
		key = l.namespace + "/" + name
	}
	obj, exists := l.reader.GetByKey(key)
	if !exists {
		return obj, apierrors.NewNotFound(l.resource, name)
	}
	return obj, nil
}

// List returns the objects that a selector matches, in the Lister's namespace or, if it has none,
// in all namespaces, in no particular order. A nil selector matches everything. If the store has
// the index NamespaceIndex, which must then be by namespace, List does not scan other namespaces.
// With Packed, it decodes only the objects that match.
func (l Lister[T]) List(selector labels.Selector) []T {
	if l.reader == nil {
		return nil
	}
	var matches func(map[string]string) bool
	if selector != nil && !selector.Empty() {
		matches = func(set map[string]string) bool { return selector.Matches(labels.Set(set)) }
	}
	state := l.reader.Snapshot().state
	switch {
	case state == nil:
		return nil
	case l.namespace == "":
		return state.Select(matches)
	}
	if objs, err := state.SelectByIndex(NamespaceIndex, l.namespace, matches); err == nil {
		return objs
	}
	prefix := l.namespace + "/"
	return state.SelectByKey(func(key string) bool { return strings.HasPrefix(key, prefix) }, matches)
}
