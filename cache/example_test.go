package cache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example runs an informer of the Nodes of a fake clientset.
func ExampleNewInformer() {
	client := clientset.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	joined := make(chan string)
	store, controller := cache.NewInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, 0,
		cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc: func(node *corev1.Node) { joined <- node.Name },
		})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- controller.Run(ctx) }()
	fmt.Println("joined:", <-joined)
	if err := controller.WaitForSync(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("nodes:", store.ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// joined: node-1
	// nodes: [node-1]
	// stopped: <nil>
}

// This example leaves managedFields and environment variables out of the cached Pods.
func ExampleInformerOptions_omitFields() {
	pods := fake.NewListerWatcher(&corev1.Pod{})
	pods.Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}},
		Spec: corev1.PodSpec{
			NodeName:   "node-1",
			Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "TOKEN", Value: "secret"}}}},
		},
	})
	informer := cache.NewSharedInformer(pods, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		OmitFields: []string{"metadata.managedFields", "spec.containers.env"},
		ReadOnly:   true, // an Update of a cached Pod would delete its environment
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- informer.Run(ctx) }()
	err := informer.WaitForSync(ctx)
	web, _ := informer.Store().GetByKey("web")
	fmt.Println(web.Spec.NodeName, web.Spec.Containers[0].Name, web.Spec.Containers[0].Env, web.ManagedFields, err)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 app [] [] <nil>
	// stopped: <nil>
}

// This example is a controller that receives keys and reads objects with a Lister.
func ExampleSharedInformer() {
	client := clientset.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	pods := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Pods("")), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)},
	})
	queue := make(chan string, 1)
	_, err := pods.AddKeyHandler(func(event cache.KeyEvent) { queue <- event.Key }, cache.HandlerOptions{})

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	fmt.Println(<-queue, err)
	lister := cache.NewLister(pods.Store(), corev1.Resource("pods"))
	fmt.Println(len(lister.Namespace("default").List(nil)), "in the namespace; synced:", pods.WaitForSync(ctx))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// default/web <nil>
	// 1 in the namespace; synced: <nil>
	// stopped: <nil>
}

// This example feeds the work queue of a controller, which reads the latest state of each key.
func ExampleSharedInformer_AddKeyHandler() {
	client := clientset.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}})
	nodes := cache.NewSharedInformer(cache.ListWatchOf(client.CoreV1().Nodes()), &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	queue := make(chan string, 1)
	if _, err := nodes.AddKeyHandler(func(event cache.KeyEvent) { queue <- event.Key }, cache.HandlerOptions{}); err != nil {
		fmt.Println(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()
	lister := cache.NewLister(nodes.Store(), corev1.Resource("nodes"))
	node, err := lister.Get(<-queue)
	fmt.Println(node.Name, err)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// node-1 <nil>
	// stopped: <nil>
}

// This example waits until the store has an object that the program has written.
func ExampleSharedInformer_WaitForObject() {
	server := fake.NewListerWatcher(&corev1.Node{})
	nodes := cache.NewSharedInformer(server, &corev1.Node{}, cache.InformerOptions[*corev1.Node]{})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- nodes.Run(ctx) }()

	written := server.Create(node("node-1", "a"))
	if err := nodes.WaitForObject(ctx, written); err != nil {
		fmt.Println(err)
	}
	fmt.Println(nodes.Store().ListKeys())
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// [node-1]
	// stopped: <nil>
}

func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// This example keeps a Store equal to a collection, without handlers.
func ExampleReflector() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))

	store := cache.NewStore[*corev1.Node](nil, nil)
	reflector := cache.NewReflector(server, &corev1.Node{}, store, cache.ReflectorOptions{})
	server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()}) // ListAndWatch returns this error
	err := reflector.ListAndWatch(context.Background())
	fmt.Println("error:", err)
	fmt.Println("stored:", store.ListKeys(), "at", reflector.LastSyncResourceVersion())
	// Output:
	// error: watch: too old resource version: 1 (2)
	// stored: [node-1] at 2
}

// This example prints the whole content of a store after each change.
func ExampleUndeltaStore() {
	store := cache.NewUndeltaStore(func(pods []*corev1.Pod) {
		var names []string
		for _, pod := range pods {
			names = append(names, pod.Name)
		}
		slices.Sort(names)
		fmt.Println("now:", names)
	}, nil)
	named := func(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	for _, err := range []error{
		store.Replace([]*corev1.Pod{named("etcd"), named("apiserver")}, ""),
		store.Add(named("scheduler")),
		store.Delete(named("etcd")),
	} {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// now: [apiserver etcd]
	// now: [apiserver etcd scheduler]
	// now: [apiserver scheduler]
}

// This example reads a Snapshot, which is sorted by key and which later changes do not affect.
func ExampleSnapshot() {
	store := cache.NewStore[*corev1.Node](nil, nil)
	if err := store.Replace([]*corev1.Node{node("node-2", "east"), node("node-1", "west")}, "7"); err != nil {
		fmt.Println(err)
	}
	snapshot := store.Snapshot()
	if err := store.Delete(node("node-1", "west")); err != nil {
		fmt.Println(err)
	}
	for key, node := range snapshot.All() {
		fmt.Println(key, "in", node.Labels[corev1.LabelTopologyZone])
	}
	fmt.Println("snapshot at", snapshot.ResourceVersion(), "has", snapshot.Len(), "and the store has", store.Len())
	// Output:
	// node-1 in west
	// node-2 in east
	// snapshot at 7 has 2 and the store has 1
}

// This example finds the Nodes of a zone with an index.
func ExampleIndexers() {
	store := cache.NewStore(nil, cache.Indexers[*corev1.Node]{
		"zone": cache.ByObject(func(node *corev1.Node) ([]string, error) {
			return []string{node.Labels[corev1.LabelTopologyZone]}, nil
		}),
	})
	if err := store.Replace([]*corev1.Node{node("node-1", "west"), node("node-2", "east"), node("node-3", "west")}, ""); err != nil {
		fmt.Println(err)
	}
	keys, err := store.IndexKeys("zone", "west")
	slices.Sort(keys)
	fmt.Println(keys, err)
	_, err = store.ByIndex("region", "west")
	fmt.Println("unknown index:", err != nil)
	// Output:
	// [node-1 node-3] <nil>
	// unknown index: true
}

// This example handles the Nodes of one zone. A Node that leaves the zone is a deletion.
func ExampleFilteringResourceEventHandler() {
	events := make(chan string)
	handler := cache.FilteringResourceEventHandler[*corev1.Node]{
		FilterFunc: func(node *corev1.Node) bool { return strings.HasPrefix(node.Labels[corev1.LabelTopologyZone], "west") },
		Handler: cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc:    func(node *corev1.Node) { events <- "added " + node.Name },
			DeleteFunc: func(node *corev1.Node) { events <- "deleted " + node.Name },
		},
	}
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "east"))
	server.Create(node("node-2", "west"))
	_, controller := cache.NewInformer(server, &corev1.Node{}, 0, handler)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- controller.Run(ctx) }()
	fmt.Println(<-events)
	server.Update(node("node-2", "east"))
	fmt.Println(<-events)
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// added node-2
	// deleted node-2
	// stopped: <nil>
}
