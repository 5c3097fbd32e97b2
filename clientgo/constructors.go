// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientcache "k8s.io/client-go/tools/cache"
)

// With returns client-go's constructors with options. A variable with the name of client-go's
// package replaces the import, and the calls remain as they are:
//
//	var informers = clientgo.With(clientgo.Options{Packed: true})
//
//	factory := informers.NewSharedInformerFactory(client, 0)
//
// If a file of the program still imports client-go's package, give the variable another name, or
// make it local.
func With(options Options) Constructors { return Constructors{options} }

// Constructors has the functions of client-go's packages tools/cache, informers and
// dynamic/dynamicinformer as methods, with the same signatures. They make this package's informers.
type Constructors struct{ options Options }

// NewSharedInformer replaces the function of package tools/cache. See
// [Constructors.NewSharedIndexInformer].
func (c Constructors) NewSharedInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) clientcache.SharedInformer {
	return c.NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, clientcache.Indexers{})
}

// NewSharedIndexInformer replaces the function of package tools/cache. It returns an informer of
// lw's objects that is not running. The example states the type of the objects, and the kind of
// unstructured objects; the informer does not keep it.
func (c Constructors) NewSharedIndexInformer(lw clientcache.ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers clientcache.Indexers) clientcache.SharedIndexInformer {
	return c.NewSharedIndexInformerWithOptions(lw, exampleObject, clientcache.SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions replaces the function of package tools/cache. See
// [Constructors.NewSharedIndexInformer].
func (c Constructors) NewSharedIndexInformerWithOptions(lw clientcache.ListerWatcher, exampleObject runtime.Object, options clientcache.SharedIndexInformerOptions) clientcache.SharedIndexInformer {
	return newInformer(lw, exampleObject, settings{SharedIndexInformerOptions: options, Options: c.options})
}

// NewStore replaces the function of package tools/cache. See [Constructors.NewIndexer].
func (c Constructors) NewStore(keyFunc clientcache.KeyFunc, options ...clientcache.StoreOption) clientcache.Store {
	return c.NewIndexer(keyFunc, clientcache.Indexers{}, options...)
}
