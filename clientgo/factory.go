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

// NewSharedInformerFactory returns a SharedInformerFactory of client-go that makes this package's
// informers:
//
//	factory := clientgo.NewSharedInformerFactory(clientset, clientgo.FactoryOptions{})
//
// A function passed to InformerFor may return an informer of client-go, as the functions of
// generated code do. The factory converts it: the result has the same list and watch functions,
// selectors, indexes, resync period and transform. An informer that has handlers, or is running, is
// not converted.
//
// Accessors of API groups that client-go v0.36 does not have, such as Lifecycle, return informers
// of client-go. ForResource returns this package's informers for all groups.
func NewSharedInformerFactory(client kubernetes.Interface, options FactoryOptions) informers.SharedInformerFactory {
	f := &factory{client: client, options: options}
	f.SharedInformerFactory, f.template = f.newClientGoFactory(options.InformerName), f.newClientGoFactory(nil)
	return f
}

// factory is a SharedInformerFactory of this package's informers.
type factory struct {
	// SharedInformerFactory is client-go's. It makes the informers of the groups without an
	// accessor in groups.go.
	informers.SharedInformerFactory

	template informers.SharedInformerFactory // makes informers to convert; unnamed, and never started
	client   kubernetes.Interface
	options  FactoryOptions
	set      informerSet[reflect.Type]
}

var _ informers.SharedInformerFactory = (*factory)(nil)

// newClientGoFactory returns a factory of client-go with the same options.
func (f *factory) newClientGoFactory(name *clientcache.InformerName) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(f.client, f.options.ResyncPeriod, informers.WithInformerName(name),
		informers.WithNamespace(f.options.Namespace), informers.WithTweakListOptions(f.options.TweakListOptions), informers.WithTransform(f.options.Transform))
}

// InformerFor returns the informer for objects of obj's type. If there is none, it makes one with
// newFunc.
func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) clientcache.SharedIndexInformer {
	objects := reflect.TypeOf(obj)
	return f.set.informer(objects, func() clientcache.SharedIndexInformer {
		informer := convert(newFunc(f.client, f.options.resyncPeriod(objects)), objects, f.options)
		if f.options.Transform != nil {
			_ = informer.SetTransform(f.options.Transform) // fails for a running informer, as in client-go
		}
		return informer
	})
}

// ForResource returns the informer for a resource.
func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.template.ForResource(resource)
	if err != nil {
		return nil, err
	}
	template := generic.Informer()
	informer := template
	if config, ok := extractConfig(template); ok {
		informer = f.InformerFor(config.example, func(_ kubernetes.Interface, _ time.Duration) clientcache.SharedIndexInformer {
			// A factory reserves the name of an informer when it makes the informer.
			if named, err := f.newClientGoFactory(f.options.InformerName).ForResource(resource); err == nil {
				return named.Informer()
			}
			return template
		})
	}
	return genericInformer{informer, func() clientcache.GenericLister {
		return clientcache.NewGenericLister(informer.GetIndexer(), resource.GroupResource())
	}}, nil
}

// Start runs the informers that were not started before, until stopCh is closed.
func (f *factory) Start(stopCh <-chan struct{}) { f.StartWithContext(wait.ContextForChannel(stopCh)) }

// StartWithContext runs the informers that were not started before, until ctx ends.
func (f *factory) StartWithContext(ctx context.Context) {
	f.set.start(ctx)
	f.SharedInformerFactory.StartWithContext(ctx)
}

// WaitForCacheSync blocks until the started informers have synced, or stopCh is closed.
func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext blocks until the started informers have synced, or ctx ends. Err of
// the result is then the context's cause.
func (f *factory) WaitForCacheSyncWithContext(ctx context.Context) clientcache.SyncResult {
	result := f.SharedInformerFactory.WaitForCacheSyncWithContext(ctx)
	synced := f.set.waitForSync(ctx)
	for _, done := range synced {
		if !done {
			result.Err = context.Cause(ctx)
		}
	}
	maps.Copy(result.Synced, synced)
	return result
}

// Shutdown makes later calls of Start ineffective, and waits for the running informers to stop.
func (f *factory) Shutdown() {
	f.set.shutdown()
	f.SharedInformerFactory.Shutdown()
}
