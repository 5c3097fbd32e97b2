// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package equal makes an informer with each constructor of client-go's tools/cache, and a factory.
package equal

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientcache "k8s.io/client-go/tools/cache"
)

// Make returns the stores of the informers.
func Make(lw clientcache.ListerWatcher) []clientcache.Store {
	handler := clientcache.ResourceEventHandlerFuncs{}
	identity := func(obj any) (any, error) { return obj, nil }
	shared := clientcache.NewSharedInformer(lw, &corev1.Pod{}, 0)
	indexed := clientcache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, clientcache.Indexers{})
	options := clientcache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, clientcache.SharedIndexInformerOptions{})
	store, _ := clientcache.NewInformer(lw, &corev1.Pod{}, 0, handler)
	indexer, _ := clientcache.NewIndexerInformer(lw, &corev1.Pod{}, 0, handler, clientcache.Indexers{})
	transforming, _ := clientcache.NewTransformingInformer(lw, &corev1.Pod{}, 0, handler, identity)
	transformingIndexer, _ := clientcache.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, handler, clientcache.Indexers{}, identity)
	withOptions, _ := clientcache.NewInformerWithOptions(clientcache.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: handler})
	return []clientcache.Store{
		shared.GetStore(), indexed.GetStore(), options.GetStore(), store, indexer, transforming, transformingIndexer, withOptions,
	}
}

// Factory returns a factory, whose informers stream.
func Factory(client dynamic.Interface) dynamicinformer.DynamicSharedInformerFactory {
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
}
