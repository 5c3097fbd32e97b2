// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
)

// config returns the configuration of the engine.
func (s *sharedIndexInformer) config() informer.Config[any] {
	objects := storeConfig(s.indexer.key, s.options.Indexers, s.reportObject)
	objects.ItemKeys, objects.Transforms = true, s.transforms
	objects.Decode = s.decode
	objects.EmitUnchanged = s.options.RelistUpdates
	objects.EmitUnseenDeletions = true
	if s.options.Packed && s.objects.GoType != nil {
		objects.HotBytes = s.options.HotBytes
		objects.Packer = codec.NewAnyPacker(s.objects, s.decoding, s.transforms)
		objects.PointerType = s.objects.GoType
		objects.ItemIndexers = itemIndexers(s.options.Indexers)
	}
	return informer.Config[any]{
		Name:   s.options.ObjectDescription,
		Filter: s.filter(),
		Scopes: s.scopes.ScopeSet(),
		Store:  objects,
		Reflector: reflector.Config{
			Source:    withMetrics(s.source, s.options.SharedIndexInformerOptions),
			WatchList: func() bool { return mayWatchList(s.listerWatcher) },
			Start:     s.options.start(),
			Overlaps:  s.source.Streams,
			Report:    s.watchErrors.report,
			InFlight:  s.options.Limits.InFlight,

			MinWatchTimeout: s.options.minWatchTimeout,
		},
		Terminating:  isTerminating,
		NotFound:     s.omitted.NotFound,
		HandlerGrace: -1, // client-go waits for handlers without limit
	}
}

// filter returns Options.Filter as the engine calls it, or nil.
func (s *sharedIndexInformer) filter() func(runtime.Object) bool {
	filter := s.options.Filter
	if filter == nil {
		return nil
	}
	return func(obj runtime.Object) bool { return filter(obj) }
}

func (s *sharedIndexInformer) reportObject(key string, err error) {
	s.errors.log(klog.FromContext(s.runContext()), key, err)
}

// runContext returns the context of Run, or before Run the background context, with a logger that
// names the informer.
func (s *sharedIndexInformer) runContext() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		return s.withLogger(context.Background())
	}
	return s.running
}

// decode returns the transformed object of an item.
func (s *sharedIndexInformer) decode(item feed.Item) (any, error) {
	obj, err := item.Decoded()
	if err != nil {
		return nil, err
	}
	var result any = obj
	if s.transform != nil {
		if result, err = feed.CatchPanic(func() (any, error) { return s.transform(obj) }); err != nil {
			return nil, fmt.Errorf("transform: %w", err)
		}
		if result == nil {
			return nil, errNilResult
		}
	}
	if object, ok := result.(runtime.Object); ok && !s.options.Packed {
		s.mutations.AddObject(object)
	}
	return result, nil
}

var errNilResult = errors.New("transform: the result is nil")

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
