// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/served"
	"github.com/kinformer/kinformer/internal/store"
)

// NewIndexer replaces the function of package tools/cache. It returns an empty Indexer, which is
// also a [clientcache.TransactionStore]. It holds values of any type under the keys that keyFunc
// returns. The caller must not modify the values and slices that its methods return.
//
// A value whose index function fails is stored without an entry in that index, and the error is
// logged.
//
// With Options.UseClientGo, or a StoreOption, which only client-go's stores can apply, it returns
// client-go's Indexer. The other [Options] have no effect.
func (c Constructors) NewIndexer(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers, options ...clientcache.StoreOption) clientcache.Indexer {
	if len(options) > 0 || c.options.UseClientGo {
		return clientcache.NewIndexer(keyFunc, notNil(indexers), options...)
	}
	i := &indexer{key: keyFunc, standalone: true}
	i.init(store.New(storeConfig(keyFunc, indexers, newObjectLog(false).report)), indexers)
	return i
}

// indexer implements client-go's Indexer and TransactionStore on a store; comments on its methods
// say what client-go's do not. Each read shows one state and does not block writers. Results are in
// no particular order, and lack objects that could never be stored.
type indexer struct {
	store    *store.Store
	key      clientcache.KeyFunc
	indexers atomic.Pointer[clientcache.Indexers] // the map is never modified

	// standalone is set if no informer writes to the store. The store's version is then the one
	// written last, even if that is older than an earlier one.
	standalone bool
	mu         sync.RWMutex // orders writes together with their versions and indexes
	version    string       // the version written last; for standalone
}

var _ clientcache.TransactionStore = (*indexer)(nil)

func (i *indexer) init(store *store.Store, indexers clientcache.Indexers) {
	i.store = store
	own := clientcache.Indexers{}
	maps.Copy(own, indexers)
	i.indexers.Store(&own)
}

func (i *indexer) Add(obj any) error    { return i.write(clientcache.TransactionTypeAdd, obj) }
func (i *indexer) Update(obj any) error { return i.write(clientcache.TransactionTypeUpdate, obj) }
func (i *indexer) Delete(obj any) error { return i.write(clientcache.TransactionTypeDelete, obj) }

func (i *indexer) write(change clientcache.TransactionType, obj any) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.apply(change, obj)
}

// apply applies a change and records the resourceVersion of its value, unless that has no metadata.
// The caller holds mu.
func (i *indexer) apply(change clientcache.TransactionType, obj any) error {
	var err error
	switch change {
	case clientcache.TransactionTypeAdd, clientcache.TransactionTypeUpdate:
		err = i.store.Put(obj)
	case clientcache.TransactionTypeDelete:
		err = i.store.Remove(obj)
	}
	if err != nil {
		return toClientGo(err)
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		i.version = accessor.GetResourceVersion()
	}
	return nil
}

// Replace replaces the whole content by objs. If one of them has no key, or if the informer has
// scopes, it returns an error and changes nothing.
func (i *indexer) Replace(objs []any, resourceVersion string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.Replace(objs, resourceVersion); err != nil {
		return toClientGo(err)
	}
	i.version = resourceVersion
	return nil
}

// Transaction applies changes in order. It skips changes whose objects have no key, or are in no
// scope of the informer, and returns an error with the indexes of the others.
func (i *indexer) Transaction(txns ...clientcache.Transaction) *clientcache.TransactionError {
	i.mu.Lock()
	defer i.mu.Unlock()
	failed := &clientcache.TransactionError{SuccessfulIndices: []int{}, TotalTransactions: len(txns)}
	for n, txn := range txns {
		if err := i.apply(txn.Type, txn.Object); err != nil {
			failed.Errors = append(failed.Errors, err)
			continue
		}
		failed.SuccessfulIndices = append(failed.SuccessfulIndices, n)
	}
	if len(failed.Errors) == 0 {
		return nil
	}
	return failed
}

