package child

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// holder is one side's informer that holds a collection, with a handler and an index
// by namespace.
type holder struct {
	run     func(context.Context)
	synced  func() bool
	keys    func() []string
	get     func(key string) any
	told    *atomic.Int64 // additions
	stop    context.CancelFunc
	stopped chan struct{}
}

func (holder *holder) start(ctx context.Context) {
	ctx, holder.stop = context.WithCancel(ctx)
	holder.stopped = make(chan struct{})
	go func() {
		defer close(holder.stopped)
		holder.run(ctx)
	}()
}

// heldBy says how a side of ours keeps its objects; ok is false for those of
// client-go's interfaces.
func heldBy(side string) (shareEqual, packed, ok bool) {
	switch side {
	case Kinformer:
		return false, false, true
	case ShareEqual:
		return true, false, true
	case Packed:
		return false, true, true
	default:
		return false, false, false
	}
}

// holder returns the side's informer, which does not run yet.
func (h Holding) holder() (*holder, error) {
	config := Server{URL: h.URL}.config()
	switch h.Side {
	case ClientGo:
		return h.sharedIndex(config, newFactory)
	case Adapter, AdapterPacked:
		cache.EnableStreaming(config)
		return h.sharedIndex(config, newAdapted(clientgo.Options{Streaming: true, Packed: h.Side == AdapterPacked}))
	}
	if _, _, ok := heldBy(h.Side); !ok {
		return nil, fmt.Errorf("there is no side %q", h.Side)
	}
	cache.EnableStreaming(config)
	if h.Kind == CustomResources {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(dataset.CustomResourceKind())
		return kept(h.Side, cache.ListWatchOf(client.Resource(dataset.CustomResourceResource())), example)
	}
	clientset, err := kubernetes.NewForConfig(config)
	switch {
	case err != nil:
		return nil, err
	case h.Kind == Nodes:
		return kept(h.Side, cache.ListWatchOf(clientset.CoreV1().Nodes()), &corev1.Node{})
	case h.Kind == Pods:
		return kept(h.Side, cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{})
	default:
		return nil, fmt.Errorf("there is no kind %q", h.Kind)
	}
}

// kept is an informer of ours. Where it packs it has a handler of keys: who wants
// objects of everything that changes does not want them packed.
func kept[T cache.Object](side string, lw cache.ListerWatcher, example T) (*holder, error) {
	shareEqual, packed, _ := heldBy(side)
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{
		Packed: packed, ShareEqual: shareEqual,
		Indexers: cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)},
	})
	told, store := new(atomic.Int64), informer.Store()
	var err error
	if packed {
		_, err = informer.AddKeyHandler(func(string) { told.Add(1) }, cache.HandlerOptions{})
	} else {
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs[T]{AddFunc: func(T) { told.Add(1) }}, cache.HandlerOptions{})
	}
	return &holder{
		run:    func(ctx context.Context) { _ = informer.Run(ctx) },
		synced: informer.HasSynced,
		keys:   store.ListKeys,
		get: func(key string) any {
			obj, _ := store.GetByKey(key)
			return obj
		},
		told: told,
	}, err
}

func (h Holding) sharedIndex(config *rest.Config, factory factory) (*holder, error) {
	informer, err := h.sharedIndexInformer(config, factory)
	if err != nil {
		return nil, err
	}
	told, indexer := new(atomic.Int64), informer.GetIndexer()
	_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { told.Add(1) }})
	return &holder{
		run:    informer.RunWithContext,
		synced: informer.HasSynced,
		keys:   indexer.ListKeys,
		get: func(key string) any {
			obj, _, _ := indexer.GetByKey(key)
			return obj
		},
		told: told,
	}, err
}

// sharedIndexInformer is a factory's, which all have an index by namespace.
func (h Holding) sharedIndexInformer(config *rest.Config, factory factory) (clientcache.SharedIndexInformer, error) {
	if h.Kind == CustomResources {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(dataset.CustomResourceResource()).Informer(), nil
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	core := factory(clientset).Core().V1()
	switch h.Kind {
	case Pods:
		return core.Pods().Informer(), nil
	case Nodes:
		return core.Nodes().Informer(), nil
	default:
		return nil, fmt.Errorf("there is no kind %q", h.Kind)
	}
}
