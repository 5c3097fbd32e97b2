// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// This example writes to a store and reads from it.
func ExampleStore() {
	store := cache.NewStore[*corev1.Node](nil, nil)
	for _, err := range []error{
		store.Add(node("node-1", "west")),
		store.Update(node("node-1", "east")),
		store.Add(node("node-2", "west")),
		store.Delete(node("node-2", "west")),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	found, exists := store.GetByKey("node-1")
	fmt.Println(found.Labels[corev1.LabelTopologyZone], exists)
	_, exists, err := store.Get(node("node-2", ""))
	fmt.Println(exists, err)
	fmt.Println(store.Len(), "of", len(store.List()))
	// Output:
	// east true
	// false <nil>
	// 1 of 1
}

// This example reads a Snapshot, which is sorted by key and which later changes do not affect.
func ExampleSnapshot() {
	store := cache.NewStore[*corev1.Node](nil, nil)
	if err := store.Replace([]*corev1.Node{node("node-2", "east"), node("node-1", "west")}, "7"); err != nil {
		log.Fatal(err)
	}
	snapshot := store.Snapshot()
	if err := store.Delete(node("node-1", "west")); err != nil {
		log.Fatal(err)
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
		log.Fatal(err)
	}
	keys, err := store.IndexKeys("zone", "west")
	slices.Sort(keys)
	fmt.Println(keys, err)
	east, err := store.ByIndex("zone", "east")
	fmt.Println(len(east), err)
	zones, err := store.Snapshot().ListIndexValues("zone")
	slices.Sort(zones)
	fmt.Println(zones, err)
	_, err = store.ByIndex("region", "west")
	fmt.Println("unknown index:", err != nil)
	// Output:
	// [node-1 node-3] <nil>
	// 1 <nil>
	// [east west] <nil>
	// unknown index: true
}

// This example reads by name and by label, as a client does.
func ExampleLister() {
	store := cache.NewStore(nil, cache.Indexers[*corev1.Pod]{
		cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc), // List reads one namespace only
	})
	if err := store.Add(webPod("web-0", "node-1")); err != nil {
		log.Fatal(err)
	}

	pods := cache.NewLister(store.Reader, corev1.Resource("pods")).Namespace("default")
	web, err := pods.Get("web-0")
	fmt.Println(web.Spec.NodeName, err)
	fmt.Println(len(pods.List(labels.SelectorFromSet(labels.Set{"app": "web"}))), "with the label")
	_, err = pods.Get("web-1")
	fmt.Println(apierrors.IsNotFound(err), err)
	// Output:
	// node-1 <nil>
	// 1 with the label
	// true pods "web-1" not found
}

// This example distinguishes an object that does not exist from one that could never be stored.
func ExampleLister_Get_notStored() {
	server := fake.NewListerWatcher(&corev1.Pod{})
	server.Create(webPod("web-0", ""))
	pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
		Transform:    func(*corev1.Pod) (*corev1.Pod, error) { return nil, errors.New("no node") },
		ErrorHandler: func(context.Context, error) {}, // the default logs
	})
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error)
	go func() { stopped <- pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		log.Fatal(err)
	}

	lister := cache.NewLister(pods.Store(), corev1.Resource("pods")).Namespace("default")
	_, err := lister.Get("web-0")
	fmt.Println(errors.Is(err, cache.ErrNotStored), apierrors.IsNotFound(err))
	fmt.Println(pods.Store().KeyError("default/web-0"))
	_, err = lister.Get("web-1")
	fmt.Println(errors.Is(err, cache.ErrNotStored), apierrors.IsNotFound(err))
	cancel()
	fmt.Println("stopped:", <-stopped)
	// Output:
	// true false
	// the object's newest state could not be stored: transform: no node
	// false true
	// stopped: <nil>
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
			log.Fatal(err)
		}
	}
	// Output:
	// now: [apiserver etcd]
	// now: [apiserver etcd scheduler]
	// now: [apiserver scheduler]
}

// This example makes the key of an object, and splits it as a worker of a queue does.
func ExampleSplitMetaNamespaceKey() {
	key, err := cache.MetaNamespaceKeyFunc(webPod("web-0", "node-1"))
	if err != nil {
		log.Fatal(err)
	}
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	fmt.Println(key, namespace, name, err)
	// Output: default/web-0 default web-0 <nil>
}
