package child

import (
	"context"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// footprintInformer is an informer that a FootprintJob measures, with a handler and an index by
// namespace.
type footprintInformer struct {
	run     func(context.Context)
	synced  func() bool
	keys    func() []string
	get     func(key string) any
	added   *atomic.Int64 // additions that the handler has received
	stop    context.CancelFunc
	stopped chan struct{}
}

func (inf *footprintInformer) start(ctx context.Context) {
	ctx, inf.stop = context.WithCancel(ctx)
	inf.stopped = make(chan struct{})
	go func() {
		defer close(inf.stopped)
		inf.run(ctx)
	}()
}

// storage is how a side stores objects.
type storage struct {
	shareEqual, packed bool
	omit               []string
}

// storages returns the storage of the sides that are a SharedInformer.
func storages() map[string]storage {
	managedFields := []string{"metadata.managedFields"}
	return map[string]storage{
		Kinformer:      {},
		ShareEqual:     {shareEqual: true},
		Packed:         {packed: true},
		Omitting:       {omit: managedFields},
		OmittingPacked: {packed: true, omit: managedFields},
	}
}

// newStrippingFactory returns client-go's factory with a transform that clears managedFields.
func newStrippingFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(obj any) (any, error) {
		if object, ok := obj.(metav1.Object); ok {
			object.SetManagedFields(nil)
		}
		return obj, nil
	}))
}

// informer returns the side's informer. It does not run yet.
func (job FootprintJob) informer() (*footprintInformer, error) {
	config := Server{URL: job.URL}.config()
	switch job.Side {
	case ClientGo:
		return job.fromFactory(config, newFactory)
	case ClientGoStripped:
		return job.fromFactory(config, newStrippingFactory)
	case Adapter, AdapterPacked:
		cache.EnableStreaming(config)
		return job.fromFactory(config, newAdapterFactory(clientgo.Options{Packed: job.Side == AdapterPacked}))
	}
	if _, ok := storages()[job.Side]; !ok {
		return nil, fmt.Errorf("unknown side %q", job.Side)
	}
	cache.EnableStreaming(config)
	if job.Kind == CustomResources {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(dataset.CustomResourceKind())
		return fromListWatch(job.Side, cache.ListWatchOf(client.Resource(dataset.CustomResourceResource())), example)
	}
	clientset, err := kubernetes.NewForConfig(config)
	switch {
	case err != nil:
		return nil, err
	case job.Kind == Nodes:
		return fromListWatch(job.Side, cache.ListWatchOf(clientset.CoreV1().Nodes()), &corev1.Node{})
	case job.Kind == Pods:
		return fromListWatch(job.Side, cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{})
	default:
		return nil, fmt.Errorf("unknown kind %q", job.Kind)
	}
}

// fromListWatch returns a SharedInformer. A packed one has a key handler, as event handlers would
// decode every object.
func fromListWatch[T cache.Object](side string, lw cache.ListerWatcher, example T) (*footprintInformer, error) {
	stored := storages()[side]
	informer := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{
		Packed: stored.packed, ShareEqual: stored.shareEqual, OmitFields: stored.omit,
		Indexers: cache.Indexers[T]{cache.NamespaceIndex: cache.ByMetadata[T](cache.MetaNamespaceIndexFunc)},
	})
	added, store := new(atomic.Int64), informer.Store()
	var err error
	if stored.packed {
		_, err = informer.AddKeyHandler(func(cache.KeyEvent) { added.Add(1) }, cache.HandlerOptions{})
	} else {
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs[T]{AddFunc: func(T) { added.Add(1) }}, cache.HandlerOptions{})
	}
	return &footprintInformer{
		run:    func(ctx context.Context) { _ = informer.Run(ctx) },
		synced: informer.HasSynced,
		keys:   store.ListKeys,
		get: func(key string) any {
			obj, _ := store.GetByKey(key)
			return obj
		},
		added: added,
	}, err
}

// fromFactory returns a factory's SharedIndexInformer.
func (job FootprintJob) fromFactory(config *rest.Config, factory factory) (*footprintInformer, error) {
	informer, err := job.sharedIndexInformer(config, factory)
	if err != nil {
		return nil, err
	}
	added, indexer := new(atomic.Int64), informer.GetIndexer()
	_, err = informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: func(any) { added.Add(1) }})
	return &footprintInformer{
		run:    informer.RunWithContext,
		synced: informer.HasSynced,
		keys:   indexer.ListKeys,
		get: func(key string) any {
			obj, _, _ := indexer.GetByKey(key)
			return obj
		},
		added: added,
	}, err
}

// sharedIndexInformer returns a factory's informer, which has an index by namespace.
func (job FootprintJob) sharedIndexInformer(config *rest.Config, factory factory) (clientcache.SharedIndexInformer, error) {
	if job.Kind == CustomResources {
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
	switch job.Kind {
	case Pods:
		return core.Pods().Informer(), nil
	case Nodes:
		return core.Nodes().Informer(), nil
	default:
		return nil, fmt.Errorf("unknown kind %q", job.Kind)
	}
}
