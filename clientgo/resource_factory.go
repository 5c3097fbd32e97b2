// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"maps"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
)

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

// resourceSettings returns the settings of an informer of unstructured objects or of metadata.
func (c Constructors) resourceSettings(resource schema.GroupVersionResource, resyncPeriod time.Duration, indexers clientcache.Indexers) settings {
	return settings{
		SharedIndexInformerOptions: clientcache.SharedIndexInformerOptions{
			ResyncPeriod:      resyncPeriod,
			Indexers:          indexers,
			ObjectDescription: resource.String(),
		},
		Options:   c.options,
		unchanged: true,
	}
}

// byNamespace returns the indexers of client-go's factories.
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
