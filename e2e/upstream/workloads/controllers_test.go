// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// collected are the resources that the garbage collector watches: those of the programs.
func collected() []string {
	return []string{"configmaps", "pods", "persistentvolumeclaims", "deployments", "replicasets", "statefulsets", "controllerrevisions", "jobs"}
}

// never is longer than a program takes.
const never = 1000 * time.Hour

// runControllers runs the controllers of Kubernetes until ctx ends.
func runControllers(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	apps, core := factory.Apps().V1(), factory.Core().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), client)
	if err != nil {
		return fmt.Errorf("create the Deployment controller: %w", err)
	}
	jobs, err := job.NewController(ctx, client, core.Pods(), factory.Batch().V1().Jobs(), nil, nil)
	if err != nil {
		return fmt.Errorf("create the Job controller: %w", err)
	}
	replicaSets := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), client, replicaset.BurstReplicas)
	statefulSets := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client)
	var running sync.WaitGroup
	for _, run := range []func(context.Context, int){deployments.Run, jobs.Run, replicaSets.Run, statefulSets.Run} {
		running.Go(func() { run(ctx, 1) })
	}
	if err := runGarbageCollector(ctx, config, client, factory, &running); err != nil {
		return err
	}
	running.Wait()
	factory.Shutdown()
	return nil
}

// runGarbageCollector starts the garbage collector and all informers.
func runGarbageCollector(ctx context.Context, config *rest.Config, client kubernetes.Interface, factory informers.SharedInformerFactory, running *sync.WaitGroup) error {
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	resources, err := garbagecollector.GetDeletableResources(logr.Discard(), client.Discovery())
	if err != nil {
		return fmt.Errorf("discover resources: %w", err)
	}
	ignored := map[schema.GroupResource]struct{}{}
	for resource := range resources {
		ignored[resource.GroupResource()] = struct{}{}
	}
	for _, name := range collected() {
		for resource := range resources {
			if resource.Resource == name {
				delete(ignored, resource.GroupResource())
			}
		}
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	partial := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	started := make(chan struct{})
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, metadataClient, mapper, ignored, informerfactory.NewInformerFactory(factory, partial), started)
	if err != nil {
		return fmt.Errorf("create the garbage collector: %w", err)
	}
	running.Go(func() { collector.Run(ctx, 1, never) })
	running.Go(func() { collector.Sync(ctx, discovery.ServerResourcesInterface(client.Discovery()), never) })
	factory.Start(ctx.Done())
	partial.Start(ctx.Done())
	close(started)
	running.Go(func() {
		<-ctx.Done()
		partial.Shutdown()
	})
	return nil
}
