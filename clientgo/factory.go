// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
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
// factory of client-go whose accessors make this package's informers. They stream over a copy of
// client, unless Options.DisableStreaming is set or client is not one of client-go's; see the
// package comment.
//
// A function passed to InformerFor may return an informer of client-go, as the functions of
// generated code do. It is replaced as by [Adopt]. See [Options].Streaming for when it streams.
//
// Accessors of API groups that client-go v0.36 does not have, such as Lifecycle, return informers
// of client-go. ForResource returns this package's informers for all groups.
func (c Constructors) NewSharedInformerFactoryWithOptions(client kubernetes.Interface, defaultResync time.Duration, options ...informers.SharedInformerOption) informers.SharedInformerFactory {
	original := informers.NewSharedInformerFactoryWithOptions(client, defaultResync, options...)
	if c.options.usesClientGo() {
		return original
	}
	options = slices.Clone(options) // the caller may change the slice
	f := &factory{SharedInformerFactory: original}
	f.generated = Generated(f.SharedInformerFactory, c.options)
	f.makeFactory = func(more ...informers.SharedInformerOption) informers.SharedInformerFactory {
		copied, _ := withTap(client, c.options)
		return informers.NewSharedInformerFactoryWithOptions(copied, defaultResync, slices.Concat(options, more)...)
	}
	f.template = sync.OnceValue(func() informers.SharedInformerFactory { return f.makeFactory(informers.WithInformerName(nil)) })
	f.generated.warned = true // the accessors pass on the selection
	if !f.generated.selectionKnown {
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

	generated *GeneratedFactory[kubernetes.Interface, internalinterfaces.NewInformerFunc]

	// makeFactory returns another factory of client-go, with the client of the accessors'
	// informers. template is an unnamed one that is never started: the types of objects are read
	// from its informers.
	template    func() informers.SharedInformerFactory
	makeFactory func(...informers.SharedInformerOption) informers.SharedInformerFactory
}

func (f *factory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) clientcache.SharedIndexInformer {
	return f.generated.informerFor(obj, newFunc, false)
}

func (f *factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.template().ForResource(resource)
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
	if result.Err == nil {
		return result
	}
	var causes []error
	for _, informer := range f.madeInformers() {
		if status := StatusOf(informer); !informer.HasSynced() && ownInformer(informer) != nil && status.Err != nil {
			causes = append(causes, fmt.Errorf("%s: %w", status.Name, status.Err))
		}
	}
	if causes != nil {
		result.Err = fmt.Errorf("%w: %w", result.Err, errors.Join(causes...))
	}
	return result
}

func (f *factory) madeInformers() []clientcache.SharedIndexInformer {
	return f.generated.madeInformers()
}

// The methods below replace those of the embedded factory of client-go, so that the accessors call
// InformerFor of the factory that Generated returns.

func (f *factory) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f.arguments())
}

func (f *factory) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f.arguments())
}

func (f *factory) Internal() apiserverinternal.Interface { return apiserverinternal.New(f.arguments()) }
func (f *factory) Apps() apps.Interface                  { return apps.New(f.arguments()) }
func (f *factory) Autoscaling() autoscaling.Interface    { return autoscaling.New(f.arguments()) }
func (f *factory) Batch() batch.Interface                { return batch.New(f.arguments()) }
func (f *factory) Certificates() certificates.Interface  { return certificates.New(f.arguments()) }
func (f *factory) Coordination() coordination.Interface  { return coordination.New(f.arguments()) }
func (f *factory) Core() core.Interface                  { return core.New(f.arguments()) }
func (f *factory) Discovery() discovery.Interface        { return discovery.New(f.arguments()) }
func (f *factory) Events() events.Interface              { return events.New(f.arguments()) }
func (f *factory) Extensions() extensions.Interface      { return extensions.New(f.arguments()) }
func (f *factory) Flowcontrol() flowcontrol.Interface    { return flowcontrol.New(f.arguments()) }
func (f *factory) Networking() networking.Interface      { return networking.New(f.arguments()) }
func (f *factory) Node() node.Interface                  { return node.New(f.arguments()) }
func (f *factory) Policy() policy.Interface              { return policy.New(f.arguments()) }
func (f *factory) Rbac() rbac.Interface                  { return rbac.New(f.arguments()) }
func (f *factory) Resource() resource.Interface          { return resource.New(f.arguments()) }
func (f *factory) Scheduling() scheduling.Interface      { return scheduling.New(f.arguments()) }
func (f *factory) Storage() storage.Interface            { return storage.New(f.arguments()) }

// arguments returns the arguments of the New functions of client-go's API groups.
func (f *factory) arguments() (internalinterfaces.SharedInformerFactory, string, internalinterfaces.TweakListOptionsFunc) {
	return f.generated, f.generated.Namespace(), f.generated.TweakListOptions()
}
