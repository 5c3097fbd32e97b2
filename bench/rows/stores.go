// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/store"
)

// newStore returns our store with an index by namespace.
func newStore[T cache.Object]() *cache.Store[T] {
	return cache.NewStore(nil, cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)})
}

// newIndexer returns client-go's store with an index by namespace.
func newIndexer() clientcache.Indexer {
	return clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc,
		clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
}

// filledStores returns both stores with the same objects, added one by one.
func filledStores(objects []*metav1.PartialObjectMetadata) (*cache.Store[*metav1.PartialObjectMetadata], clientcache.Indexer, error) {
	ours, theirs := newStore[*metav1.PartialObjectMetadata](), newIndexer()
	for _, object := range objects {
		if err := ours.Add(object); err != nil {
			return nil, nil, err
		}
		if err := theirs.Add(object); err != nil {
			return nil, nil, err
		}
	}
	return ours, theirs, nil
}

// storeConfig returns the configuration of internal/store that package cache uses, with an index by
// namespace.
func storeConfig[T cache.Object]() store.Config[T] {
	return store.Config[T]{
		Key:      cache.MetaNamespaceKeyFunc[T],
		ItemKeys: true,
		Identity: func(object T) (string, string) { return string(object.GetUID()), object.GetResourceVersion() },
		Decode:   func(item feed.Item) (T, error) { return item.Object.(T), nil },
		Indexers: map[string]store.IndexFunc[T]{
			cache.NamespaceIndex: func(object T) ([]string, error) { return cache.MetaNamespaceIndexFunc(object) },
		},
		Report: func(key string, err error) { panic(fmt.Sprintf("%s: %v", key, err)) },
	}
}

// itemOf returns an item of an object, as a source makes it.
func itemOf(object cache.Object) feed.Item {
	return feed.Item{
		Key:             object.GetNamespace() + "/" + object.GetName(),
		UID:             string(object.GetUID()),
		ResourceVersion: object.GetResourceVersion(),
		Object:          object,
	}
}
