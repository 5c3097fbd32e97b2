// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

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
		PrefersCBOR:    {},
		ShareEqual:     {ShareEqual: true},
		Packed:         {Packed: true},
		Omitting:       {OmitFields: managedFields},
		OmittingPacked: {Packed: true, OmitFields: managedFields},
	}
}

// partials returns how the sides whose objects are PartialObjects store them, by whether the
// objects have PodFields.
func partials(withFields bool) map[string]footprint.Storage {
	live, shareEqual, packed := Metadata, MetadataShareEqual, MetadataPacked
	if withFields {
		live, shareEqual, packed = Partial, PartialShareEqual, PartialPacked
	}
	return map[string]footprint.Storage{live: {}, shareEqual: {ShareEqual: true}, packed: {Packed: true}}
}

// partialInformer returns an informer of PartialObjects.
func partialInformer[S any](config *rest.Config, storage footprint.Storage) (*footprint.Informer, error) {
	cache.EnableStreaming(config)
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return footprint.FromListWatch(cache.ListWatchOf(clientset.CoreV1().Pods("")), &cache.PartialObject[*corev1.Pod, S]{}, storage)
}

// newTransformingFactory returns client-go's factory with a transform.
func newTransformingFactory(transform clientcache.TransformFunc) factory {
	return func(client kubernetes.Interface) informers.SharedInformerFactory {
		return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(transform))
	}
}

// stripManagedFields is a transform for client-go that clears managedFields.
func stripManagedFields(obj any) (any, error) {
	if object, ok := obj.(metav1.Object); ok {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

// resource returns the resource and the kind of the objects.
func (job FootprintJob) resource() (schema.GroupVersionResource, string, error) {
	switch job.Kind {
	case Pods, MetricsServer, Descheduler:
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
		return clientGoFactories().informer(config, job.Kind, resource)
	case Imported:
		return importedFactories().informer(config, job.Kind, resource)
	case ClientGoStripped:
		return fromFactory(config, newTransformingFactory(stripManagedFields), resource)
	case ClientGoCleared:
		return fromFactory(config, newTransformingFactory(clearOtherFields), resource)
	case Adapter, AdapterPacked:
		cache.EnableStreaming(config)
		return fromFactory(config, newAdapterFactory(clientgo.Options{Packed: job.Side == AdapterPacked}), resource)
	}
	if storage, ok := partials(true)[job.Side]; ok {
		return partialInformer[PodFields](config, storage)
	}
	if storage, ok := partials(false)[job.Side]; ok {
		return partialInformer[struct{}](config, storage)
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
