// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"

	adapterdynamic "github.com/kinformer/kinformer/clientgo/dynamicinformer"
	adapterinformers "github.com/kinformer/kinformer/clientgo/informers"
	adaptermetadata "github.com/kinformer/kinformer/clientgo/metadatainformer"
	"github.com/kinformer/kinformer/internal/testing/footprint"
)

// factories are the constructors of factories: those of client-go, or those of package clientgo,
// which have the same types.
type factories struct {
	typed    func(kubernetes.Interface, time.Duration) informers.SharedInformerFactory
	metadata func(metadata.Interface, time.Duration) metadatainformer.SharedInformerFactory
	dynamic  func(dynamic.Interface, time.Duration) dynamicinformer.DynamicSharedInformerFactory
}

func clientGoFactories() factories {
	return factories{informers.NewSharedInformerFactory, metadatainformer.NewSharedInformerFactory, dynamicinformer.NewDynamicSharedInformerFactory}
}

// importedFactories returns the constructors that a program has when it changes its imports.
func importedFactories() factories {
	return factories{adapterinformers.NewSharedInformerFactory, adaptermetadata.NewSharedInformerFactory, adapterdynamic.NewDynamicSharedInformerFactory}
}

// informer returns an informer of a kind of objects, or those of a program.
func (f factories) informer(config *rest.Config, kind string, resource schema.GroupVersionResource) (*footprint.Informer, error) {
	switch kind {
	case MetricsServer:
		return f.metricsServer(config, resource)
	case Descheduler:
		return f.descheduler(config)
	case CustomResources:
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return footprint.FromClientGo(f.dynamic(client, 0).ForResource(resource).Informer())
	default:
		return fromFactory(config, func(client kubernetes.Interface) informers.SharedInformerFactory { return f.typed(client, 0) }, resource)
	}
}

// metricsServer returns the informers of metrics-server: of the metadata of Pods, and of Nodes.
func (f factories) metricsServer(config *rest.Config, pods schema.GroupVersionResource) (*footprint.Informer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes := f.typed(clientset, 0).Core().V1().Nodes().Informer()
	return footprint.FromClientGo(newInformerSet(f.metadata(client, 0).ForResource(pods).Informer(), nodes))
}

// descheduler returns the informers of descheduler.
func (f factories) descheduler(config *rest.Config) (*footprint.Informer, error) {
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	factory := f.typed(clientset, 0)
	core := factory.Core().V1()
	return footprint.FromClientGo(newInformerSet(
		core.Pods().Informer(), core.Nodes().Informer(), core.Namespaces().Informer(), factory.Scheduling().V1().PriorityClasses().Informer()))
}
