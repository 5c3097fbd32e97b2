package cache

import "iter"

// Reader is the reading side of a store. Its methods are safe for concurrent use
// and take no lock that a writer waits for. Objects are the cache's: they are
// shared by all readers and must not be changed.
//
// GetByKey and Get see each change as soon as it is made. The others read one
// state each: all of a relist, or none.
type Reader[T Object] interface {
	// Get returns the object that has obj's key, and whether there is one. The
	// error is the key function's.
	Get(obj T) (item T, exists bool, err error)
	// GetByKey returns the object under a key, and whether there is one.
	GetByKey(key string) (item T, exists bool)
	// List returns all objects, in no order.
	List() []T
	// ListKeys returns all keys, in no order.
	ListKeys() []string
	// ByIndex returns the objects that an index finds under a value, in no order.
	// An index that there is not is an error.
	ByIndex(indexName, indexedValue string) ([]T, error)
	// IndexKeys returns the keys of what ByIndex returns.
	IndexKeys(indexName, indexedValue string) ([]string, error)
	// Len returns the number of objects.
	Len() int
	// Snapshot returns the state as it is now, for several reads of one state.
	Snapshot() Snapshot[T]
}

// Snapshot is a store's state at one moment. It is immutable, may be kept, and
// costs O(1) to take; keeping it costs the memory of what has changed since. Its
// zero value is not usable.
type Snapshot[T Object] struct {
	state snapshotState[T]
}

// snapshotState is what a snapshot reads.
type snapshotState[T Object] interface {
	ResourceVersion() string
	Get(key string) (T, bool)
	List() []T
	Keys() []string
	ByIndex(name, value string) ([]T, error)
	IndexKeys(name, value string) ([]string, error)
	IndexValues(name string) ([]string, error)
	Len() int
	All() iter.Seq2[string, T]

	// What a Lister needs: to choose before anything is decoded.

	Select(matches func(labels map[string]string) bool) []T
	SelectByIndex(name, value string, matches func(labels map[string]string) bool) ([]T, error)
	SelectByKey(has func(key string) bool, matches func(labels map[string]string) bool) []T
}

// ResourceVersion returns the version of the collection that the snapshot shows,
// empty before the first list.
func (s Snapshot[T]) ResourceVersion() string { return s.state.ResourceVersion() }

// GetByKey returns the object under a key, and whether there is one.
func (s Snapshot[T]) GetByKey(key string) (item T, exists bool) { return s.state.Get(key) }

// List returns all objects, in no order.
func (s Snapshot[T]) List() []T { return s.state.List() }

// ListKeys returns all keys, in no order.
func (s Snapshot[T]) ListKeys() []string { return s.state.Keys() }

// ByIndex returns the objects that an index finds under a value, in no order. An
// index that there is not is an error.
func (s Snapshot[T]) ByIndex(indexName, indexedValue string) ([]T, error) {
	return s.state.ByIndex(indexName, indexedValue)
}

// IndexKeys returns the keys of what ByIndex returns.
func (s Snapshot[T]) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return s.state.IndexKeys(indexName, indexedValue)
}

// ListIndexValues returns the values under which an index finds something, in no
// order.
func (s Snapshot[T]) ListIndexValues(indexName string) ([]string, error) {
	return s.state.IndexValues(indexName)
}

// Len returns the number of objects.
func (s Snapshot[T]) Len() int { return s.state.Len() }

// All iterates over keys and objects in the order of the keys. The first
// iteration over a state sorts its keys; later ones, of every snapshot of that
// state, do not.
func (s Snapshot[T]) All() iter.Seq2[string, T] { return s.state.All() }
