// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/footprint"
)

// storages returns the storage of the sides that are a SharedInformer.
func storages() map[string]footprint.Storage {
	managedFields := []string{"metadata.managedFields"}
	return map[string]footprint.Storage{
		Kinformer:      {},
		ShareEqual:     {ShareEqual: true},
		Packed:         {Packed: true},
		Omitting:       {OmitFields: managedFields},
		OmittingPacked: {Packed: true, OmitFields: managedFields},
	}
}

// newStrippingFactory returns client-go's factory with a transform that clears managedFields.
func newStrippingFactory(client kubernetes.Interface) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(obj any) (any, error) {
		if object, ok := obj.(metav1.Object); ok {
			object.SetManagedFields(nil)
		}
		return obj, nil
	}))
}

// resource returns the resource and the kind of the objects.
func (job FootprintJob) resource() (schema.GroupVersionResource, string, error) {
	switch job.Kind {
	case Pods:
		return schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", nil
	case Nodes:
		return schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "Node", nil
	case CustomResources:
		return dataset.CustomResourceResource(), dataset.CustomResourceKind().Kind, nil
	default:
		return schema.GroupVersionResource{}, "", fmt.Errorf("unknown kind %q", job.Kind)
	}
}

// informer returns the side's informer. It does not run yet.
func (job FootprintJob) informer() (*footprint.Informer, error) {
	resource, kind, err := job.resource()
	if err != nil {
		return nil, err
	}
	config := Server{URL: job.URL}.config()
	switch job.Side {
	case ClientGo:
		return footprint.ClientGo(config, resource, kind)
	case ClientGoStripped:
		return fromFactory(config, newStrippingFactory, resource)
	case Adapter, AdapterPacked:
		cache.EnableStreaming(config)
		return fromFactory(config, newAdapterFactory(clientgo.Options{Packed: job.Side == AdapterPacked}), resource)
	}
	storage, ok := storages()[job.Side]
	if !ok {
		return nil, fmt.Errorf("unknown side %q", job.Side)
	}
	return footprint.Kinformer(config, resource, kind, storage)
}

// fromFactory returns a factory's informer of a generated type.
func fromFactory(config *rest.Config, factory factory, resource schema.GroupVersionResource) (*footprint.Informer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	generic, err := factory(clientset).ForResource(resource)
	if err != nil {
		return nil, err
	}
	return footprint.FromClientGo(generic.Informer())
}
