// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

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
	"k8s.io/klog/v2"
)

// NewDynamicSharedInformerFactory replaces the function of package dynamicinformer. It returns a
// factory of informers of unstructured objects.
func (c Constructors) NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) dynamicinformer.DynamicSharedInformerFactory {
	return c.NewFilteredDynamicSharedInformerFactory(client, defaultResync, metav1.NamespaceAll, nil)
}

// NewFilteredDynamicSharedInformerFactory replaces the function of package dynamicinformer. See
// [Constructors.NewDynamicSharedInformerFactory].
func (c Constructors) NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions dynamicinformer.TweakListOptionsFunc) dynamicinformer.DynamicSharedInformerFactory {
	if c.options.usesClientGo() {
		return dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, defaultResync, namespace, tweakListOptions)
	}
	client, t := withTap(client, c.options)
	return newResourceFactory(func(resource schema.GroupVersionResource) informers.GenericInformer {
		return c.newDynamicInformer(client, t, resource, namespace, defaultResync, byNamespace(), tweakListOptions)
	})
}

// NewFilteredDynamicInformer replaces the function of package dynamicinformer. It returns an
// informer of unstructured objects.
func (c Constructors) NewFilteredDynamicInformer(client dynamic.Interface, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions dynamicinformer.TweakListOptionsFunc) informers.GenericInformer {
	if c.options.usesClientGo() {
		return dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, resyncPeriod, indexers, tweakListOptions)
	}
	client, t := withTap(client, c.options)
	return c.newDynamicInformer(client, t, resource, namespace, resyncPeriod, indexers, tweakListOptions)
}

func (c Constructors) newDynamicInformer(client dynamic.Interface, t clientTap, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions dynamicinformer.TweakListOptionsFunc) informers.GenericInformer {
	lw := newListerWatcher[*unstructured.UnstructuredList](client.Resource(resource).Namespace(namespace), client, tweakListOptions)
	informer := newInformer(lw, &unstructured.Unstructured{}, c.resourceSettings(t, resource, resyncPeriod, indexers))
	return &genericInformer{informer, func() clientcache.GenericLister {
		return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(informer.GetIndexer(), resource))
	}}
}

// Metadata returns client-go's constructors of package metadata/metadatainformer.
func (c Constructors) Metadata() MetadataConstructors { return MetadataConstructors{c} }

// MetadataConstructors has the functions of client-go's package metadata/metadatainformer as
// methods, with the same signatures. They make this package's informers or, with
// Options.UseClientGo, client-go's. It is a type of its own, as some of the names are also those of
// functions of package informers.
type MetadataConstructors struct{ constructors Constructors }

// NewSharedInformerFactory replaces the function of package metadatainformer. It returns a factory
// of informers of the metadata of objects.
func (c MetadataConstructors) NewSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) metadatainformer.SharedInformerFactory {
	return c.NewFilteredSharedInformerFactory(client, defaultResync, metav1.NamespaceAll, nil)
}

// NewFilteredSharedInformerFactory replaces the function of package metadatainformer. See
// [MetadataConstructors.NewSharedInformerFactory].
func (c MetadataConstructors) NewFilteredSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions metadatainformer.TweakListOptionsFunc) metadatainformer.SharedInformerFactory {
	if c.constructors.options.usesClientGo() {
		return metadatainformer.NewFilteredSharedInformerFactory(client, defaultResync, namespace, tweakListOptions)
	}
	return c.newFactory(client, defaultResync, namespace, tweakListOptions, nil)
}

// NewSharedInformerFactoryWithOptions replaces the function of package metadatainformer. See
// [MetadataConstructors.NewSharedInformerFactory].
func (c MetadataConstructors) NewSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...metadatainformer.SharedInformerOption) metadatainformer.SharedInformerFactory {
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(client, defaultResync, options...)
	if c.constructors.options.usesClientGo() {
		return factory
	}
	var transform clientcache.TransformFunc
	if !readField(reflect.ValueOf(factory).Elem(), "transform", &transform) {
		klog.Background().Info("Warning: factory not adopted: the options of this version of client-go are unknown")
		return factory
	}
	return c.newFactory(client, defaultResync, metav1.NamespaceAll, nil, transform)
}

func (c MetadataConstructors) newFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions metadatainformer.TweakListOptionsFunc, transform clientcache.TransformFunc) metadatainformer.SharedInformerFactory {
	client, t := withTap(client, c.constructors.options)
	return newResourceFactory(func(resource schema.GroupVersionResource) informers.GenericInformer {
		generic := c.newMetadataInformer(client, t, resource, namespace, defaultResync, byNamespace(), tweakListOptions)
		_ = generic.Informer().SetTransform(transform) // fails only after Run
		return generic
	})
}

// WithTransform returns the option of package metadatainformer.
func (c MetadataConstructors) WithTransform(transform clientcache.TransformFunc) metadatainformer.SharedInformerOption {
	return metadatainformer.WithTransform(transform)
}

