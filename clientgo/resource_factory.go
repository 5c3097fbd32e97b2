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

// NewDynamicSharedInformerFactory returns a factory of informers of unstructured objects,
// as dynamicinformer's functions do.
func NewDynamicSharedInformerFactory(client dynamic.Interface, options FactoryOptions) dynamicinformer.DynamicSharedInformerFactory {
	return &resourceFactory{
		options: options,
		example: &unstructured.Unstructured{},
		source: func(resource schema.GroupVersionResource) clientcache.ListerWatcher {
			return sourceOf[*unstructured.UnstructuredList](client.Resource(resource).Namespace(options.Namespace), client, options)
		},
		lister: func(indexer clientcache.Indexer, resource schema.GroupVersionResource) clientcache.GenericLister {
			return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(indexer, resource))
		},
	}
}

// NewMetadataSharedInformerFactory returns a factory of informers of objects' metadata, as
// metadatainformer's functions do.
func NewMetadataSharedInformerFactory(client metadata.Interface, options FactoryOptions) metadatainformer.SharedInformerFactory {
	return &resourceFactory{
		options: options,
		example: &metav1.PartialObjectMetadata{},
		source: func(resource schema.GroupVersionResource) clientcache.ListerWatcher {
			return sourceOf[*metav1.PartialObjectMetadataList](client.Resource(resource).Namespace(options.Namespace), client, options)
		},
		lister: func(indexer clientcache.Indexer, resource schema.GroupVersionResource) clientcache.GenericLister {
			return metadatalister.NewRuntimeObjectShim(metadatalister.New(indexer, resource))
		},
	}
}

// sourceOf returns what lists and watches through the client of one resource. The client
// that this one is of may declare that it does not know WatchList.
func sourceOf[L runtime.Object](resource interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, client any, options FactoryOptions) clientcache.ListerWatcher {
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, request metav1.ListOptions) (runtime.Object, error) {
			list, err := resource.List(ctx, options.tweaked(request))
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, request metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, options.tweaked(request))
		},
	}, client)
}

// resourceFactory makes informers of resources, whatever their kinds.
type resourceFactory struct {
	options FactoryOptions
	example runtime.Object
	source  func(schema.GroupVersionResource) clientcache.ListerWatcher
	lister  func(clientcache.Indexer, schema.GroupVersionResource) clientcache.GenericLister
	fleet   fleet[schema.GroupVersionResource]
}

var (
	_ dynamicinformer.DynamicSharedInformerFactory = (*resourceFactory)(nil)
	_ metadatainformer.SharedInformerFactory       = (*resourceFactory)(nil)
)

// ForResource returns the informer of a resource.
func (f *resourceFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	informer := f.fleet.informer(resource, func() clientcache.SharedIndexInformer {
		options := f.options.with(clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}, f.options.InformerName.WithResource(resource))
		if options.ObjectDescription == "" {
			options.ObjectDescription = resource.String()
		}
		made := newInformer(f.source(resource), f.example, options)
		made.setTransform(f.options.Transform)
		return made
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

// Start runs the informers that were asked for since the last time, until stopCh is closed.
func (f *resourceFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext is Start. client-go's metadata factory has it, too.
func (f *resourceFactory) StartWithContext(ctx context.Context) { f.fleet.start(ctx) }

// WaitForCacheSync waits until the informers that were started have synced.
func (f *resourceFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.fleet.sync(wait.ContextForChannel(stopCh))
}

// Shutdown waits until the informers have stopped, and lets none be started any more.
func (f *resourceFactory) Shutdown() { f.fleet.shutdown() }
