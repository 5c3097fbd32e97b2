package cache

import (
	"errors"
	"fmt"
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
//
// An object that exists and could never be stored is not taken for deleted: the error wraps
// ErrNotStored and the cause. A missing namespace, where the store has objects with namespaces, is
// an error that says so.
func (l Lister[T]) Get(name string) (obj T, err error) {
	if l.reader == nil {
		return obj, errZeroLister
	}
	key := name
	if l.namespace != "" {
		key = l.namespace + "/" + name
	}
	obj, exists := l.reader.GetByKey(key)
	if exists {
		return obj, nil
	}
	failure := l.reader.KeyError(key)
	if obj, exists = l.reader.GetByKey(key); exists { // stored in between
		return obj, nil
	}
	switch {
	case failure != nil:
		return obj, fmt.Errorf("%s %q: %w", l.resource, key, failure)
	case l.lacksNamespace(name):
		return obj, fmt.Errorf("%s %q: the objects have namespaces, and the Lister has none: use Namespace", l.resource, name)
	}
	return obj, apierrors.NewNotFound(l.resource, name)
}

// lacksNamespace reports whether a name cannot be found without a namespace, by one key of the
// store.
func (l Lister[T]) lacksNamespace(name string) bool {
	if l.namespace != "" || strings.Contains(name, "/") {
		return false
	}
	state := l.reader.Snapshot().state
	return state != nil && strings.Contains(state.AnyKey(), "/")
}

// List returns the objects that a selector matches, in the Lister's namespace or, if it has none,
// in all namespaces, in no particular order, without those that could never be stored (see Status).
// A nil selector matches everything. If the store has
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
