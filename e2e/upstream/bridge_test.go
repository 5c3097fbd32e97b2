// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// bridge implements the methods of a client-go informer that the controllers use, with a
// SharedInformer of package cache. The test, not the controller's constructor, selects the delivery
// of the handlers.
type bridge[T cache.Object] struct {
	clientcache.SharedIndexInformer // nil: its other methods are not used
	lw                              cache.ListerWatcher
	example                         T
	delivery                        delivery
	gate                            *gate
	indexers                        clientcache.Indexers
	handlers                        []clientcache.ResourceEventHandler
	informer                        *cache.SharedInformer[T] // nil before start
	registrations                   []*cache.Registration
}

func newBridge[T cache.Object](lw cache.ListerWatcher, example T, d delivery, gate *gate) *bridge[T] {
	byNamespace := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	return &bridge[T]{lw: lw, example: example, delivery: d, gate: gate, indexers: byNamespace}
}

func (b *bridge[T]) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	b.handlers = append(b.handlers, handler)
	return nil, nil
}

func (b *bridge[T]) AddIndexers(indexers clientcache.Indexers) error {
	maps.Copy(b.indexers, indexers)
	return nil
}

func (b *bridge[T]) GetIndexer() clientcache.Indexer { return &bridgeIndexer[T]{b: b} }
func (b *bridge[T]) GetStore() clientcache.Store     { return &bridgeIndexer[T]{b: b} }

// HasSynced reports whether the initial list has been delivered to the handlers.
func (b *bridge[T]) HasSynced() bool {
	for _, registration := range b.registrations {
		if !registration.HasSynced() {
			return false
		}
	}
	return b.informer.HasSynced()
}

// start adds the handlers with the bridge's delivery, and runs the informer until ctx ends.
func (b *bridge[T]) start(ctx context.Context, t *testing.T) <-chan struct{} {
	t.Helper()
	indexers := make(cache.Indexers[T], len(b.indexers))
	for name, index := range b.indexers {
		indexers[name] = cache.ByObject(func(obj T) ([]string, error) { return index(obj) })
	}
	b.informer = cache.NewSharedInformer(b.lw, b.example, cache.InformerOptions[T]{Indexers: indexers})
	for _, handler := range b.handlers {
		registration, err := addHandler(ctx, b.informer, &gatedHandler{handler, b.gate}, b.delivery)
		if err != nil {
			t.Fatal(err)
		}
		b.registrations = append(b.registrations, registration)
	}
	return runAsync(func() {
		if err := b.informer.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// bridgeIndexer implements the methods of a client-go indexer that the controllers use, with the
// informer's store.
type bridgeIndexer[T cache.Object] struct {
	clientcache.Indexer // nil: its other methods are not used
	b                   *bridge[T]
}

func (i *bridgeIndexer[T]) GetIndexers() clientcache.Indexers { return maps.Clone(i.b.indexers) }

func (i *bridgeIndexer[T]) List() []any { return toAny(i.b.informer.Store().List()) }

func (i *bridgeIndexer[T]) GetByKey(key string) (any, bool, error) {
	obj, ok := i.b.informer.Store().GetByKey(key)
	return obj, ok, nil
}

func (i *bridgeIndexer[T]) ByIndex(name, value string) ([]any, error) {
	found, err := i.b.informer.Store().ByIndex(name, value)
	return toAny(found), err
}

// Index returns the objects in a namespace; listers call it.
func (i *bridgeIndexer[T]) Index(name string, obj any) ([]any, error) {
	return i.ByIndex(name, obj.(*metav1.ObjectMeta).Namespace)
}

func (i *bridgeIndexer[T]) LastStoreSyncResourceVersion() string {
	return i.b.informer.Store().Snapshot().ResourceVersion()
}

func toAny[T any](objs []T) []any {
	result := make([]any, len(objs))
	for n, obj := range objs {
		result[n] = obj
	}
	return result
}
