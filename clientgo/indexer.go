package clientgo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/store"
)

// NewIndexer returns an empty Indexer, which is a [clientcache.TransactionStore], too. It
// holds any values, under the keys that keyFunc gives them. What it returns must not be
// changed.
//
// Where client-go's would panic, because an index function fails, the object is stored
// without an entry in that index, and the error reported (utilruntime.HandleError).
func NewIndexer(keyFunc clientcache.KeyFunc, indexers clientcache.Indexers) clientcache.Indexer {
	i := &indexer{key: keyFunc, alone: true}
	i.keep(store.New(storeConfig(keyFunc, indexers)), indexers)
	return i
}

// indexer is client-go's Indexer on a store. Reads are of one state each, and take no lock
// that a writer waits for.
type indexer struct {
	kept  *store.Store[any]
	key   clientcache.KeyFunc
	named atomic.Pointer[clientcache.Indexers] // the map is not changed any more

	// alone: nobody feeds the store but who calls these methods, and its version is what
	// they have seen last, whatever it is.
	alone   bool
	writing sync.RWMutex // orders writes, their versions and their indexes
	version string       // alone; the last written
}

var (
	_ clientcache.Indexer          = (*indexer)(nil)
	_ clientcache.TransactionStore = (*indexer)(nil)
)

// keep makes it an Indexer of a store that has these indexes.
func (i *indexer) keep(kept *store.Store[any], indexers clientcache.Indexers) {
	i.kept = kept
	named := maps.Clone(indexers)
	i.named.Store(&named)
}

// Add puts an object in, in place of the one with its key.
func (i *indexer) Add(obj any) error { return i.put(obj) }

// Update is Add.
func (i *indexer) Update(obj any) error { return i.put(obj) }

func (i *indexer) put(obj any) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	if err := i.kept.Put(obj); err != nil {
		return err
	}
	i.wrote(obj)
	return nil
}

// Delete takes the object out that has obj's key. It is no error if there is none.
func (i *indexer) Delete(obj any) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	if err := i.kept.Remove(obj); err != nil {
		return err
	}
	i.wrote(obj)
	return nil
}

// wrote notes the version of what was written. What has no metadata has none.
func (i *indexer) wrote(obj any) {
	if accessor, err := meta.Accessor(obj); err == nil {
		i.version = accessor.GetResourceVersion()
	}
}

// Replace makes objs the whole content: all of them or, if one has no key, nothing.
func (i *indexer) Replace(objs []any, resourceVersion string) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	if err := i.kept.Replace(objs, resourceVersion); err != nil {
		if noKey, ok := errors.AsType[clientcache.KeyError](err); ok {
			return noKey // its users look at the type
		}
		return err
	}
	i.version = resourceVersion
	return nil
}

// Transaction makes several changes, in their order. Those whose objects have no key are
// left out, and the error says which were not.
func (i *indexer) Transaction(txns ...clientcache.Transaction) *clientcache.TransactionError {
	i.writing.Lock()
	defer i.writing.Unlock()
	failed := &clientcache.TransactionError{SuccessfulIndices: []int{}, TotalTransactions: len(txns)}
	for n, txn := range txns {
		var err error
		switch txn.Type {
		case clientcache.TransactionTypeAdd, clientcache.TransactionTypeUpdate:
			err = i.kept.Put(txn.Object)
		case clientcache.TransactionTypeDelete:
			err = i.kept.Remove(txn.Object)
		}
		if err != nil {
			failed.Errors = append(failed.Errors, err)
			continue
		}
		i.wrote(txn.Object)
		failed.SuccessfulIndices = append(failed.SuccessfulIndices, n)
	}
	if len(failed.Errors) == 0 {
		return nil
	}
	return failed
}

// Bookmark says that the store is at a version.
func (i *indexer) Bookmark(resourceVersion string) {
	if !i.alone {
		i.kept.AdvanceVersion(resourceVersion)
		return
	}
	i.writing.Lock()
	defer i.writing.Unlock()
	i.version = resourceVersion
}

