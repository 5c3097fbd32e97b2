package cache

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// Store is a Reader that can be written to. Writes take an object as it is,
// whatever its version. They are safe for concurrent use, one at a time.
type Store[T Object] interface {
	Reader[T]
	// Add puts an object in, in place of the one with its key if there is one.
	Add(obj T) error
	// Update is Add: a store does not ask what was there before.
	Update(obj T) error
	// Delete takes the object out that has obj's key. That there is none is no
	// error.
	Delete(obj T) error
	// Replace makes objs the whole content, all at once: every snapshot shows all
	// of it or nothing. If one of them has no key, nothing is changed and the
	// error names it. resourceVersion is the collection's, and may be empty.
	Replace(objs []T, resourceVersion string) error
}

// NewStore returns an empty store. keyFunc nil is MetaNamespaceKeyFunc; indexers
// may be nil. An index function's failure is logged.
func NewStore[T Object](keyFunc KeyFunc[T], indexers Indexers[T]) Store[T] {
	log := &errorLog{clock: clock.RealClock{}}
	report := func(key string, err error) {
		log.handle(context.Background(), &ObjectError{Key: key, Err: err})
	}
	config := storeConfig(keyFunc, indexers, report)
	return &objectStore[T]{reader[T]{store.New(config), config.Key}}
}

// storeConfig describes objects of type T to the store.
func storeConfig[T Object](keyFunc KeyFunc[T], indexers Indexers[T], report func(string, error)) store.Config[T] {
	usual := keyFunc == nil
	if usual {
		keyFunc = MetaNamespaceKeyFunc[T]
	}
	return store.Config[T]{
		Key:      func(obj T) (string, error) { return keyOf(keyFunc, obj) },
		ItemKeys: usual,
		Identity: func(obj T) (uid, resourceVersion string) {
			return string(obj.GetUID()), obj.GetResourceVersion()
		},
		Labels:   func(obj T) map[string]string { return obj.GetLabels() },
		Decode:   decode[T],
		Indexers: indexers.functions(),
		Report:   report,
	}
}

// keyOf returns an object's key, or an error that names the object; the key
// function's panic is one.
func keyOf[T Object](keyFunc KeyFunc[T], obj T) (key string, err error) {
	if isNil(obj) {
		return "", errNilObject
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("no key for %T%s: panic: %v", obj, named(obj), r)
		}
	}()
	if key, err = keyFunc(obj); err != nil {
		return "", fmt.Errorf("no key for %T%s: %w", obj, named(obj), err)
	}
	return key, nil
}

// decode returns an item's object.
func decode[T Object](item feed.Item) (T, error) {
	decoded, err := item.Decoded()
	if err != nil {
		var none T
		return none, err
	}
	obj, ok := decoded.(T)
	if !ok {
		return obj, fmt.Errorf("expected %T, got %T", obj, decoded)
	}
	return obj, nil
}

// reader is the Reader over a store.
type reader[T Object] struct {
	kept *store.Store[T]
	key  func(T) (string, error)
}

var _ Reader[Object] = reader[Object]{}

func (r reader[T]) Get(obj T) (item T, exists bool, err error) {
	key, err := r.key(obj)
	if err != nil {
		return item, false, err
	}
	item, exists = r.kept.Get(key)
	return item, exists, nil
}

func (r reader[T]) GetByKey(key string) (item T, exists bool) { return r.kept.Get(key) }

func (r reader[T]) List() []T { return r.kept.Snapshot().List() }

func (r reader[T]) ListKeys() []string { return r.kept.Snapshot().Keys() }

func (r reader[T]) ByIndex(indexName, indexedValue string) ([]T, error) {
	return r.kept.Snapshot().ByIndex(indexName, indexedValue)
}

func (r reader[T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return r.kept.Snapshot().IndexKeys(indexName, indexedValue)
}

func (r reader[T]) Len() int { return r.kept.Len() }

func (r reader[T]) Snapshot() Snapshot[T] { return Snapshot[T]{r.kept.Snapshot()} }

// objectStore is the Store over a store.
type objectStore[T Object] struct{ reader[T] }

var _ Store[Object] = &objectStore[Object]{}

func (s *objectStore[T]) Add(obj T) error { return s.kept.Put(obj) }

func (s *objectStore[T]) Update(obj T) error { return s.kept.Put(obj) }

func (s *objectStore[T]) Delete(obj T) error { return s.kept.Remove(obj) }

func (s *objectStore[T]) Replace(objs []T, resourceVersion string) error {
	return s.kept.Replace(objs, resourceVersion)
}
