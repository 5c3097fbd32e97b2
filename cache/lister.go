// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
// concurrent use. The returned objects belong to the cache and must not be changed. The zero Lister
// has no objects; its Get returns an error.
type Lister[T Object] struct {
	reader    Reader[T]
	resource  schema.GroupResource
	namespace string
}

// NewLister returns a Lister of a store whose keys are those of MetaNamespaceKeyFunc, such as that
// of an informer. The resource, such as corev1.Resource("pods"), is for errors.
func NewLister[T Object](reader Reader[T], resource schema.GroupResource) Lister[T] {
	return Lister[T]{reader: reader, resource: resource}
}

// Namespace returns a Lister of one namespace.
func (l Lister[T]) Namespace(namespace string) Lister[T] {
	l.namespace = namespace
	return l
}

var errZeroLister = errors.New("the Lister has no store: use NewLister")

// Get returns the object with a name in the Lister's namespace or, if the Lister has none, the
// object with that name and without a namespace. If there is none, it returns an error for which
// apierrors.IsNotFound is true.
//
// Three errors are not NotFound. For an object that exists but could never be stored, the error
// wraps ErrNotStored and the cause. If the informer's Scopes do not tell whether the object exists,
// the error wraps ErrNoScope. If the Lister has no namespace and the objects have namespaces, the
// error says to use Namespace.
func (l Lister[T]) Get(name string) (obj T, err error) {
	if l.reader.kept == nil {
		return obj, errZeroLister
	}
	key := name
	if l.namespace != "" {
		key = l.namespace + "/" + name
	}
	obj, exists, failure := l.reader.kept.Find(key)
	switch {
	case exists:
		return obj, nil
	case failure != nil && (!errors.Is(failure, ErrNoScope) || !l.lacksNamespace(name)):
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
	return strings.Contains(l.reader.read().AnyKey(), "/")
}

// List returns the objects that a selector matches, in the Lister's namespace or, if the Lister has
// none, in all namespaces. A nil selector matches everything. The result is in no particular order,
// and lacks objects that could never be stored; see Status.QuarantinedKeys.
//
// If the store has the index NamespaceIndex, which must be by namespace, List does not scan other
// namespaces. With Packed, it decodes only the objects that match.
func (l Lister[T]) List(selector labels.Selector) []T {
	if l.reader.kept == nil {
		return nil
	}
	var matches func(map[string]string) bool
	if selector != nil && !selector.Empty() {
		matches = func(set map[string]string) bool { return selector.Matches(labels.Set(set)) }
	}
	state := l.reader.Snapshot().read()
	if l.namespace == "" {
		return state.Select(matches)
	}
	if objs, err := state.SelectByIndex(NamespaceIndex, l.namespace, matches); err == nil {
		return objs
	}
	prefix := l.namespace + "/"
	return state.SelectByKey(func(key string) bool { return strings.HasPrefix(key, prefix) }, matches)
}
