// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"iter"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/store"
)

// Store is a Reader that can be written to. Writes store an object whatever its version. They are
// safe for concurrent use.
type Store[T Object] interface {
	Reader[T]
	// Add stores an object, replacing the one that has its key.
	Add(obj T) error
	// Update is Add.
	Update(obj T) error
	// Delete removes the object that has obj's key. It is not an error if there is none.
	Delete(obj T) error
	// Replace makes objs the whole content. Every snapshot shows all of it or nothing. If an object
	// has no key, nothing is changed and the error gives its position. resourceVersion is the
	// collection's and may be empty.
	Replace(objs []T, resourceVersion string) error
}

// NewStore returns an empty store. A nil keyFunc stands for MetaNamespaceKeyFunc; indexers may be
// nil. Errors of index functions are logged. With an index that has no function, every write is an
// error.
func NewStore[T Object](keyFunc KeyFunc[T], indexers Indexers[T]) Store[T] {
	log := newErrorLog(clock.RealClock{})
	report := func(key string, err error) {
		log.handle(context.Background(), newObjectError(key, err))
	}
	config := storeConfig(keyFunc, indexers, report)
	return &objectStore[T]{reader[T]{store.New(config), config.Key}, indexers.check()}
}

func storeConfig[T Object](keyFunc KeyFunc[T], indexers Indexers[T], report func(string, error)) store.Config[T] {
	isDefault := keyFunc == nil
	if isDefault {
		keyFunc = MetaNamespaceKeyFunc[T]
	}
	return store.Config[T]{
		Key:      func(obj T) (string, error) { return keyOf(keyFunc, obj) },
		ItemKeys: isDefault,
		Identity: func(obj T) (uid, resourceVersion string) {
			return string(obj.GetUID()), obj.GetResourceVersion()
		},
		Labels:       func(obj T) map[string]string { return obj.GetLabels() },
		Indexers:     indexers.functions(),
		ItemIndexers: indexers.itemFunctions(),
		Report:       report,
	}
}

// reader is the Reader of a store.
type reader[T Object] struct {
	kept *store.Store[T]
	key  func(T) (string, error)
}

func (r reader[T]) Get(obj T) (item T, exists bool, err error) {
	key, err := r.key(obj)
	if err != nil {
		return item, false, err
	}
	return r.kept.Find(key)
}

func (r reader[T]) GetByKey(key string) (item T, exists bool) { return r.kept.Get(key) }

func (r reader[T]) KeyError(key string) error { return r.kept.KeyError(key) }

func (r reader[T]) List() []T { return r.kept.Snapshot().List() }

func (r reader[T]) ListKeys() []string { return r.kept.Snapshot().Keys() }

func (r reader[T]) All() iter.Seq2[string, T] { return r.kept.Snapshot().All() }

func (r reader[T]) ByIndex(indexName, indexedValue string) ([]T, error) {
	return r.kept.Snapshot().ByIndex(indexName, indexedValue)
}

func (r reader[T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return r.kept.Snapshot().IndexKeys(indexName, indexedValue)
}

func (r reader[T]) Len() int { return r.kept.Len() }

func (r reader[T]) Snapshot() Snapshot[T] { return Snapshot[T]{r.kept.Snapshot()} }

// objectStore is the Store that NewStore returns.
type objectStore[T Object] struct {
	reader[T]
	invalid error // why it cannot be written to
}

func (s *objectStore[T]) check() error { return s.invalid }

func (s *objectStore[T]) Add(obj T) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.kept.Put(obj)
}

func (s *objectStore[T]) Update(obj T) error { return s.Add(obj) }

func (s *objectStore[T]) Delete(obj T) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.kept.Remove(obj)
}

func (s *objectStore[T]) Replace(objs []T, resourceVersion string) error {
	if s.invalid != nil {
		return s.invalid
	}
	return s.kept.Replace(objs, resourceVersion)
}
