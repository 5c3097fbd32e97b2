// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

func byMetadata(client metadata.Interface, resource schema.GroupVersionResource) informers.GenericInformer {
	return metadatainformer.NewSharedInformerFactory(client, 0).ForResource(resource)
}

func dynamically(client dynamic.Interface, resource schema.GroupVersionResource) informers.GenericInformer {
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource)
}

func ofOneType(client kubernetes.Interface) cache.SharedIndexInformer {
	return coreinformers.NewPodInformer(client, "", 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
}
