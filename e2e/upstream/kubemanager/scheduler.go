// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
)

// startScheduler starts a scheduler as kube-scheduler does.
func startScheduler(ctx context.Context, config *rest.Config, f *factories, running *sync.WaitGroup) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a clientset: %w", err)
	}
	broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, client)
	factory, custom := f.typed(nil), f.dynamic()
	createPodInformer(factory)
	subject, err := kubescheduler.New(ctx, client, factory, custom, func(name string) events.EventRecorderLogger {
		return broadcaster.NewRecorder(name)
	})
	if err != nil {
		return fmt.Errorf("create the scheduler: %w", err)
	}
	broadcaster.StartRecordingToSink(ctx.Done())
	factory.Start(ctx.Done())
	custom.Start(ctx.Done())
	running.Go(func() {
		<-ctx.Done()
		broadcaster.Shutdown()
		factory.Shutdown()
		custom.Shutdown()
	})
	if err := checkSynced(factory.WaitForCacheSync(ctx.Done())); err != nil {
		return err
	}
	if err := checkSynced(custom.WaitForCacheSync(ctx.Done())); err != nil {
		return err
	}
	if err := subject.WaitForHandlersSync(ctx); err != nil {
		return fmt.Errorf("wait for the handlers: %w", err)
	}
	running.Go(func() { subject.Run(ctx) })
	return nil
}

// createPodInformer creates the factory's informer of Pods as scheduler.NewInformerFactory does: of
// Pods that have not terminated, trimmed, and without indexes.
func createPodInformer(factory informers.SharedInformerFactory) {
	running := func(options *metav1.ListOptions) {
		options.FieldSelector = fmt.Sprintf("status.phase!=%s,status.phase!=%s", corev1.PodSucceeded, corev1.PodFailed)
	}
	factory.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resyncPeriod time.Duration) clientcache.SharedIndexInformer {
		informer := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, resyncPeriod, clientcache.Indexers{}, running)
		_ = informer.SetTransform(trim) // returns no error before the start
		return informer
	})
}
