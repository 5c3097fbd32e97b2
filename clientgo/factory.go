package clientgo

import (
	"context"
	"maps"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
)

// NewSharedInformerFactory returns a client-go SharedInformerFactory whose informers, of
// every type, are ours:
//
//	factory := clientgo.NewSharedInformerFactory(clientset, clientgo.FactoryOptions{})
//	pods := factory.Core().V1().Pods().Lister()
//
// A function that is passed to InformerFor may make an informer of client-go's, as all do:
// what it is made of is read from it, its selectors, indexes and transform included, and the
// informer that is returned is ours. Only one that has handlers, or runs, stays what it is.
//
// API groups that are newer than client-go v0.36 are the exception (Lifecycle is): the
// informers that their accessors make are client-go's. Those of ForResource are ours.
func NewSharedInformerFactory(client kubernetes.Interface, options FactoryOptions) informers.SharedInformerFactory {
	f := &factory{client: client, options: options}
	f.SharedInformerFactory, f.pattern = f.plain(options.InformerName), f.plain(nil)
	return f
}

// factory is client-go's factory with our informers.
type factory struct {
	// SharedInformerFactory is client-go's. It makes the informers of those groups that
	// groups.go does not know.
	informers.SharedInformerFactory

	pattern informers.SharedInformerFactory // never started, without a name: its informers show what to make
	client  kubernetes.Interface
	options FactoryOptions
	fleet   fleet[reflect.Type]
}

var _ informers.SharedInformerFactory = (*factory)(nil)

// plain returns a factory of client-go's with the same options.
func (f *factory) plain(name *clientcache.InformerName) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(f.client, f.options.ResyncPeriod, informers.WithInformerName(name),
		informers.WithNamespace(f.options.Namespace), informers.WithTweakListOptions(f.options.TweakListOptions), informers.WithTransform(f.options.Transform))
}

// InformerFor returns the informer of objects of a type.
func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) clientcache.SharedIndexInformer {
	objects := reflect.TypeOf(obj)
	return f.fleet.informer(objects, func() clientcache.SharedIndexInformer {
		made := adopt(newFunc(f.client, f.options.resyncOf(objects)), f.options)
		if f.options.Transform != nil {
			_ = made.SetTransform(f.options.Transform) // it fails for what runs already, as in client-go
		}
		return made
	})
}

// ForResource returns the informer of a resource.
func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	pattern, err := f.pattern.ForResource(resource)
	if err != nil {
		return nil, err
	}
	like := pattern.Informer()
	informer := like
	if parts, ok := takeApart(like); ok {
		informer = f.InformerFor(parts.example, func(_ kubernetes.Interface, _ time.Duration) clientcache.SharedIndexInformer {
			if named, err := f.plain(f.options.InformerName).ForResource(resource); err == nil {
				return named.Informer() // now that it is made its name is taken
			}
			return like
		})
	}
	return genericInformer{informer, func() clientcache.GenericLister {
		return clientcache.NewGenericLister(informer.GetIndexer(), resource.GroupResource())
	}}, nil
}

// Start runs the informers that were asked for since the last time, until stopCh is closed.
func (f *factory) Start(stopCh <-chan struct{}) { f.StartWithContext(wait.ContextForChannel(stopCh)) }

// StartWithContext is Start.
func (f *factory) StartWithContext(ctx context.Context) {
	f.fleet.start(ctx)
	f.SharedInformerFactory.StartWithContext(ctx)
}

// WaitForCacheSync waits until the informers that were started have synced.
func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext is WaitForCacheSync, and says why it ended.
func (f *factory) WaitForCacheSyncWithContext(ctx context.Context) clientcache.SyncResult {
	result := f.SharedInformerFactory.WaitForCacheSyncWithContext(ctx)
	synced := f.fleet.sync(ctx)
	for _, done := range synced {
		if !done {
			result.Err = context.Cause(ctx)
		}
	}
	maps.Copy(result.Synced, synced)
	return result
}

// Shutdown waits until the informers have stopped, and lets none be started any more.
func (f *factory) Shutdown() {
	f.fleet.shutdown()
	f.SharedInformerFactory.Shutdown()
}
