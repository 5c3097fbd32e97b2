package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// What a cached object takes (P1 packed, P1b live), and what it takes to get one and
// to collect garbage around it. Each side is a process that lists over plain HTTP,
// with an index by namespace and a handler: of keys where it is packed. Besides
// stand the sides that have no goal on that data.

func perObject(scale Scale) []harness.Experiment {
	experiments := heldPods(scale)
	r3, r1 := pods(scale, dataset.R3), pods(scale, dataset.R1)
	nodes := &holding{kind: child.Nodes, most: scale.Synced / 4, store: dataset.StoreNodes}
	custom := &holding{kind: child.CustomResources, most: scale.Synced / 2, store: dataset.StoreCustomResources}
	return append(experiments,
		alone(packedHeap(r3, podsOf(scale, dataset.R3), harness.AtMost(1.0/16)), r3),
		alone(packedHeap(r1, podsOf(scale, dataset.R1), harness.AtMost(1.0/10)), r1),
		alone(packedHeap(nodes, fmt.Sprintf("%d Nodes", nodes.most), harness.Goal{}), nodes),
		alone(packedHeap(custom, fmt.Sprintf("%d unstructured custom resources", custom.most), harness.Goal{}), custom))
}

// alone is an experiment that nobody else shares a collection with.
func alone(e harness.Experiment, c *holding) harness.Experiment {
	e.Close = c.forget
	return e
}

func pods(scale Scale, set dataset.Replicas) *holding {
	return &holding{kind: child.Pods, most: scale.Synced, store: func(n int) (*dataset.Stored, error) { return dataset.StorePods(set, n) }}
}

func podsOf(scale Scale, set dataset.Replicas) string {
	return fmt.Sprintf("%d Pods of %v", scale.Synced, set)
}

// heldPods are the experiments with the Pods of R20.
func heldPods(scale Scale) []harness.Experiment {
	c, what := pods(scale, dataset.R20), podsOf(scale, dataset.R20)
	return []harness.Experiment{
		packedHeap(c, what, harness.AtMost(1.0/20)),
		liveHeap(c, what+", live", child.Kinformer, 0.7),
		liveHeap(c, what+", ShareEqual", child.ShareEqual, 1.0/2),
		alone(readPacked(c, what), c),
	}
}

// perHeld is the heap that each object takes.
func perHeld(held child.Held, objects float64) []float64 { return []float64{held.Heap / objects} }

// packedHeap is P1. Its rounds are few, as the figure is the same in each.
func packedHeap(c *holding, what string, goal harness.Goal) harness.Experiment {
	sides := []string{child.Packed, child.ClientGo, child.Kinformer, child.ShareEqual}
	return harness.Experiment{
		Name: "P1", What: what + ", packed", Sides: sides, Rounds: 1,
		Metrics: []harness.Metric{{What: "heap", Unit: "B/object", Goal: goal}},
		Prepare: c.show(perHeld, c.all(sides)...),
	}
}

// liveHeap is P1b.
func liveHeap(c *holding, what, side string, goal float64) harness.Experiment {
	sides := []string{side, child.ClientGo}
	return harness.Experiment{
		Name: "P1b", What: what, Sides: sides, Rounds: 1,
		Metrics: []harness.Metric{{What: "heap", Unit: "B/object", Goal: harness.AtMost(goal)}},
		Prepare: c.show(perHeld, c.all(sides)...),
	}
}

// readPacked is what packing costs those who read, and spares the collector. The goal
// of a warm Get is that of the live side, which stands beside it.
func readPacked(c *holding, what string) harness.Experiment {
	sides := []string{child.Packed, child.Kinformer, child.ClientGo}
	return harness.Experiment{
		Name: "packed", What: what, Sides: sides,
		Metrics: []harness.Metric{
			{What: "Get of what nobody holds", Unit: "µs", Goal: harness.Within(45, "µs")},
			{What: "Get of what somebody holds", Unit: "ns", Goal: harness.AtMost(1)},
			{What: "CPU of a garbage collection", Unit: "ms"},
		},
		Prepare: c.show(func(held child.Held, _ float64) []float64 {
			return []float64{held.Cold * 1e6, held.Warm * 1e9, held.GCCPU * 1e3}
		}, c.all(sides)...),
	}
}

// all returns subscribers that hold the whole collection.
func (c *holding) all(sides []string) (all []subscriber) {
	for _, side := range sides {
		all = append(all, subscriber{side, c.most})
	}
	return all
}
