// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
)

// The defaults of kube-controller-manager's flags.
const (
	workers           = 5
	gcWorkers         = 20
	gcPeriod          = 30 * time.Second
	burstReplicas     = replicaset.BurstReplicas
	endpointsPerSlice = 100
)

// startControllers starts controllers in the order of kube-controller-manager: it creates them,
// runs them, starts the informers, and returns once these have synced.
func startControllers(ctx context.Context, config *rest.Config, f *factories, running *sync.WaitGroup) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a clientset: %w", err)
	}
	factory, metadataFactory := f.typed(trim), f.metadata(trim)
	informersStarted := make(chan struct{})
	collector, err := garbageCollector(ctx, config, client, informerfactory.NewInformerFactory(factory, metadataFactory), informersStarted)
	if err != nil {
		return err
	}
	controllers, err := workloadControllers(ctx, client, factory)
	if err != nil {
		return err
	}
	for _, run := range append(controllers, collector...) {
		running.Go(func() { run(ctx) })
	}
	factory.Start(ctx.Done())
	metadataFactory.Start(ctx.Done())
	close(informersStarted)
	running.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
		metadataFactory.Shutdown()
	})
	return checkSynced(factory.WaitForCacheSync(ctx.Done()))
}

// checkSynced returns an error that names an informer that has not synced.
func checkSynced[K comparable](informers map[K]bool) error {
	for name, ok := range informers {
		if !ok {
			return fmt.Errorf("sync caches: the informer of %v has not synced", name)
		}
	}
	return nil
}

// workloadControllers returns the Run functions of the controllers.
func workloadControllers(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) ([]func(context.Context), error) {
	apps, core := factory.Apps().V1(), factory.Core().V1()
	replicaSets := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), client, burstReplicas)
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), client)
	if err != nil {
		return nil, fmt.Errorf("create the Deployment controller: %w", err)
	}
	jobs, err := job.NewController(ctx, client, core.Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create the Job controller: %w", err)
	}
	slices := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), factory.Discovery().V1().EndpointSlices(),
		endpointsPerSlice, client, 0)
	return []func(context.Context){
		func(ctx context.Context) { replicaSets.Run(ctx, workers) },
		func(ctx context.Context) { deployments.Run(ctx, workers) },
		func(ctx context.Context) { jobs.Run(ctx, workers) },
		func(ctx context.Context) { slices.Run(ctx, workers) },
	}, nil
}

// garbageCollector returns the functions that run the garbage collector.
func garbageCollector(
	ctx context.Context, config *rest.Config, client kubernetes.Interface,
	factory informerfactory.InformerFactory, informersStarted <-chan struct{},
) ([]func(context.Context), error) {
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a metadata client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a discovery client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discoveryClient))
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper,
		garbagecollector.DefaultIgnoredResources(), factory, informersStarted)
	if err != nil {
		return nil, fmt.Errorf("create the garbage collector: %w", err)
	}
	return []func(context.Context){
		func(ctx context.Context) {
			wait.UntilWithContext(ctx, func(context.Context) { mapper.Reset() }, gcPeriod)
		},
		func(ctx context.Context) { collector.Run(ctx, gcWorkers, gcPeriod) },
		func(ctx context.Context) { collector.Sync(ctx, discoveryClient, gcPeriod) },
	}, nil
}
