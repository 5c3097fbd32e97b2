// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// Row omit-fields measures informers that omit managedFields, beside client-go with all fields and
// with a transform that clears these. Each side is a child process that lists over plain HTTP, with
// an index by namespace and a handler: a key handler if it is packed.

func omitFields(scale Scale) []harness.Experiment {
	packed := []harness.Experiment{omittedPacked(scale, 20, 1.0/60), omittedPacked(scale, 3, 1.0/40), omittedPacked(scale, 1, 1.0/25)}
	return append(packed, omittedLive(scale)...)
}

// omittedPacked compares packed informers with client-go. heap is the goal.
func omittedPacked(scale Scale, perWorkload dataset.PodsPerWorkload, heap float64) harness.Experiment {
	f := podFootprints(scale.Pods, perWorkload)
	setup := fmt.Sprintf("packed, %v", perWorkload)
	const reason = "Half of a packed Pod's heap is its key, struct, map, index and fixed tables, and managedFields hardly differ between similar Pods."
	sides := []string{child.OmittingPacked, child.ClientGo, child.ClientGoStripped, child.Packed}
	return lastOf(f, footprintsOf(f, setup, harness.AtMost(heap).MissedBecause(reason), harness.AtMost(1.0/6), sides...))
}

// omittedLive compares live informers with client-go's transform, and with themselves without
// omitted fields.
func omittedLive(scale Scale) []harness.Experiment {
	f := podFootprints(scale.Pods, perWorkload)
	return []harness.Experiment{
		footprintsOf(f, "live", harness.AtMost(0.8).MissedBecause("The goal is missed by a few bytes a Pod."), harness.Goal{}, child.Omitting, child.ClientGoStripped, child.ClientGo),
		lastOf(f, footprintsOf(f, "live", harness.Goal{}, harness.AtMost(1), child.Omitting, child.Kinformer)),
	}
}

// footprintsOf measures heap and CPU of the initial sync.
func footprintsOf(f *footprints, setup string, heap, cpu harness.Goal, sides ...string) harness.Experiment {
	return harness.Experiment{
		Row: "omit-fields", Setup: setup, Sides: sides,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "B/Pod", Goal: heap},
			{Name: "CPU until synced", Unit: "µs/Pod", Goal: cpu.MissedBecause("The omitted bytes are still received and split.")},
		},
		Prepare: f.prepare(func(run child.Footprint, objects float64) []float64 {
			return []float64{run.Heap / objects, run.CPU * 1e6 / objects}
		}, f.ofAllObjects(sides)...),
	}
}
