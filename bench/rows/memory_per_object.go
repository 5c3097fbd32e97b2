// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// Row memory-per-object measures the memory of a cached object, and rows packed-reads and
// garbage-collection what packing costs readers and saves the garbage collector. Each side is a
// child process that lists over plain HTTP, with an index by namespace and a handler: a key handler
// if it is packed.

func memoryPerObject(scale Scale) []harness.Experiment {
	experiments := twentyPerWorkload(scale)
	three, one := podFootprints(scale.Pods, 3), podFootprints(scale.Pods, 1)
	nodes := &footprints{kind: child.Nodes, objects: scale.Pods / 4, pack: dataset.PackNodes}
	custom := &footprints{kind: child.CustomResources, objects: scale.Pods / 2, pack: dataset.PackCustomResources}
	return append(experiments,
		lastOf(three, packedHeap(three, "packed, 3 per workload", harness.AtMost(1.0/16))),
		lastOf(one, packedHeap(one, "packed, 1 per workload", harness.AtMost(1.0/10))),
		lastOf(nodes, packedHeap(nodes, fmt.Sprintf("%d Nodes, packed", nodes.objects), harness.Goal{})),
		lastOf(custom, packedHeap(custom, fmt.Sprintf("%d unstructured custom resources, packed", custom.objects), harness.Goal{})))
}

func podFootprints(n int, perWorkload dataset.PodsPerWorkload) *footprints {
	return &footprints{kind: child.Pods, objects: n, pack: func(n int) (*dataset.Packed, error) { return dataset.PackPods(perWorkload, n) }}
}

// twentyPerWorkload returns the experiments with 20 Pods per workload.
func twentyPerWorkload(scale Scale) []harness.Experiment {
	f := podFootprints(scale.Pods, perWorkload)
	return []harness.Experiment{
		packedHeap(f, "packed", harness.AtMost(1.0/20)),
		liveHeap(f, "live", child.Kinformer, 0.7),
		liveHeap(f, "ShareEqual", child.ShareEqual, 1.0/2),
		lastOf(f, packedReads(f, "packed")),
	}
}

// packedHeap compares a packed informer with all others.
func packedHeap(f *footprints, setup string, goal harness.Goal) harness.Experiment {
	return heapPerObject(f, setup, goal, child.Packed, child.ClientGo, child.Kinformer, child.ShareEqual)
}

// liveHeap compares one of our live informers with client-go.
func liveHeap(f *footprints, setup, side string, goal float64) harness.Experiment {
	return heapPerObject(f, setup, harness.AtMost(goal), side, child.ClientGo)
}

// heapPerObject has one round, as the figure is the same in each.
func heapPerObject(f *footprints, setup string, goal harness.Goal, sides ...string) harness.Experiment {
	return harness.Experiment{
		Row: "memory-per-object", Setup: setup, Sides: sides, MaxRounds: 1,
		Metrics: []harness.Metric{{Name: "heap", Unit: "B/object", Goal: goal}},
		Prepare: f.prepare(func(run child.Footprint, objects float64) []float64 {
			return []float64{run.Heap / objects}
		}, f.ofAllObjects(sides)...),
	}
}

// packedReads measures Get, which decodes packed objects that no reader references, and a garbage
// collection.
func packedReads(f *footprints, setup string) harness.Experiment {
	sides := []string{child.Packed, child.Kinformer, child.ClientGo}
	return harness.Experiment{
		Row: "packed-reads", Setup: setup, Sides: sides,
		Metrics: []harness.Metric{
			{Name: "Get of an unreferenced object", Unit: "µs", Goal: harness.Within(45, "µs")},
			{Name: "Get of a referenced object", Unit: "ns", Goal: harness.AtMost(1).MissedBecause(
				"Entry, weak pointer and the runtime's record of it are three more loads, each a cache miss.")},
			{Row: "garbage-collection", Name: "CPU of a garbage collection", Unit: "ms"},
		},
		Prepare: f.prepare(func(run child.Footprint, _ float64) []float64 {
			return []float64{run.ColdGet * 1e6, run.WarmGet * 1e9, run.GCCPU * 1e3}
		}, f.ofAllObjects(sides)...),
	}
}
