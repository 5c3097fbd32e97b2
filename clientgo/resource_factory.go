package clientgo

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	clientcache "k8s.io/client-go/tools/cache"
)

// NewDynamicSharedInformerFactory returns a factory of informers of unstructured objects. It
// replaces the functions of package dynamicinformer.
func NewDynamicSharedInformerFactory(client dynamic.Interface, options FactoryOptions) dynamicinformer.DynamicSharedInformerFactory {
	return &resourceFactory{
		options: options,
		example: &unstructured.Unstructured{},
		listerWatcher: func(resource schema.GroupVersionResource) clientcache.ListerWatcher {
			return newListerWatcher[*unstructured.UnstructuredList](client.Resource(resource).Namespace(options.Namespace), client, options)
		},
		lister: func(indexer clientcache.Indexer, resource schema.GroupVersionResource) clientcache.GenericLister {
			return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(indexer, resource))
		},
	}
}

// NewMetadataSharedInformerFactory returns a factory of informers of the metadata of objects. It
// replaces the functions of package metadatainformer.
func NewMetadataSharedInformerFactory(client metadata.Interface, options FactoryOptions) metadatainformer.SharedInformerFactory {
	return &resourceFactory{
		options: options,
		example: &metav1.PartialObjectMetadata{},
		listerWatcher: func(resource schema.GroupVersionResource) clientcache.ListerWatcher {
			return newListerWatcher[*metav1.PartialObjectMetadataList](client.Resource(resource).Namespace(options.Namespace), client, options)
		},
		lister: func(indexer clientcache.Indexer, resource schema.GroupVersionResource) clientcache.GenericLister {
			return metadatalister.NewRuntimeObjectShim(metadatalister.New(indexer, resource))
		},
	}
}

// newListerWatcher returns a ListerWatcher of a resource. The resource's client belongs to client,
// which may declare that it does not support WatchList.
func newListerWatcher[L runtime.Object](resource interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, client any, options FactoryOptions) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, request metav1.ListOptions) (runtime.Object, error) {
			list, err := resource.List(ctx, options.tweak(request))
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, request metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options.tweak(request))
		},
	}, client)
}

// resourceFactory is a factory of informers by resource, of objects of one Go type.
type resourceFactory struct {
	options       FactoryOptions
	example       runtime.Object
	listerWatcher func(schema.GroupVersionResource) clientcache.ListerWatcher
	lister        func(clientcache.Indexer, schema.GroupVersionResource) clientcache.GenericLister
	set           informerSet[schema.GroupVersionResource]
}

var (
	_ dynamicinformer.DynamicSharedInformerFactory = (*resourceFactory)(nil)
	_ metadatainformer.SharedInformerFactory       = (*resourceFactory)(nil)
)

// ForResource returns the informer for a resource.
func (f *resourceFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	informer := f.set.informer(resource, func() clientcache.SharedIndexInformer {
		options := f.options.with(clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}, f.options.InformerName.WithResource(resource))
		if options.ObjectDescription == "" {
			options.ObjectDescription = resource.String()
		}
		informer := newInformer(f.listerWatcher(resource), f.example, options)
		informer.setTransform(f.options.Transform)
		return informer
	})
	return genericInformer{informer, func() clientcache.GenericLister { return f.lister(informer.GetIndexer(), resource) }}
}

// genericInformer is an informer with a lister of runtime.Objects.
type genericInformer struct {
	informer clientcache.SharedIndexInformer
	lister   func() clientcache.GenericLister
}

func (g genericInformer) Informer() clientcache.SharedIndexInformer { return g.informer }
func (g genericInformer) Lister() clientcache.GenericLister         { return g.lister() }

// Start starts the informers that were not started before, and returns. They run until stopCh is
// closed.
func (f *resourceFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext starts the informers that were not started before, and returns. They run until ctx
// ends. client-go's metadata factory has this method, although its interface has not.
func (f *resourceFactory) StartWithContext(ctx context.Context) { f.set.start(ctx) }

// WaitForCacheSync blocks until the started informers have synced, or stopCh is closed.
func (f *resourceFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.set.waitForSync(wait.ContextForChannel(stopCh))
}

// Shutdown makes later calls of Start ineffective, and waits for the running informers to stop.
func (f *resourceFactory) Shutdown() { f.set.shutdown() }
