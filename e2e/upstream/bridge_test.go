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
	how                             delivery
	gate                            *gate
	indexers                        clientcache.Indexers
	handlers                        []clientcache.ResourceEventHandler
	informer                        *cache.SharedInformer[T] // nil before start
	registrations                   []*cache.Registration
}

func newBridge[T cache.Object](lw cache.ListerWatcher, example T, how delivery, gate *gate) *bridge[T] {
	byNamespace := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	return &bridge[T]{lw: lw, example: example, how: how, gate: gate, indexers: byNamespace}
}

func (b *bridge[T]) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	b.handlers = append(b.handlers, handler)
	return nil, nil
}

func (b *bridge[T]) AddIndexers(indexers clientcache.Indexers) error {
	maps.Copy(b.indexers, indexers)
	return nil
}

func (b *bridge[T]) GetIndexer() clientcache.Indexer { return &reads[T]{b: b} }
func (b *bridge[T]) GetStore() clientcache.Store     { return &reads[T]{b: b} }

// HasSynced reports whether the initial list has been delivered to the handlers.
func (b *bridge[T]) HasSynced() bool {
	for _, registration := range b.registrations {
		if !registration.HasSynced() {
			return false
		}
	}
	return b.informer.HasSynced()
}

// start adds the handlers with the delivery, and runs the informer until ctx ends.
func (b *bridge[T]) start(ctx context.Context, t *testing.T) <-chan struct{} {
	t.Helper()
	indexers := make(cache.Indexers[T], len(b.indexers))
	for name, index := range b.indexers {
		indexers[name] = cache.ByObject(func(obj T) ([]string, error) { return index(obj) })
	}
	b.informer = cache.NewSharedInformer(b.lw, b.example, cache.InformerOptions[T]{Indexers: indexers})
	for _, handler := range b.handlers {
		registration, err := attach(ctx, b.informer, &gatedHandler{handler, b.gate}, b.how)
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

// reads implements the reads of a controller on the informer's store.
type reads[T cache.Object] struct {
	clientcache.Indexer // nil: its other methods are not used
	b                   *bridge[T]
}

func (r *reads[T]) GetIndexers() clientcache.Indexers { return maps.Clone(r.b.indexers) }

func (r *reads[T]) List() []any { return anys(r.b.informer.Store().List()) }

func (r *reads[T]) GetByKey(key string) (any, bool, error) {
	obj, ok := r.b.informer.Store().GetByKey(key)
	return obj, ok, nil
}

func (r *reads[T]) ByIndex(name, value string) ([]any, error) {
	found, err := r.b.informer.Store().ByIndex(name, value)
	return anys(found), err
}

// Index returns the objects in a namespace; listers call it.
func (r *reads[T]) Index(name string, obj any) ([]any, error) {
	return r.ByIndex(name, obj.(*metav1.ObjectMeta).Namespace)
}

func (r *reads[T]) LastStoreSyncResourceVersion() string {
	return r.b.informer.Store().Snapshot().ResourceVersion()
}

func anys[T any](objs []T) []any {
	result := make([]any, len(objs))
	for i, obj := range objs {
		result[i] = obj
	}
	return result
}
