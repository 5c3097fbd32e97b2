// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// NewSharedInformerFactory replaces the function of package informers. See
// [Constructors.NewSharedInformerFactoryWithOptions].
func (c Constructors) NewSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration) informers.SharedInformerFactory {
	return c.NewSharedInformerFactoryWithOptions(client, defaultResync)
}

// NewFilteredSharedInformerFactory replaces the function of package informers. See
// [Constructors.NewSharedInformerFactoryWithOptions].
func (c Constructors) NewFilteredSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration, namespace string, tweakListOptions internalinterfaces.TweakListOptionsFunc) informers.SharedInformerFactory {
	return c.NewSharedInformerFactoryWithOptions(client, defaultResync, c.WithNamespace(namespace), c.WithTweakListOptions(tweakListOptions))
}

// NewSharedInformerFactoryWithOptions replaces the function of package informers. It returns a
// factory of client-go whose accessors make this package's informers.
//
// A function passed to InformerFor may return an informer of client-go, as the functions of
// generated code do. It is replaced as by [Adopt], but streams only with Options.Streaming, as the
// function may filter.
//
// Accessors of API groups that client-go v0.36 does not have, such as Lifecycle, return informers
// of client-go. ForResource returns this package's informers for all groups.
func (c Constructors) NewSharedInformerFactoryWithOptions(client kubernetes.Interface, defaultResync time.Duration, options ...informers.SharedInformerOption) informers.SharedInformerFactory {
	options = slices.Clone(options) // the caller may change the slice
	makeFactory := func(more ...informers.SharedInformerOption) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, defaultResync, slices.Concat(options, more)...)
	}
	f := &factory{
		SharedInformerFactory: makeFactory(),
		template:              makeFactory(informers.WithInformerName(nil)),
		makeFactory:           makeFactory,
	}
	f.generated = Generated(f.SharedInformerFactory, c.options)
	if f.namespace, f.tweakListOptions = f.generated.Namespace(), f.generated.TweakListOptions(); !f.generated.selectionKnown {
		klog.Background().Info("Warning: factory not adopted: the options of this version of client-go are unknown")
		return f.SharedInformerFactory
	}
	return f
}

// WithNamespace returns the option of package informers.
func (c Constructors) WithNamespace(namespace string) informers.SharedInformerOption {
	return informers.WithNamespace(namespace)
}

// WithTweakListOptions returns the option of package informers.
func (c Constructors) WithTweakListOptions(tweakListOptions internalinterfaces.TweakListOptionsFunc) informers.SharedInformerOption {
	return informers.WithTweakListOptions(tweakListOptions)
}

// WithTransform returns the option of package informers.
func (c Constructors) WithTransform(transform clientcache.TransformFunc) informers.SharedInformerOption {
	return informers.WithTransform(transform)
}

// WithCustomResyncConfig returns the option of package informers.
func (c Constructors) WithCustomResyncConfig(resyncConfig map[metav1.Object]time.Duration) informers.SharedInformerOption {
	return informers.WithCustomResyncConfig(resyncConfig)
}

// WithInformerName returns the option of package informers.
func (c Constructors) WithInformerName(informerName *clientcache.InformerName) informers.SharedInformerOption {
	return informers.WithInformerName(informerName)
}

// factory is a SharedInformerFactory of client-go that keeps this package's informers.
type factory struct {
	informers.SharedInformerFactory // client-go's

	generated        *GeneratedFactory[kubernetes.Interface, internalinterfaces.NewInformerFunc]
	namespace        string
	tweakListOptions internalinterfaces.TweakListOptionsFunc

	// template makes informers to read the type of their objects; unnamed, and never started.
	template    informers.SharedInformerFactory
	makeFactory func(...informers.SharedInformerOption) informers.SharedInformerFactory
}

func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) clientcache.SharedIndexInformer {
	return f.generated.informerFor(obj, newFunc, false)
}

func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.template.ForResource(resource)
	if err != nil {
		return nil, err
	}
	if config, ok := extractConfig(generic.Informer()); ok {
		f.generated.InformerFor(config.example, func(kubernetes.Interface, time.Duration) clientcache.SharedIndexInformer {
			// A factory reserves the name of an informer when it makes the informer.
			if named, err := f.makeFactory().ForResource(resource); err == nil {
				return named.Informer()
			}
			return generic.Informer()
		})
	}
	return f.SharedInformerFactory.ForResource(resource)
}

func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext blocks until the started informers have synced, or ctx ends. Err of
// the result then wraps the context's cause and the last error of each informer that has not
// synced, such as Forbidden.
func (f *factory) WaitForCacheSyncWithContext(ctx context.Context) clientcache.SyncResult {
	result := f.SharedInformerFactory.WaitForCacheSyncWithContext(ctx)
	if result.Err != nil {
		result.Err = withCauses(result.Err, f.madeInformers())
	}
	return result
}

func (f *factory) madeInformers() []clientcache.SharedIndexInformer {
	return f.generated.madeInformers()
}
