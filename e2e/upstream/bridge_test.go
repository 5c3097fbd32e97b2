package upstream

import (
	"context"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// bridge is as much of a client-go informer as the controllers here use, over one of ours. It leaves to the test what the
// controller's constructor would do: how the handlers are told.
type bridge[T cache.Object] struct {
	clientcache.SharedIndexInformer // nil: what is not used
	lw                              cache.ListerWatcher
	example                         T
	how                             delivery
	stuck                           *gate
	indexers                        clientcache.Indexers
	handlers                        []clientcache.ResourceEventHandler
	informer                        *cache.SharedInformer[T] // from start on
	told                            []*cache.Registration
}

func newBridge[T cache.Object](lw cache.ListerWatcher, example T, how delivery, stuck *gate) *bridge[T] {
	byNamespace := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
	return &bridge[T]{lw: lw, example: example, how: how, stuck: stuck, indexers: byNamespace}
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

// HasSynced tells whether the handlers have been told the first state.
func (b *bridge[T]) HasSynced() bool {
	for _, registration := range b.told {
		if !registration.HasSynced() {
			return false
		}
	}
	return b.informer.HasSynced()
}

// start runs the informer until ctx ends, and tells the handlers as the delivery says.
func (b *bridge[T]) start(ctx context.Context, t *testing.T) <-chan struct{} {
	t.Helper()
	indexers := make(cache.Indexers[T], len(b.indexers))
	for name, index := range b.indexers {
		indexers[name] = func(obj T) ([]string, error) { return index(obj) }
	}
	b.informer = cache.NewSharedInformer(b.lw, b.example, cache.InformerOptions[T]{Indexers: indexers})
	for _, handler := range b.handlers {
		registration, err := attach(ctx, b.informer, &gated{handler, b.stuck}, b.how)
		if err != nil {
			t.Fatal(err)
		}
		b.told = append(b.told, registration)
	}
	return running(func() {
		if err := b.informer.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// reads are the reads of a controller, from the informer's store.
type reads[T cache.Object] struct {
	clientcache.Indexer // nil: what is not used
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

// Index is what listers ask for the objects of a namespace with.
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
