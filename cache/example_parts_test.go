package cache_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func node(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}}}
}

// A Reflector keeps a Store equal to a collection, without handlers.
func ExampleReflector() {
	server := fake.NewListerWatcher(&corev1.Node{})
	server.Create(node("node-1", "west"))

	store := cache.NewStore[*corev1.Node](nil, nil)
	reflector := cache.NewReflector(server, &corev1.Node{}, store, cache.ReflectorOptions{})
	server.InjectWatchFault(1, fake.Fault{Err: fake.Expired()}) // so that the example ends
	err := reflector.ListAndWatch(context.Background())
	fmt.Println("ended:", err)
	fmt.Println("holds:", store.ListKeys(), "at", reflector.LastSyncResourceVersion())
	// Output:
	// ended: watch: too old resource version: 1 (2)
	// holds: [node-1] at 2
}

// An UndeltaStore tells the whole content after each change.
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

// A Snapshot shows one moment, in the order of the keys, and stays as it is.
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
	fmt.Println("at", snapshot.ResourceVersion(), "there were", snapshot.Len(), "and now", store.Len())
	// Output:
	// node-1 in west
	// node-2 in east
	// at 7 there were 2 and now 1
}

// An index by zone finds the Nodes of a zone.
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
	fmt.Println("an index that there is not:", err != nil)
	// Output:
	// [node-1 node-3] <nil>
	// an index that there is not: true
}

// A FilteringResourceEventHandler is told of some of the objects: here, of those that
// are in the west, as long as they are.
func ExampleFilteringResourceEventHandler() {
	events := make(chan string)
	handler := cache.FilteringResourceEventHandler[*corev1.Node]{
		FilterFunc: func(node *corev1.Node) bool { return strings.HasPrefix(node.Labels[corev1.LabelTopologyZone], "west") },
		Handler: cache.ResourceEventHandlerFuncs[*corev1.Node]{
			AddFunc:    func(node *corev1.Node) { events <- "came " + node.Name },
			DeleteFunc: func(node *corev1.Node) { events <- "went " + node.Name },
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
	// came node-2
	// went node-2
	// stopped: <nil>
}
