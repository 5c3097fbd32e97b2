// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatainformer has the exported names of client-go's package metadata/metadatainformer.
// Its factories make informers of package [clientgo] with the zero [clientgo.Options]. A program
// changes its import:
//
//	import "k8s.io/client-go/metadata/metadatainformer"              // before
//	import "github.com/kinformer/kinformer/clientgo/metadatainformer" // after
//
// For other options, see [clientgo.With] and [clientgo.Constructors.Metadata].
package metadatainformer

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	clientmetadatainformer "k8s.io/client-go/metadata/metadatainformer"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// Types of client-go.
type (
	SharedInformerFactory = clientmetadatainformer.SharedInformerFactory
	SharedInformerOption  = clientmetadatainformer.SharedInformerOption
	TweakListOptionsFunc  = clientmetadatainformer.TweakListOptionsFunc
)

func constructors() clientgo.MetadataConstructors {
	return clientgo.With(clientgo.Options{}).Metadata()
}

// NewSharedInformerFactory calls [clientgo.MetadataConstructors.NewSharedInformerFactory].
func NewSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) clientmetadatainformer.SharedInformerFactory {
	return constructors().NewSharedInformerFactory(client, defaultResync)
}

// NewFilteredSharedInformerFactory calls
// [clientgo.MetadataConstructors.NewFilteredSharedInformerFactory].
func NewFilteredSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions clientmetadatainformer.TweakListOptionsFunc) clientmetadatainformer.SharedInformerFactory {
	return constructors().NewFilteredSharedInformerFactory(client, defaultResync, namespace, tweakListOptions)
}

// NewSharedInformerFactoryWithOptions calls
// [clientgo.MetadataConstructors.NewSharedInformerFactoryWithOptions].
func NewSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...clientmetadatainformer.SharedInformerOption) clientmetadatainformer.SharedInformerFactory {
	return constructors().NewSharedInformerFactoryWithOptions(client, defaultResync, options...)
}

// NewFilteredMetadataInformer calls [clientgo.MetadataConstructors.NewFilteredMetadataInformer].
func NewFilteredMetadataInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions clientmetadatainformer.TweakListOptionsFunc) informers.GenericInformer {
	return constructors().NewFilteredMetadataInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)
}

// WithTransform calls client-go's function.
func WithTransform(transform clientcache.TransformFunc) clientmetadatainformer.SharedInformerOption {
	return clientmetadatainformer.WithTransform(transform)
}
