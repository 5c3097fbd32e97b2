package rows

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// Both stores as their users make them, with the index that everybody has.

func newStore[T cache.Object]() cache.Store[T] {
	return cache.NewStore(nil, cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)})
}

// namespaceIndex is that index as internal/store takes it.
func namespaceIndex[T cache.Object](obj T) ([]string, error) {
	return cache.MetaNamespaceIndexFunc(obj)
}

func newIndexer() clientcache.Indexer {
	return clientcache.NewIndexer(clientcache.MetaNamespaceKeyFunc,
		clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})
}

// filled returns both stores with the same objects in them, added one by one.
func filled(objects []*metav1.PartialObjectMetadata) (cache.Store[*metav1.PartialObjectMetadata], clientcache.Indexer, error) {
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
