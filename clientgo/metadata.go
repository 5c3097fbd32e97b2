// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Metadata returns client-go's constructors of package metadata/metadatainformer.
func (c Constructors) Metadata() MetadataConstructors { return MetadataConstructors{c} }

// MetadataConstructors has the functions of client-go's package metadata/metadatainformer as
// methods, with the same signatures. They make this package's informers. It is a type of its own,
// as some of the names are also those of functions of package informers.
type MetadataConstructors struct{ constructors Constructors }

// NewSharedInformerFactory replaces the function of package metadatainformer. It returns a factory
// of informers of the metadata of objects.
func (c MetadataConstructors) NewSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) metadatainformer.SharedInformerFactory {
	return c.newFactory(client, defaultResync, metav1.NamespaceAll, nil, nil)
}

// NewFilteredSharedInformerFactory replaces the function of package metadatainformer. See
// [MetadataConstructors.NewSharedInformerFactory].
func (c MetadataConstructors) NewFilteredSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions metadatainformer.TweakListOptionsFunc) metadatainformer.SharedInformerFactory {
	return c.newFactory(client, defaultResync, namespace, tweakListOptions, nil)
}

// NewSharedInformerFactoryWithOptions replaces the function of package metadatainformer. See
// [MetadataConstructors.NewSharedInformerFactory].
func (c MetadataConstructors) NewSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...metadatainformer.SharedInformerOption) metadatainformer.SharedInformerFactory {
	factory := metadatainformer.NewSharedInformerFactoryWithOptions(client, defaultResync, options...)
	var transform clientcache.TransformFunc
	if !readField(reflect.ValueOf(factory).Elem(), "transform", &transform) {
		klog.Background().Info("Warning: factory not adopted: the options of this version of client-go are unknown")
		return factory
	}
	return c.newFactory(client, defaultResync, metav1.NamespaceAll, nil, transform)
}

func (c MetadataConstructors) newFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions metadatainformer.TweakListOptionsFunc, transform clientcache.TransformFunc) metadatainformer.SharedInformerFactory {
	return newResourceFactory(func(resource schema.GroupVersionResource) informers.GenericInformer {
		generic := c.NewFilteredMetadataInformer(client, resource, namespace, defaultResync, byNamespace(), tweakListOptions)
		_ = generic.Informer().SetTransform(transform) // fails only after Run
		return generic
	})
}

// WithTransform returns the option of package metadatainformer.
func (c MetadataConstructors) WithTransform(transform clientcache.TransformFunc) metadatainformer.SharedInformerOption {
	return metadatainformer.WithTransform(transform)
}

// NewFilteredMetadataInformer replaces the function of package metadatainformer. It returns an
// informer of the metadata of objects.
func (c MetadataConstructors) NewFilteredMetadataInformer(client metadata.Interface, resource schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers clientcache.Indexers, tweakListOptions metadatainformer.TweakListOptionsFunc) informers.GenericInformer {
	lw := newListerWatcher[*metav1.PartialObjectMetadataList](client.Resource(resource).Namespace(namespace), client, tweakListOptions)
	informer := newInformer(lw, &metav1.PartialObjectMetadata{}, c.constructors.resourceSettings(resource, resyncPeriod, indexers))
	return &genericInformer{informer, func() clientcache.GenericLister {
		return metadatalister.NewRuntimeObjectShim(metadatalister.New(informer.GetIndexer(), resource))
	}}
}
