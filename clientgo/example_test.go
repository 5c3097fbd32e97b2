// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"flag"
	"fmt"
	"log"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/fake"
)

// cluster starts a server with the Pods web-0 and web-1. It returns a client config for it.
func cluster() (config *rest.Config, closeServer func()) {
	server, err := fake.StartAPIServer(fake.APIServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"web-0", "web-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}}}
		if err := server.Create(pod); err != nil {
			log.Fatal(err)
		}
	}
	return server.Config(), func() { _ = server.Close(context.Background()) }
}

// A variable replaces an import, and the calls remain as they are.
func ExampleWith() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)

	informers := clientgo.With(clientgo.Options{Packed: true})
	factory := informers.NewSharedInformerFactory(clientset, 0)

	pods := factory.Core().V1().Pods().Lister()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	pod, err := pods.Pods("default").Get("web-0")
	fmt.Println(pod.Name, err)
	cancel()
	factory.Shutdown()
	// Output: web-0 <nil>
}

// A flag of the program is the way back to client-go's informers. The rest of the program does not
// change.
func ExampleOptions_useClientGo() {
	config, closeServer := cluster()
	defer closeServer()
	client := kubernetes.NewForConfigOrDie(config)
	flags := flag.NewFlagSet("program", flag.ExitOnError)
	useClientGo := flags.Bool("client-go-informers", false, "use client-go's informers instead of kinformer's")
	_ = flags.Parse([]string{"--client-go-informers"}) // or os.Args[1:]

	informers := clientgo.With(clientgo.Options{UseClientGo: *useClientGo})
	factory := informers.NewSharedInformerFactory(client, 10*time.Hour)

	pods := factory.Core().V1().Pods()
	informer := pods.Informer()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	list, err := pods.Lister().List(labels.Everything())
	fmt.Println(len(list), err)
	fmt.Println("kinformer's:", clientgo.StatusOf(informer).Phase != cache.PhaseInvalid)
	cancel()
	factory.Shutdown()
	// Output:
	// 2 <nil>
	// kinformer's: false
}

// Options apply to every informer of a factory. These store the Pods that have not failed as bytes,
// without managedFields, and let a handler that is far behind receive coalesced updates.
func ExampleOptions() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)

	informers := clientgo.With(clientgo.Options{
		Packed:             true,
		OmitFields:         []string{"metadata.managedFields"},
		CoalesceWhenBehind: true,
		Filter: func(obj any) bool {
			pod, ok := obj.(*corev1.Pod)
			return !ok || pod.Status.Phase != corev1.PodFailed
		},
	})
	factory := informers.NewSharedInformerFactory(clientset, 0)

	pods := factory.Core().V1().Pods().Lister()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	list, err := pods.List(labels.Everything())
	fmt.Println(len(list), err)
	cancel()
	factory.Shutdown()
	// Output: 2 <nil>
}

// A generated lister reads from the indexer.
func ExampleConstructors_NewIndexer() {
	indexer := clientgo.With(clientgo.Options{}).NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})

	pods := corelisters.NewPodLister(indexer)

	if err := indexer.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}}); err != nil {
		log.Fatal(err)
	}
	list, err := pods.Pods("default").List(labels.Everything())
	fmt.Println(len(list), err)
	// Output: 1 <nil>
}

// The factory has the interface of package dynamicinformer.
func ExampleConstructors_NewDynamicSharedInformerFactory() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	client := dynamic.NewForConfigOrDie(config)

	informers := clientgo.With(clientgo.Options{Packed: true})
	factory := informers.NewDynamicSharedInformerFactory(client, 0)

	pods := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Lister()
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	list, err := pods.ByNamespace("default").List(labels.SelectorFromSet(labels.Set{"app": "web"}))
	fmt.Println(len(list), err)
	close(stop)
	factory.Shutdown()
	// Output: 2 <nil>
}

// The factory has the interface of package metadatainformer.
func ExampleConstructors_Metadata() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	client := metadata.NewForConfigOrDie(config)

	informers := clientgo.With(clientgo.Options{Packed: true})
	factory := informers.Metadata().NewSharedInformerFactory(client, 0)

	pods := factory.ForResource(corev1.SchemeGroupVersion.WithResource("pods")).Lister()
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	list, err := pods.List(labels.Everything())
	fmt.Println(len(list), err)
	close(stop)
	factory.Shutdown()
	// Output: 2 <nil>
}

// A program runs a single informer with a handler.
func ExampleConstructors_NewSharedIndexInformer() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "default", fields.Everything())

	informer := clientgo.With(clientgo.Options{Packed: true, Streaming: true}).NewSharedIndexInformer(pods, &corev1.Pod{}, 0, clientcache.Indexers{})

	handle, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { fmt.Println("added", obj.(*corev1.Pod).Name) },
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		informer.RunWithContext(ctx)
	}()
	<-handle.HasSyncedChecker().Done()
	cancel()
	<-stopped
	// Unordered output:
	// added web-0
	// added web-1
}

// A controller fills a store and calls one handler.
func ExampleConstructors_NewInformerWithOptions() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)

	store, controller := clientgo.With(clientgo.Options{Streaming: true}).NewInformerWithOptions(clientcache.InformerOptions{
		ListerWatcher: clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "default", fields.Everything()),
		ObjectType:    &corev1.Pod{},
		Handler: clientcache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { fmt.Println("added", obj.(*corev1.Pod).Name) },
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		controller.RunWithContext(ctx)
	}()
	<-controller.HasSyncedChecker().Done()
	fmt.Println("stored", len(store.List()))
	cancel()
	<-stopped
	// Unordered output:
	// added web-0
	// added web-1
	// stored 2
}

// A reflector writes to a store of the program.
func ExampleConstructors_NewReflector() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "default", fields.Everything())

	ctx, cancel := context.WithCancel(context.Background())
	store := clientcache.NewUndeltaStore(func(objs []any) {
		fmt.Println(len(objs), "Pods")
		cancel() // a program would go on
	}, clientcache.MetaNamespaceKeyFunc)
	reflector := clientgo.With(clientgo.Options{Streaming: true}).NewReflector(pods, &corev1.Pod{}, store, 0)
	reflector.RunWithContext(ctx)
	// Output: 2 Pods
}

// A factory holds the objects of some namespaces only, which may change while its informers run.
// The function returns nil for types without namespaces.
func ExampleOptions_scopes() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	if _, err := clientset.CoreV1().Pods("other").Create(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "api-0"}}, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}

	namespaces := cache.NewScopes(cache.Scope{Namespace: "default"})
	informers := clientgo.With(clientgo.Options{Scopes: func(example runtime.Object) *cache.Scopes {
		switch example.(type) {
		case *corev1.Node, *corev1.Namespace:
			return nil
		}
		return namespaces
	}})
	factory := informers.NewSharedInformerFactory(clientset, 0)

	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes().Lister()
	deleted := make(chan any)
	if _, err := pods.Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		DeleteFunc: func(obj any) { deleted <- obj },
	}); err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		log.Fatal(err)
	}
	list, err := pods.Lister().List(labels.Everything())
	fmt.Println(len(list), err)
	if err := namespaces.Set(cache.Scope{Namespace: "other"}); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		fmt.Printf("%T\n", <-deleted)
	}
	_, err = nodes.List(labels.Everything())
	fmt.Println(err)
	cancel()
	factory.Shutdown()
	// Output:
	// 2 <nil>
	// *v1.Pod
	// *v1.Pod
	// <nil>
}