// LastStoreSyncResourceVersion returns the version that the store has reached: of an
// informer's that of the collection, of any other the one that was written last.
func (i *indexer) LastStoreSyncResourceVersion() string {
	if !i.alone {
		return i.kept.ResourceVersion()
	}
	i.writing.RLock()
	defer i.writing.RUnlock()
	return i.version
}

// Resync does nothing, as in client-go.
func (i *indexer) Resync() error { return nil }

// Get returns the object that has obj's key.
func (i *indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := i.key(obj)
	if err != nil {
		return nil, false, clientcache.KeyError{Obj: obj, Err: err}
	}
	return i.GetByKey(key)
}

// GetByKey returns the object under a key.
func (i *indexer) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = i.kept.Get(key)
	return item, exists, nil
}

// List returns all objects, in no order.
func (i *indexer) List() []any { return i.kept.Snapshot().List() }

// ListKeys returns all keys, in no order.
func (i *indexer) ListKeys() []string { return i.kept.Snapshot().Keys() }

// Index returns the objects that have one of obj's values under an index. obj need not be
// of the kind that is stored, if the index function takes it: client-go's listers ask with
// an ObjectMeta.
func (i *indexer) Index(indexName string, obj any) ([]any, error) {
	index := (*i.named.Load())[indexName]
	if index == nil {
		return nil, noIndex(indexName)
	}
	values, err := index(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return i.ByIndex(indexName, values[0])
	}
	return i.byValues(indexName, values)
}

// byValues returns the objects that have one of several values, each once.
func (i *indexer) byValues(indexName string, values []string) ([]any, error) {
	state := i.kept.Snapshot()
	found, objs := make(map[string]struct{}), []any{}
	for _, value := range values {
		keys, err := state.IndexKeys(indexName, value)
		if err != nil {
			return nil, noIndex(indexName)
		}
		for _, key := range keys {
			if _, again := found[key]; again {
				continue
			}
			found[key] = struct{}{}
			if obj, ok := state.Get(key); ok {
				objs = append(objs, obj)
			}
		}
	}
	return objs, nil
}

// ByIndex returns the objects that an index finds under a value.
func (i *indexer) ByIndex(indexName, indexedValue string) ([]any, error) {
	objs, err := i.kept.Snapshot().ByIndex(indexName, indexedValue)
	switch {
	case err != nil:
		return nil, noIndex(indexName)
	case objs == nil:
		return []any{}, nil
	}
	return objs, nil
}

// IndexKeys returns the keys of what ByIndex returns, in order.
func (i *indexer) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := i.kept.Snapshot().IndexKeys(indexName, indexedValue)
	switch {
	case err != nil:
		return nil, noIndex(indexName)
	case keys == nil:
		return []string{}, nil
	}
	slices.Sort(keys)
	return keys, nil
}

// ListIndexFuncValues returns the values under which an index finds something; none if
// there is no such index.
func (i *indexer) ListIndexFuncValues(indexName string) []string {
	values, err := i.kept.Snapshot().IndexValues(indexName)
	if err != nil {
		return []string{}
	}
	return values
}

// noIndex is in client-go's words.
func noIndex(name string) error { return fmt.Errorf("Index with name %s does not exist", name) }

// GetIndexers returns a copy of the index functions: they may be called, while others are
// being added.
func (i *indexer) GetIndexers() clientcache.Indexers {
	if named := maps.Clone(*i.named.Load()); named != nil {
		return named
	}
	return clientcache.Indexers{}
}

// AddIndexers adds indexes. What is stored is indexed when it returns. A name that is taken
// is an error, and changes nothing.
func (i *indexer) AddIndexers(indexers clientcache.Indexers) error {
	i.writing.Lock()
	defer i.writing.Unlock()
	if err := i.kept.AddIndexers(indexFuncs(indexers)); err != nil {
		return fmt.Errorf("indexer conflict: %w", err)
	}
	named := i.GetIndexers()
	maps.Copy(named, indexers)
	i.named.Store(&named)
	return nil
}
