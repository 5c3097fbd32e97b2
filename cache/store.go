// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"reflect"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// Store is a Reader that can be written to. Writes store an object whatever its version. They are
// safe for concurrent use. A Store must be made by NewStore: writes to the zero Store are errors.
type Store[T Object] struct {
	Reader[T]
	invalid error // why it cannot be written to
}

// NewStore returns an empty store. A nil keyFunc stands for MetaNamespaceKeyFunc; indexers may be
// nil. Errors of index functions are logged. With an index that has no function, every write is an
// error.
func NewStore[T Object](keyFunc KeyFunc[T], indexers Indexers[T]) *Store[T] {
	log := newErrorLog(clock.RealClock{})
	report := func(key string, err error) {
		log.handle(context.Background(), newObjectError(key, err))
	}
	objects, typeErr := objectType(*new(T))
	if typeErr != nil {
		objects = codec.ObjectType{} // all that indexes by functions need
	}
	functions, err := indexers.resolve(objects)
	if err != nil {
		err = errors.Join(err, typeErr)
	}
	return &Store[T]{Reader[T]{store.New(storeConfig(keyFunc, functions, report)), keyOf(keyFunc)}, err}
}

var errZeroStore = errors.New("the Store was not made by NewStore")

func (s *Store[T]) check() error {
	if s.kept == nil {
		return errZeroStore
	}
	return s.invalid
}

// Add stores an object, replacing the one that has its key.
func (s *Store[T]) Add(obj T) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.kept.Put(obj)
}

// Update is Add.
func (s *Store[T]) Update(obj T) error { return s.Add(obj) }

// Delete removes the object that has obj's key. It is not an error if there is none.
func (s *Store[T]) Delete(obj T) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.kept.Remove(obj)
}

// Replace makes objs the whole content. Every snapshot shows all of it or nothing. If an object
// has no key, nothing is changed and the error gives its position. resourceVersion is the
// collection's and may be empty.
func (s *Store[T]) Replace(objs []T, resourceVersion string) error {
	if err := s.check(); err != nil {
		return err
	}
	values := make([]any, len(objs))
	for i, obj := range objs {
		values[i] = obj
	}
	return s.kept.Replace(values, resourceVersion)
}

func storeConfig[T Object](keyFunc KeyFunc[T], indexers map[string]indexFuncs[T], report func(string, error)) store.Config {
	key := keyOf(keyFunc)
	config := store.Config{
		Key:      func(value any) (string, error) { return key(as[T](value)) },
		ItemKeys: keyFunc == nil,
		Identity: func(value any) (uid, resourceVersion string) {
			obj := as[T](value)
			return string(obj.GetUID()), obj.GetResourceVersion()
		},
		Labels:       func(value any) map[string]string { return as[T](value).GetLabels() },
		Indexers:     make(map[string]store.IndexFunc),
		ItemIndexers: make(map[string]func(feed.Item) ([]string, error)),
		Report:       report,
	}
	for name, index := range indexers {
		config.Indexers[name] = func(value any) ([]string, error) { return index.object(as[T](value)) }
		if index.item != nil {
			config.ItemIndexers[name] = index.item
		}
	}
	if goType := reflect.TypeFor[T](); goType.Kind() == reflect.Pointer {
		config.PointerType = goType
	}
	return config
}
