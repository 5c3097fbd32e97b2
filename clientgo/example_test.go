package clientgo_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
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
		panic(err)
	}
	for _, name := range []string{"web-0", "web-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"}}}
		if err := server.Create(pod); err != nil {
			panic(err)
		}
	}
	return server.Config(), func() { _ = server.Close(context.Background()) }
}

// fast are the options of the examples: objects are read from the response as it arrives, and kept
// as bytes.
var fast = clientgo.Options{Streaming: true, Packed: true}

// A program replaces informers.NewSharedInformerFactory by this function.
func ExampleNewSharedInformerFactory() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)

	factory := clientgo.NewSharedInformerFactory(clientset, clientgo.FactoryOptions{Options: fast})

	pods := factory.Core().V1().Pods().Lister()
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	factory.WaitForCacheSyncWithContext(ctx)
	pod, err := pods.Pods("default").Get("web-0")
	fmt.Println(pod.Name, err)
	cancel()
	factory.Shutdown()
	// Output: web-0 <nil>
}

// A generated lister reads from the indexer.
func ExampleNewIndexer() {
	indexer := clientgo.NewIndexer(clientcache.MetaNamespaceKeyFunc, clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc})

	pods := corelisters.NewPodLister(indexer)

	_ = indexer.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}})
	list, err := pods.Pods("default").List(labels.Everything())
	fmt.Println(len(list), err)
	// Output: 1 <nil>
}

// The factory has the interface of package dynamicinformer.
func ExampleNewDynamicSharedInformerFactory() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	client := dynamic.NewForConfigOrDie(config)

	factory := clientgo.NewDynamicSharedInformerFactory(client, clientgo.FactoryOptions{Options: fast})

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
func ExampleNewMetadataSharedInformerFactory() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	client := metadata.NewForConfigOrDie(config)

	factory := clientgo.NewMetadataSharedInformerFactory(client, clientgo.FactoryOptions{Options: fast})

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
func ExampleNewSharedIndexInformerWithOptions() {
	config, closeServer := cluster()
	defer closeServer()
	cache.EnableStreaming(config)
	clientset := kubernetes.NewForConfigOrDie(config)
	pods := clientcache.NewListWatchFromClient(clientset.CoreV1().RESTClient(), "pods", "default", fields.Everything())

	informer := clientgo.NewSharedIndexInformerWithOptions(pods, &corev1.Pod{}, fast)

	handle, _ := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { fmt.Println("added", obj.(*corev1.Pod).Name) },
	})
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
