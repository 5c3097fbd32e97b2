// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// The values of the flag --informers.
const (
	informersClientGo  = "client-go"
	informersKinformer = "kinformer"
	informersPacked    = "kinformer-packed"
)

func informerKinds() []string {
	return []string{informersClientGo, informersKinformer, informersPacked}
}

// factories create the informer factories of a program.
type factories struct {
	typed    func(clientcache.TransformFunc) clientinformers.SharedInformerFactory
	metadata func(clientcache.TransformFunc) metadatainformer.SharedInformerFactory
	dynamic  func() dynamicinformer.DynamicSharedInformerFactory
}

// factories returns the factories that the flag selects. Nothing else depends on it.
func (o *options) factories(config *rest.Config) (*factories, error) {
	kinformer := o.informers != informersClientGo
	if kinformer && o.streaming {
		config = rest.CopyConfig(config)
		cache.EnableStreaming(config)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a clientset: %w", err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a dynamic client: %w", err)
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a metadata client: %w", err)
	}
	if kinformer {
		// Streaming, because kube-scheduler lists and watches Pods by functions of its own, which
		// return the server's response.
		return kinformerFactories(typed, objects, partial, clientgo.Options{Packed: o.informers == informersPacked, Streaming: o.streaming}), nil
	}
	return clientGoFactories(typed, objects, partial), nil
}

func clientGoFactories(typed kubernetes.Interface, objects dynamic.Interface, partial metadata.Interface) *factories {
	return &factories{
		typed: func(transform clientcache.TransformFunc) clientinformers.SharedInformerFactory {
			return clientinformers.NewSharedInformerFactoryWithOptions(typed, 0, clientinformers.WithTransform(transform))
		},
		metadata: func(transform clientcache.TransformFunc) metadatainformer.SharedInformerFactory {
			return metadatainformer.NewSharedInformerFactoryWithOptions(partial, 0, metadatainformer.WithTransform(transform))
		},
		dynamic: func() dynamicinformer.DynamicSharedInformerFactory {
			return dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, metav1.NamespaceAll, nil)
		},
	}
}

func kinformerFactories(typed kubernetes.Interface, objects dynamic.Interface, partial metadata.Interface, options clientgo.Options) *factories {
	informers := clientgo.With(options)
	return &factories{
		typed: func(transform clientcache.TransformFunc) clientinformers.SharedInformerFactory {
			return informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithTransform(transform))
		},
		metadata: func(transform clientcache.TransformFunc) metadatainformer.SharedInformerFactory {
			return informers.Metadata().NewSharedInformerFactoryWithOptions(partial, 0, metadatainformer.WithTransform(transform))
		},
		dynamic: func() dynamicinformer.DynamicSharedInformerFactory {
			return informers.NewFilteredDynamicSharedInformerFactory(objects, 0, metav1.NamespaceAll, nil)
		},
	}
}

// trim removes the managedFields, as both programs do.
func trim(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
