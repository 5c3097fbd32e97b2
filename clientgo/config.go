package clientgo

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
)

// config returns what the engine is made of.
func (s *sharedIndexInformer) config() informer.Config[any] {
	objects := storeConfig(s.indexer.key, s.options.Indexers)
	objects.ItemKeys, objects.Transforms = true, s.transforms
	objects.Decode = s.decode
	objects.EmitUnchanged = s.options.RelistUpdates
	if s.options.Packed && s.objects.GoType != nil {
		objects.Packer = codec.NewAnyPacker(s.objects, s.options.ShareEqual, s.transforms)
		objects.PointerType = s.objects.GoType
		objects.ItemIndexers = itemIndexers(s.options.Indexers)
	}
	return informer.Config[any]{
		Name:  s.options.ObjectDescription,
		Store: objects,
		Reflector: reflector.Config{
			Source:    metered(s.source, s.options),
			WatchList: s.mayWatchList,
			Report:    s.failures.tell,
		},
		Terminating:  deleting,
		HandlerGrace: -1, // client-go waits for its handlers as long as it takes
	}
}

// decode returns an item's object, transformed.
func (s *sharedIndexInformer) decode(item feed.Item) (any, error) {
	obj, err := item.Decoded()
	if err != nil {
		return nil, err
	}
	var result any = obj
	if s.transform != nil {
		if result, err = s.transform(obj); err != nil {
			return nil, fmt.Errorf("transform: %w", err)
		}
		if result == nil {
			return nil, errNoResult
		}
	}
	if object, ok := result.(runtime.Object); ok && !s.options.Packed {
		s.mutations.AddObject(object)
	}
	return result, nil
}

var errNoResult = errors.New("transform: the result is nil")

func deleting(obj any) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetDeletionTimestamp() != nil
}

// itemIndexers returns the indexes that need no object: that by namespace. Whatever its
// function, it can do with metadata, for that is what client-go's listers give it.
func itemIndexers(indexers clientcache.Indexers) map[string]func(feed.Item) ([]string, error) {
	byNamespace := indexers[clientcache.NamespaceIndex]
	if byNamespace == nil {
		return nil
	}
	return map[string]func(feed.Item) ([]string, error){
		clientcache.NamespaceIndex: func(item feed.Item) ([]string, error) {
			namespace, name, err := clientcache.SplitMetaNamespaceKey(item.Key)
			if err != nil {
				return nil, err
			}
			return byNamespace(&metav1.ObjectMeta{Namespace: namespace, Name: name})
		},
	}
}
