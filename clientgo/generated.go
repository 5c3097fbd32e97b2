// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
)

// Generated returns a factory that makes this package's informers and keeps them in a factory of
// client-go or of a clientset that code-generator has made. The New functions of the generated API
// groups accept it, and types are inferred:
//
//	factory := externalversions.NewSharedInformerFactory(client, 0)
//	certificates := certmanager.New(clientgo.Generated(factory, clientgo.Options{}), "", nil).V1().Certificates()
//
// The generated factory keeps each informer by the type of its objects, so its own accessors and
// listers return the same informer afterwards, and its Start, WaitForCacheSync and Shutdown include
// it. A type that the generated factory was asked for before keeps its informer of client-go.
//
// Informers are replaced as by [Adopt].
func Generated[Client any, NewFunc ~func(Client, time.Duration) clientcache.SharedIndexInformer](factory generatedFactory[NewFunc], options Options) *GeneratedFactory[Client, NewFunc] {
	return &GeneratedFactory[Client, NewFunc]{
		factory: factory, options: options, informers: make(map[reflect.Type]clientcache.SharedIndexInformer),
	}
}

// generatedFactory is the interface of generated factories that the accessors of API groups use.
type generatedFactory[NewFunc any] interface {
	Start(stopCh <-chan struct{})
	InformerFor(obj runtime.Object, newFunc NewFunc) clientcache.SharedIndexInformer
}

// GeneratedFactory makes this package's informers for a generated factory. See [Generated]. Client
// is the type of the clientset, and NewFunc that of the clientset's functions that make an
// informer.
type GeneratedFactory[Client any, NewFunc ~func(Client, time.Duration) clientcache.SharedIndexInformer] struct {
	factory generatedFactory[NewFunc]
	options Options

	mu        sync.Mutex // guards informers
	informers map[reflect.Type]clientcache.SharedIndexInformer
}

// InformerFor returns the informer of the generated factory for objects of obj's type. If there is
// none, it makes one with newFunc and replaces it as [Adopt] does.
func (f *GeneratedFactory[Client, NewFunc]) InformerFor(obj runtime.Object, newFunc NewFunc) clientcache.SharedIndexInformer {
	return f.informerFor(obj, newFunc, true)
}

// informerFor implements InformerFor. unchanged says that the informer's functions are known to
// return the server's response.
func (f *GeneratedFactory[Client, NewFunc]) informerFor(obj runtime.Object, newFunc NewFunc, unchanged bool) clientcache.SharedIndexInformer {
	informer := f.factory.InformerFor(obj, func(client Client, resyncPeriod time.Duration) clientcache.SharedIndexInformer {
		return adopt(newFunc(client, resyncPeriod), f.options, unchanged)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.informers[reflect.TypeOf(obj)] = informer
	return informer
}

// Start starts the informers of the generated factory that were not started before. They run until
// stopCh is closed.
func (f *GeneratedFactory[Client, NewFunc]) Start(stopCh <-chan struct{}) { f.factory.Start(stopCh) }

// InformerName returns the name of the generated factory's informers in client-go's metrics. It is
// nil if the factory was generated before there were such names.
func (f *GeneratedFactory[Client, NewFunc]) InformerName() *clientcache.InformerName {
	if named, ok := f.factory.(interface {
		InformerName() *clientcache.InformerName
	}); ok {
		return named.InformerName()
	}
	return nil
}

func (f *GeneratedFactory[Client, NewFunc]) madeInformers() []clientcache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.informers))
}
