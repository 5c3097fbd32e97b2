// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/cache"
)

// widgetClient returns a client of the group example.com, which decodes Widgets into the Go type.
func widgetClient(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.APIPath, config.GroupVersion = "/apis", &widgetVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(newScheme()).WithoutConversion()
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent() // as the constructors of clientsets do
	}
	return rest.RESTClientFor(config)
}

// typedInformer returns an informer whose objects are Widgets.
func typedInformer(client rest.Interface) *cache.SharedInformer[*Widget] {
	widgets := cache.NewListWatchFromClient(client, "widgets", metav1.NamespaceAll, nil)
	return cache.NewSharedInformer(widgets, &Widget{}, cache.InformerOptions[*Widget]{Name: "typed Widgets"})
}

// unstructuredInformer returns an informer whose objects are maps. The example states their kind.
func unstructuredInformer(config *rest.Config) (*cache.SharedInformer[*unstructured.Unstructured], error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(widgetVersion.WithKind("Widget"))
	widgets := cache.ListWatchOf(client.Resource(widgetVersion.WithResource("widgets")))
	return cache.NewSharedInformer(widgets, example, cache.InformerOptions[*unstructured.Unstructured]{Name: "unstructured Widgets"}), nil
}
