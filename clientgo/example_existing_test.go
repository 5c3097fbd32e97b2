// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// An informer that generated code has made is replaced before it is started.
func ExampleAdopt() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	indexers := clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc}

	informer := clientgo.Adopt(coreinformers.NewPodInformer(clientset, "default", 0, indexers), clientgo.Options{Packed: true})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	if !clientcache.WaitForNamedCacheSyncWithContext(ctx, informer.HasSynced) {
		log.Fatal(context.Cause(ctx))
	}
	list, err := corelisters.NewPodLister(informer.GetIndexer()).List(labels.Everything())
	fmt.Println(len(list), err)
	cancel()
	<-stopped
	// Output: 2 <nil>
}

// The factory of a clientset that code-generator has made, here client-go's, keeps the informers,
// so that its own accessors and listers return them.
func ExampleGenerated() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	factory := informers.NewSharedInformerFactory(clientset, 0)

	generated := clientgo.Generated(factory, clientgo.Options{Packed: true})
	core.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Pods().Informer()

	pods := factory.Core().V1().Pods()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	list, err := pods.Lister().List(labels.Everything())
	fmt.Println(len(list), err)
	fmt.Println("packed:", clientgo.StatusOf(pods.Informer()).Store.PackedBytes > 0)
	cancel()
	factory.Shutdown()
	// Output:
	// 2 <nil>
	// packed: true
}

// The method is the value of the option NewInformer of controller-runtime's cache:
//
//	cache.Options{NewInformer: clientgo.Options{Packed: true}.NewInformer}
//
// This example calls it as controller-runtime does. e2e/controllerruntime/example_test.go runs a
// manager.
func ExampleOptions_NewInformer() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "default", fields.Everything())

	newInformer := clientgo.Options{Packed: true}.NewInformer
	informer := newInformer(pods, &corev1.Pod{}, 0, clientcache.Indexers{})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	if !clientcache.WaitForNamedCacheSyncWithContext(ctx, informer.HasSynced) {
		log.Fatal(context.Cause(ctx))
	}
	fmt.Println(len(informer.GetStore().ListKeys()), "Pods, streamed:", clientgo.StatusOf(informer).Requests.Streaming)
	cancel()
	<-stopped
	// Output: 2 Pods, streamed: true
}
