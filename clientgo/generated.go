// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Generated returns a wrapper of factory, which is client-go's or that of a clientset made by
// code-generator. The wrapper makes this package's informers, and keeps them in factory. Pass it to
// the New functions of the generated API groups. The types are inferred:
//
//	generated := clientgo.Generated(externalversions.NewSharedInformerFactory(client, 0), clientgo.Options{})
//	certificates := certmanager.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Certificates()
//
// factory keeps one informer for each type of object. Its own accessors and listers return the
// informers that the wrapper made, and its Start, WaitForCacheSync and Shutdown include them. If
// factory was asked for a type before the wrapper was, it keeps client-go's informer of that type.
//
// The wrapper replaces informers as [Adopt] does.
func Generated[Client any, NewFunc ~func(Client, time.Duration) clientcache.SharedIndexInformer](factory generatedFactory[NewFunc], options Options) *GeneratedFactory[Client, NewFunc] {
	f := &GeneratedFactory[Client, NewFunc]{
		factory: factory, options: options, informers: make(map[reflect.Type]clientcache.SharedIndexInformer),
	}
	f.namespace, f.tweakListOptions, f.selectionKnown = selectionOf(factory)
	return f
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
	factory          generatedFactory[NewFunc]
	options          Options
	namespace        string
	tweakListOptions func(*metav1.ListOptions)
	selectionKnown   bool // whether both could be read from the factory

	mu        sync.Mutex // guards the fields below
	informers map[reflect.Type]clientcache.SharedIndexInformer
	// Whether the methods were called, and whether a warning that one was not has been logged.
	namespaceAsked, tweakAsked, warned bool
}

// Namespace returns the namespace of the factory, or "" for all namespaces. The accessors of an API
// group have a namespace of their own and do not use the factory's: pass it to the group's New
// function, so that an informer does not list the whole cluster. The namespace of a factory that
// code-generator has not made, such as a type of the program that embeds one, is not known:
// Namespace then returns "".
func (f *GeneratedFactory[Client, NewFunc]) Namespace() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.namespaceAsked = true
	return f.namespace
}

// TweakListOptions returns the function by which the factory changes the options of each request,
// or nil. Pass it to the group's New function; see Namespace.
func (f *GeneratedFactory[Client, NewFunc]) TweakListOptions() func(*metav1.ListOptions) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tweakAsked = true
	return f.tweakListOptions
}

// warnOnce logs that an informer may not have the selection of the factory, once.
func (f *GeneratedFactory[Client, NewFunc]) warnOnce() {
	f.mu.Lock()
	warn := !f.warned && (f.namespace != "" && !f.namespaceAsked || f.tweakListOptions != nil && !f.tweakAsked)
	f.warned = f.warned || warn
	f.mu.Unlock()
	if warn {
		klog.Background().Info("Warning: informers may not have the namespace and list options of their factory: pass Namespace and TweakListOptions of Generated to the New functions",
			"factory", fmt.Sprintf("%T", f.factory), "namespace", f.namespace, "tweakListOptions", f.tweakListOptions != nil)
	}
}

// selectionOf returns the namespace of a generated factory and the function that changes its
// requests, and reports whether it could read both. It reads private fields by reflection, as a
// generated factory has no methods for them. Those of a type that embeds a factory are not read.
func selectionOf(factory any) (namespace string, tweakListOptions func(*metav1.ListOptions), known bool) {
	v := reflect.Indirect(reflect.ValueOf(factory))
	if v.Kind() != reflect.Struct || !v.CanAddr() {
		return "", nil, false
	}
	for _, name := range []string{"namespace", "tweakListOptions"} {
		if field, ok := v.Type().FieldByName(name); !ok || len(field.Index) > 1 {
			return "", nil, false
		}
	}
	known = readField(v, "namespace", &namespace)
	f, function := v.FieldByName("tweakListOptions"), reflect.TypeFor[func(*metav1.ListOptions)]()
	if !f.Type().ConvertibleTo(function) { // from a type of the clientset's
		return namespace, nil, false
	}
	tweakListOptions, _ = reflect.TypeAssert[func(*metav1.ListOptions)](accessible(f).Convert(function))
	return namespace, tweakListOptions, known
}

// InformerFor returns the informer of the generated factory for objects of obj's type. If there is
// none, it makes one with newFunc and replaces it as [Adopt] does. The client that newFunc receives
// is a copy of the factory's, by which the informer streams; see [Options].DisableStreaming.
func (f *GeneratedFactory[Client, NewFunc]) InformerFor(obj runtime.Object, newFunc NewFunc) clientcache.SharedIndexInformer {
	return f.informerFor(obj, newFunc, true)
}

// informerFor implements InformerFor. unchanged says that the informer's functions are known to
// return the server's response. Otherwise newFunc receives the factory's own client.
func (f *GeneratedFactory[Client, NewFunc]) informerFor(obj runtime.Object, newFunc NewFunc, unchanged bool) clientcache.SharedIndexInformer {
	f.warnOnce()
	if f.options.usesClientGo() {
		return f.factory.InformerFor(obj, newFunc)
	}
	informer := f.factory.InformerFor(obj, func(client Client, resyncPeriod time.Duration) clientcache.SharedIndexInformer {
		more := settings{Options: f.options, unchanged: unchanged}
		if unchanged {
			client, more.tap = withTap(client, f.options)
		}
		return adopt(newFunc(client, resyncPeriod), more)
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
// nil if the factory was made by a version of code-generator without such names.
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
