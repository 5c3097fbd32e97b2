// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"reflect"

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

// storeConfig returns the configuration of internal/store that package cache uses for objects of
// metadata, with an index by namespace.
func storeConfig() store.Config {
	type object = *metav1.PartialObjectMetadata
	return store.Config{
		Key:      func(value any) (string, error) { return cache.MetaNamespaceKeyFunc(value.(object)) },
		ItemKeys: true,
		Identity: func(value any) (string, string) {
			return string(value.(object).GetUID()), value.(object).GetResourceVersion()
		},
		Decode:      func(item feed.Item) (any, error) { return item.Object.(object), nil },
		PointerType: reflect.TypeFor[object](),
		Indexers: map[string]store.IndexFunc{
			cache.NamespaceIndex: func(value any) ([]string, error) { return cache.MetaNamespaceIndexFunc(value.(object)) },
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
