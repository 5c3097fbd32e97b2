// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/store"
)

// spec returns the specification of the engine.
func (s *sharedIndexInformer) spec(lw clientcache.ListerWatcher) engine.Spec[any] {
	values := storeConfig(s.indexer.key, s.options.Indexers, s.errors.report)
	values.ItemKeys, values.Transforms, values.HotBytes = true, s.transformed.Load, s.options.HotBytes
	values.ItemIndexers = itemIndexers(s.options.Indexers)
	values.EmitUnchanged = s.options.RelistUpdates
	values.EmitUnseenDeletions = true
	spec := engine.Spec[any]{
		Collection: s.options.collection(lw, s.objects, s.watchErrors.report),
		Informer: informer.Config[any]{
			Name:         s.options.ObjectDescription,
			Store:        values,
			Scopes:       s.scopes,
			Terminating:  isTerminating,
			HandlerGrace: -1, // client-go waits for handlers without limit
		},
		OmitFields: s.options.OmitFields,
		ReadOnly:   s.options.ReadOnly,
		Packed:     s.options.Packed,
		NewPacker: func(objects codec.ObjectType, decoding codec.Options, transforms func() bool) store.Packer[any] {
			return codec.NewAnyPacker(objects, decoding, transforms)
		},
		Transform: func(_ string, obj any) (any, error) { return s.transform(obj) },
		Track: func(_ string, value any) {
			if object, ok := value.(runtime.Object); ok && !s.options.Packed {
				s.mutations.AddObject(object) // client-go's detector
			}
		},
	}
	spec.Wrap = func(items feed.Source) feed.Source { return withMetrics(items, s.options.SharedIndexInformerOptions) }
	if filter := s.options.Filter; filter != nil {
		spec.Informer.Filter = func(obj runtime.Object) bool { return filter(obj) }
	}
	return spec
}

func isTerminating(obj any) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetDeletionTimestamp() != nil
}

// itemIndexers returns the indexes that need no object: the index by namespace. Its function must
// accept metadata, since client-go's listers call it with an ObjectMeta.
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
