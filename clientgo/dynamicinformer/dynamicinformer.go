// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package dynamicinformer has the exported names of client-go's package dynamic/dynamicinformer.
// Its factories make informers of package [clientgo] with the zero [clientgo.Options]. A program
// changes its import:
//
//	import "k8s.io/client-go/dynamic/dynamicinformer"               // before
//	import "github.com/kinformer/kinformer/clientgo/dynamicinformer" // after
//
// For other options, see [clientgo.With].
package dynamicinformer

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientdynamicinformer "k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// Types of client-go.
type (
	DynamicSharedInformerFactory = clientdynamicinformer.DynamicSharedInformerFactory
	TweakListOptionsFunc         = clientdynamicinformer.TweakListOptionsFunc
)

// NewDynamicSharedInformerFactory calls [clientgo.Constructors.NewDynamicSharedInformerFactory].
func NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) clientdynamicinformer.DynamicSharedInformerFactory {
	return clientgo.With(clientgo.Options{}).NewDynamicSharedInformerFactory(client, defaultResync)
}

// NewFilteredDynamicSharedInformerFactory calls
// [clientgo.Constructors.NewFilteredDynamicSharedInformerFactory].
func NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions clientdynamicinformer.TweakListOptionsFunc) clientdynamicinformer.DynamicSharedInformerFactory {
	return clientgo.With(clientgo.Options{}).NewFilteredDynamicSharedInformerFactory(client, defaultResync, namespace, tweakListOptions)
}

// NewFilteredDynamicInformer calls [clientgo.Constructors.NewFilteredDynamicInformer].
func NewFilteredDynamicInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions clientdynamicinformer.TweakListOptionsFunc) informers.GenericInformer {
	return clientgo.With(clientgo.Options{}).NewFilteredDynamicInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)
}
