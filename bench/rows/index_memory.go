// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// indexMemory is row index-memory: the heap of a store with an index by a Pod's node beside one by
// namespace, minus that with the latter alone. The Pods of a node are of different workloads and
// namespaces. Our stores are those of informers after their first list; client-go's have decoded
// Pods, which do not count. All rounds have nearly the same figures.
func indexMemory(scale Scale) (experiments []harness.Experiment) {
	for _, index := range []struct {
		podsPerNode int
		goal        harness.Goal
	}{
		{1, harness.Goal{}},
		{4, harness.Within(64, "B/entry")},
		{20, harness.Within(40, "B/entry")},
		{500, harness.Within(40, "B/entry")},
	} {
		experiments = append(experiments, harness.Experiment{
			Row: "index-memory", Setup: fmt.Sprintf("%d Pods a node", index.podsPerNode), Sides: bothSides(), MaxRounds: 1,
			Metrics: []harness.Metric{
				{Name: "packed", Unit: "B/entry", Goal: index.goal},
				{Name: "live", Unit: "B/entry", Goal: index.goal},
			},
			Prepare: func() ([]harness.Measure, error) { return indexedHeaps(podsOfNodes(scale.Pods, index.podsPerNode)) },
		})
	}
	return experiments
}

// podsOfNodes returns Pods with so many of them on each node, which are spread over the workloads.
func podsOfNodes(n, perNode int) []*corev1.Pod {
	pods := dataset.NewPods(perWorkload, 1).Take(n)
	nodes := max(1, n/perNode)
	for i, pod := range pods {
		pod.Spec.NodeName = dataset.NodeName(i % nodes)
	}
	return pods
}

// indexedHeaps returns the Measures of both sides, packed and live. client-go has one figure for
// both.
func indexedHeaps(pods []*corev1.Pod) ([]harness.Measure, error) {
	encoded, err := dataset.Encode("v1", "Pod", pods)
	if err != nil {
		return nil, err
	}
	first, err := podserver.Pods(perWorkload, 1)
	if err != nil {
		return nil, err
	}
	if _, err := syncedHeap(first, cache.InformerOptions[*corev1.Pod]{}); err != nil { // compiles the plan of the type
		return nil, err
	}
	ours := func() (figures []float64, err error) {
		for _, packed := range []bool{true, false} {
			without, err := syncedHeap(encoded, cache.InformerOptions[*corev1.Pod]{Packed: packed, Indexers: child.ByNamespace()})
			if err != nil {
				return nil, err
			}
			with, err := syncedHeap(encoded, cache.InformerOptions[*corev1.Pod]{Packed: packed, Indexers: child.ByNamespaceAndNode()})
			if err != nil {
				return nil, err
			}
			figures = append(figures, (with-without)/float64(len(pods)))
		}
		return figures, nil
	}
	theirs := func() ([]float64, error) {
		before := indexerHeap(pods, clientcache.Indexers{})
		perEntry := (indexerHeap(pods, child.ClientGoByNode()) - before) / float64(len(pods))
		return []float64{perEntry, perEntry}, nil
	}
	return []harness.Measure{ours, theirs}, nil
}

// syncedHeap returns the heap of an informer's store.
func syncedHeap(pods *dataset.Encoded, options cache.InformerOptions[*corev1.Pod]) (float64, error) {
	before := process.LiveHeap()
	store, err := syncedStore(pods, options)
	if err != nil {
		return 0, err
	}
	heap := process.LiveHeap() - before
	runtime.KeepAlive(store)
	return heap, nil
}

// indexerHeap returns the heap of client-go's store with an index by namespace and others, without
// that of the Pods.
func indexerHeap(pods []*corev1.Pod, others clientcache.Indexers) float64 {
	before := process.LiveHeap()
	indexer := newIndexer()
	if err := indexer.AddIndexers(others); err != nil {
		panic(err)
	}
	list := make([]any, len(pods))
	for i, pod := range pods {
		list[i] = pod
	}
	if err := indexer.Replace(list, dataset.Version(0)); err != nil {
		panic(err)
	}
	clear(list)
	heap := process.LiveHeap() - before
	runtime.KeepAlive(indexer)
	return heap
}