// NewFilteredMetadataInformer replaces the function of package metadatainformer. It returns an
// informer of the metadata of objects.
func (c MetadataConstructors) NewFilteredMetadataInformer(client metadata.Interface, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions metadatainformer.TweakListOptionsFunc) informers.GenericInformer {
	if c.constructors.options.usesClientGo() {
		return metadatainformer.NewFilteredMetadataInformer(client, resource, namespace, resyncPeriod, indexers, tweakListOptions)
	}
	client, t := withTap(client, c.constructors.options)
	return c.newMetadataInformer(client, t, resource, namespace, resyncPeriod, indexers, tweakListOptions)
}

func (c MetadataConstructors) newMetadataInformer(client metadata.Interface, t clientTap, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions metadatainformer.TweakListOptionsFunc) informers.GenericInformer {
	lw := newListerWatcher[*metav1.PartialObjectMetadataList](client.Resource(resource).Namespace(namespace), client, tweakListOptions)
	informer := newInformer(lw, &metav1.PartialObjectMetadata{}, c.constructors.resourceSettings(t, resource, resyncPeriod, indexers))
	return &genericInformer{informer, func() clientcache.GenericLister {
		return metadatalister.NewRuntimeObjectShim(metadatalister.New(informer.GetIndexer(), resource))
	}}
}

// resourceFactory is a factory of informers of unstructured objects or of metadata, by resource.
// Each informer is started once. It does not build on client-go's factory, to which no informer can
// be added. It is safe for concurrent use.
type resourceFactory struct {
	newInformer func(schema.GroupVersionResource) informers.GenericInformer

	mu        sync.Mutex // guards the fields below; running may be waited for without it
	informers map[schema.GroupVersionResource]informers.GenericInformer
	started   map[schema.GroupVersionResource]clientcache.SharedIndexInformer
	closed    bool
	running   sync.WaitGroup
}

func newResourceFactory(newInformer func(schema.GroupVersionResource) informers.GenericInformer) *resourceFactory {
	return &resourceFactory{
		newInformer: newInformer,
		informers:   map[schema.GroupVersionResource]informers.GenericInformer{},
		started:     map[schema.GroupVersionResource]clientcache.SharedIndexInformer{},
	}
}

func (f *resourceFactory) ForResource(resource schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	generic, ok := f.informers[resource]
	if !ok {
		generic = f.newInformer(resource)
		f.informers[resource] = generic
	}
	return generic
}

// genericInformer is an informer with a lister of runtime.Objects. Programs compare pointers to it.
type genericInformer struct {
	informer *sharedIndexInformer
	lister   func() clientcache.GenericLister
}

func (g *genericInformer) Informer() clientcache.SharedIndexInformer { return g.informer }
func (g *genericInformer) Lister() clientcache.GenericLister         { return g.lister() }

func (f *resourceFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext starts the informers that were not started before, and returns. They run until
// ctx ends. client-go's metadata factory has this method, although its interface has not.
func (f *resourceFactory) StartWithContext(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for resource, generic := range f.informers {
		if f.started[resource] == nil {
			informer := generic.Informer()
			f.started[resource] = informer
			f.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// WaitForCacheSync blocks until the started informers have synced, or stopCh is closed. For each of
// them it returns whether it has synced.
func (f *resourceFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	f.mu.Lock()
	started := maps.Clone(f.started)
	f.mu.Unlock()
	checkers := make([]clientcache.DoneChecker, 0, len(started))
	for _, informer := range started {
		checkers = append(checkers, informer.HasSyncedChecker())
	}
	clientcache.WaitFor(wait.ContextForChannel(stopCh), "", checkers...)
	synced := make(map[schema.GroupVersionResource]bool, len(started))
	for resource, informer := range started {
		synced[resource] = informer.HasSynced()
	}
	return synced
}

func (f *resourceFactory) madeInformers() []clientcache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	made := make([]clientcache.SharedIndexInformer, 0, len(f.informers))
	for _, generic := range f.informers {
		made = append(made, generic.Informer())
	}
	return made
}

// Shutdown makes later calls of Start ineffective, and waits for the running informers to stop.
func (f *resourceFactory) Shutdown() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.running.Wait()
}

func (c Constructors) resourceSettings(t clientTap, resource schema.GroupVersionResource, resyncPeriod time.Duration, indexers clientcache.Indexers) settings {
	return settings{
		SharedIndexInformerOptions: clientcache.SharedIndexInformerOptions{
			ResyncPeriod:      resyncPeriod,
			Indexers:          indexers,
			ObjectDescription: resource.String(),
		},
		Options:   c.options,
		unchanged: true,
		tap:       t,
		resource:  resource,
	}
}

func byNamespace() clientcache.Indexers {
	return clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}
}

// newListerWatcher returns a ListerWatcher of a resource. The resource's client belongs to client,
// which may declare that it does not support WatchList. tweak may be nil.
func newListerWatcher[L runtime.Object](resource interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}, client any, tweak func(*metav1.ListOptions)) clientcache.ListerWatcher {
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	return clientcache.ToListWatcherWithWatchListSemantics(&clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			list, err := resource.List(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return resource.Watch(ctx, options)
		},
	}, client)
}