// Bookmark records that the store has reached a resourceVersion. It does nothing for the store of
// an informer, whose version is that which the informer has reached.
func (i *indexer) Bookmark(resourceVersion string) {
	if !i.standalone {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.version = resourceVersion
}

// LastStoreSyncResourceVersion returns the resourceVersion that the store has reached: that of the
// collection for the store of an informer, and otherwise the one written last.
func (i *indexer) LastStoreSyncResourceVersion() string {
	if !i.standalone {
		return i.store.ResourceVersion()
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.version
}

func (i *indexer) Resync() error { return nil }

// Get returns the object with obj's key. Its errors are those of GetByKey and of the key function.
func (i *indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := i.key(obj)
	if err != nil {
		return nil, false, clientcache.KeyError{Obj: obj, Err: err}
	}
	return i.GetByKey(key)
}

// GetByKey returns the object under key. For an object that exists and could never be stored, it
// returns an error that wraps cache.ErrNotStored and the cause; for one that no listed scope of the
// informer may hold, one that wraps cache.ErrNoScope; and for a resource that is not served, and
// whose objects may exist, one that wraps cache.ErrNotServed, as do reads by an index.
func (i *indexer) GetByKey(key string) (item any, exists bool, err error) { return i.store.Find(key) }

func (i *indexer) List() []any        { return i.store.Snapshot().List() }
func (i *indexer) ListKeys() []string { return i.store.Snapshot().Keys() }

// Index returns the objects that share an index value with obj. obj need not be of the stored type
// if the index function accepts it: client-go's listers pass an ObjectMeta.
func (i *indexer) Index(indexName string, obj any) ([]any, error) {
	index := (*i.indexers.Load())[indexName]
	if index == nil {
		return nil, noIndexError(indexName)
	}
	values, err := index(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return i.ByIndex(indexName, values[0])
	}
	snapshot, found, objs := i.store.Snapshot(), sets.New[string](), []any{}
	for _, value := range values {
		keys, err := snapshot.IndexKeys(indexName, value)
		if err != nil {
			return nil, indexError(indexName, err)
		}
		found.Insert(keys...)
	}
	for key := range found {
		if obj, ok := snapshot.Get(key); ok {
			objs = append(objs, obj)
		}
	}
	return objs, nil
}

// ByIndex returns the objects with an index value, without those whose index function failed, which
// are logged; StatusOf of an informer counts them in IndexErrors.
func (i *indexer) ByIndex(indexName, indexedValue string) ([]any, error) {
	objs, err := i.store.Snapshot().ByIndex(indexName, indexedValue)
	return orEmpty(objs, indexName, err)
}

// IndexKeys returns the keys of the objects with an index value, sorted.
func (i *indexer) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := i.store.Snapshot().IndexKeys(indexName, indexedValue)
	slices.Sort(keys)
	return orEmpty(keys, indexName, err)
}

// ListIndexFuncValues returns the values of an index that at least one object has. It returns none
// if the index does not exist, or the resource is not served.
func (i *indexer) ListIndexFuncValues(indexName string) []string {
	values, err := i.store.Snapshot().IndexValues(indexName)
	if err != nil {
		return []string{}
	}
	return values
}

// orEmpty returns what an index has found, which client-go never returns as nil. err is of the
// store.
func orEmpty[E any](found []E, indexName string, err error) ([]E, error) {
	switch {
	case err != nil:
		return nil, indexError(indexName, err)
	case found == nil:
		return []E{}, nil
	}
	return found, nil
}

// indexError returns the error of a read by an index, which is ErrNotServed or of an unknown index.
func indexError(name string, err error) error {
	if errors.Is(err, served.ErrNotServed) {
		return err
	}
	return noIndexError(name)
}

// noIndexError returns the error that client-go returns for an unknown index.
func noIndexError(name string) error { return fmt.Errorf("Index with name %s does not exist", name) }

// GetIndexers returns a copy of the index functions, which may be called while AddIndexers runs.
func (i *indexer) GetIndexers() clientcache.Indexers { return maps.Clone(*i.indexers.Load()) }

// AddIndexers adds indexes. When it returns, they contain all stored objects. If a name is taken,
// it returns an error and changes nothing.
func (i *indexer) AddIndexers(indexers clientcache.Indexers) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.store.AddIndexers(indexFuncs(indexers)); err != nil {
		return fmt.Errorf("indexer conflict: %w", err)
	}
	all := i.GetIndexers()
	maps.Copy(all, indexers)
	i.indexers.Store(&all)
	return nil
}
