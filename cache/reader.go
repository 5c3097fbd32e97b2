// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/store"
)

// Reader reads a store. Its objects belong to the cache: all readers share them, and they must not
// be changed. Results are in no particular order except those of All. The zero Reader is that of an
// empty store. For tests, NewStore makes a store whose content the test writes.
//
// The methods are safe for concurrent use and block a writer for O(1) at most: Get and GetByKey
// take no lock, and the others may take one to capture the state after a write. Get, GetByKey and
// Len see each change as soon as it is made. Each other method reads one state, which has all of a
// relist or nothing of it, or with Scopes perhaps a part of that of a scope.
//
// An object whose newest state could not be stored (see KeyError) is read as its last good state.
// If it never had one, it is absent from all results, which does not mean that it was deleted: Get
// and a Lister's Get return an error for it, and GetByKey reports false.
type Reader[T Object] struct {
	kept *store.Store // nil: empty
	key  func(T) (string, error)
}

// read returns the store; an empty one for the zero Reader.
func (r Reader[T]) read() *store.Store {
	if r.kept == nil {
		return store.New(store.Config{})
	}
	return r.kept
}

// Get returns the object that has obj's key and reports whether there is one. The error is that of
// the key function or, if there is no object, that of KeyError.
func (r Reader[T]) Get(obj T) (item T, exists bool, err error) {
	key := r.key
	if key == nil {
		key = MetaNamespaceKeyFunc[T]
	}
	name, err := key(obj)
	if err != nil {
		return item, false, err
	}
	value, exists, err := r.read().Find(name)
	return as[T](value), exists, err
}

// GetByKey returns the object with the given key and reports whether there is one.
func (r Reader[T]) GetByKey(key string) (item T, exists bool) {
	value, exists := r.read().Get(key)
	return as[T](value), exists
}

// KeyError returns why the store does not hold the newest state of the object with the given key.
// The error wraps ErrNotStored and the cause. If the informer cannot tell whether the object
// exists, the error wraps ErrNoScope or ErrNotServed instead. KeyError returns nil if the store
// holds the newest state, if the object does not exist, and for every store made by NewStore.
func (r Reader[T]) KeyError(key string) error { return r.read().KeyError(key) }

// List returns all objects.
func (r Reader[T]) List() []T { return r.Snapshot().List() }

// ListKeys returns all keys.
func (r Reader[T]) ListKeys() []string { return r.read().Snapshot().Keys() }

// All returns an iterator over keys and objects in the order of the keys. It shows the state at
// the time of the call, and the loop may write to the store.
func (r Reader[T]) All() iter.Seq2[string, T] { return r.Snapshot().All() }

// ByIndex returns the objects that an index finds under a value. An unknown index is an error.
// An object for whose state the index function failed is missing, without an error: such
// failures are reported and counted in Status.Store.IndexErrors. The other reads have the object.
func (r Reader[T]) ByIndex(indexName, indexedValue string) ([]T, error) {
	return r.Snapshot().ByIndex(indexName, indexedValue)
}

// IndexKeys returns the keys of the objects that ByIndex returns.
func (r Reader[T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return r.read().Snapshot().IndexKeys(indexName, indexedValue)
}

// Len returns the number of objects.
func (r Reader[T]) Len() int { return r.read().Len() }

// Snapshot returns the current state, for several reads of the same state.
func (r Reader[T]) Snapshot() Snapshot[T] { return Snapshot[T]{r.read().Snapshot()} }

// Snapshot is the state of a store at one moment. It is immutable and costs O(1) to take; keeping
// it costs the memory of the objects that have changed since. The zero Snapshot is empty.
type Snapshot[T Object] struct {
	state *store.Snapshot // nil: empty
}

// read returns the state; that of an empty store for the zero Snapshot.
func (s Snapshot[T]) read() *store.Snapshot {
	if s.state == nil {
		return store.New(store.Config{}).Snapshot()
	}
	return s.state
}

// ResourceVersion returns the version of the collection that the snapshot shows. It is empty before
// the first list.
func (s Snapshot[T]) ResourceVersion() string { return s.read().ResourceVersion() }

// GetByKey returns the object with the given key and reports whether there is one.
func (s Snapshot[T]) GetByKey(key string) (item T, exists bool) {
	value, exists := s.read().Get(key)
	return as[T](value), exists
}

// List returns all objects, in no particular order.
func (s Snapshot[T]) List() []T {
	var objs objects[T]
	s.read().Select(nil, &objs)
	return objs
}

// ListKeys returns all keys, in no particular order.
func (s Snapshot[T]) ListKeys() []string { return s.read().Keys() }

// ByIndex returns the objects that an index finds under a value, in no particular order. An unknown
// index is an error. Objects for whose state the index function failed are missing; see
// Reader.ByIndex.
func (s Snapshot[T]) ByIndex(indexName, indexedValue string) ([]T, error) {
	var objs objects[T]
	err := s.read().SelectByIndex(indexName, indexedValue, nil, &objs)
	return objs, err
}

// IndexKeys returns the keys of the objects that ByIndex returns.
func (s Snapshot[T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return s.read().IndexKeys(indexName, indexedValue)
}

// ListIndexValues returns the values under which an index finds objects, in no particular order. An
// unknown index is an error.
func (s Snapshot[T]) ListIndexValues(indexName string) ([]string, error) {
	return s.read().IndexValues(indexName)
}

// Len returns the number of objects.
func (s Snapshot[T]) Len() int { return s.read().Len() }

// All returns an iterator over keys and objects in the order of the keys. The first iteration over
// a state sorts its keys; later ones, of all snapshots of that state, reuse the order.
func (s Snapshot[T]) All() iter.Seq2[string, T] {
	all := s.read().All()
	return func(yield func(string, T) bool) {
		all(func(key string, value any) bool { return yield(key, as[T](value)) })
	}
}

// objects receives the values of a read.
type objects[T Object] []T

func (o *objects[T]) Grow(n int)       { *o = make([]T, 0, n) }
func (o *objects[T]) Append(value any) { *o = append(*o, as[T](value)) }

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
// Some errors are not NotFound. For an object that exists but could never be stored, the error
// wraps ErrNotStored and the cause. If the informer cannot tell whether the object exists, the
// error wraps ErrNoScope or ErrNotServed. If the Lister has no namespace and the objects have
// namespaces, the error says to use Namespace.
func (l Lister[T]) Get(name string) (obj T, err error) {
	if l.reader.kept == nil {
		return obj, errZeroLister
	}
	key := name
	if l.namespace != "" {
		key = l.namespace + "/" + name
	}
	value, exists, failure := l.reader.kept.Find(key)
	switch {
	case exists:
		return as[T](value), nil
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
// and lacks objects that could never be stored; see Status.Store.QuarantinedKeys.
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
	var objs objects[T]
	state := l.reader.Snapshot().read()
	if l.namespace == "" {
		state.Select(matches, &objs)
		return objs
	}
	if err := state.SelectByIndex(NamespaceIndex, l.namespace, matches, &objs); err != nil {
		prefix := l.namespace + "/"
		state.SelectByKey(func(key string) bool { return strings.HasPrefix(key, prefix) }, matches, &objs)
	}
	return objs
}
