// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"
)

// NewDynamicSharedInformerFactory replaces the function of package dynamicinformer. It returns a
// factory of informers of unstructured objects.
func (c Constructors) NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) dynamicinformer.DynamicSharedInformerFactory {
	return c.NewFilteredDynamicSharedInformerFactory(client, defaultResync, metav1.NamespaceAll, nil)
}

// NewFilteredDynamicSharedInformerFactory replaces the function of package dynamicinformer. See
// [Constructors.NewDynamicSharedInformerFactory].
func (c Constructors) NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions dynamicinformer.TweakListOptionsFunc) dynamicinformer.DynamicSharedInformerFactory {
	return newResourceFactory(func(resource schema.GroupVersionResource) informers.GenericInformer {
		return c.NewFilteredDynamicInformer(client, resource, namespace, defaultResync, byNamespace(), tweakListOptions)
	})
}

// NewFilteredDynamicInformer replaces the function of package dynamicinformer. It returns an
// informer of unstructured objects.
func (c Constructors) NewFilteredDynamicInformer(client dynamic.Interface, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions dynamicinformer.TweakListOptionsFunc) informers.GenericInformer {
	lw := newListerWatcher[*unstructured.UnstructuredList](client.Resource(resource).Namespace(namespace), client, tweakListOptions)
	informer := newInformer(lw, &unstructured.Unstructured{}, c.resourceSettings(resource, resyncPeriod, indexers))
	return &genericInformer{informer, func() clientcache.GenericLister {
		return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(informer.GetIndexer(), resource))
	}}
}
