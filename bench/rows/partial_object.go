// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// Row partial-object measures informers of PartialObjects with the metadata and six fields of Pods,
// beside client-go with whole Pods and with a transform that clears the other fields. Each side is
// a child process that lists over plain HTTP.

// Reasons for missed goals.
const (
	partialHeapReason = "TypeMeta, ObjectMeta and the fields take 384 bytes, key, UID and version 100, and at 20,000 Pods the tables of strings 100."
	partialCPUReason  = "A quarter to a third of the CPU is reading the response from the socket, which both sides do; as much is decoding."
	partialPeakReason = "50 MB are pages of this program's file, which contains everything that the rows compare."
	fieldIndexReason  = "Reading the field takes 1 µs of 16 to 18, and moving the key from one node's set to that of another 2 µs."
)

func partialObject(scale Scale) []harness.Experiment {
	f := podFootprints(scale.Pods, perWorkload)
	experiments := append(
		partialHeap(f, "live", child.Partial, child.Metadata, 1.0/11, 0.6),
		partialHeap(f, "ShareEqual", child.PartialShareEqual, child.MetadataShareEqual, 1.0/24, 0.35)...)
	experiments = append(experiments, partialHeap(f, "packed", child.PartialPacked, child.MetadataPacked, 1.0/50, 0.15)...)
	experiments[len(experiments)-1] = lastOf(f, experiments[len(experiments)-1])
	return append(experiments,
		partialSync(scale), partialEvent(scale),
		partialMany(scale, "packed", child.PartialPacked, 40, 110),
		partialMany(scale, "ShareEqual", child.PartialShareEqual, 80, 180))
}

// partialHeap compares the heap of PartialObjects with that of whole objects and of objects whose
// other fields are cleared, and that of objects without fields with theirs. whole and cleared are
// the goals.
func partialHeap(f *footprints, variant, side, metadata string, whole, cleared float64) []harness.Experiment {
	experiment := func(measured string, goal harness.Goal, sides ...string) harness.Experiment {
		e := heapPerObject(f, "six fields, "+variant, goal, sides...)
		e.Row, e.Metrics[0].Name = "partial-object", measured
		return e
	}
	return []harness.Experiment{
		experiment("heap", harness.AtMost(whole).MissedBecause(partialHeapReason), side, child.ClientGo),
		experiment("heap, against a transform", harness.AtMost(cleared), side, child.ClientGoCleared),
		experiment("heap of the metadata alone", harness.Goal{}, metadata, side),
	}
}

// partialSync measures the CPU of an initial sync with a handler.
func partialSync(scale Scale) harness.Experiment {
	return partialCPU(scale, "six fields, live", child.SyncJob{}, harness.Metric{Name: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(1.0 / 5).MissedBecause(partialCPUReason)},
		func(cost child.SyncCost) float64 { return cost.SyncCPU })
}

// partialEvent measures one update of each Pod.
func partialEvent(scale Scale) harness.Experiment {
	return partialCPU(scale, fmt.Sprintf("six fields, %d handlers, live", httpHandlers), child.SyncJob{Handlers: httpHandlers, Events: scale.Pods},
		harness.Metric{Name: "CPU of an event", Unit: "µs", Goal: harness.AtMost(1.0 / 4).MissedBecause(partialCPUReason)},
		func(cost child.SyncCost) float64 { return cost.EventsCPU })
}

func partialCPU(scale Scale, setup string, job child.SyncJob, metric harness.Metric, seconds func(child.SyncCost) float64) harness.Experiment {
	sides := []string{child.Partial, child.ClientGo, child.ClientGoCleared}
	return harness.Experiment{
		Row: "partial-object", Setup: setup, Sides: sides, Metrics: []harness.Metric{metric},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				job.Side, job.Pods = side, scale.Pods
				cost, err := syncFromOwnServer(pods, job)
				return []float64{seconds(cost) * 1e6 / float64(scale.Pods)}, err
			}), err
		},
	}
}

// partialMany measures a process with many PartialObjects. The goals are in megabytes.
func partialMany(scale Scale, variant, side string, heap, peak float64) harness.Experiment {
	f := podFootprints(scale.PartialPods, perWorkload)
	sides := []string{side}
	return lastOf(f, harness.Experiment{
		Row: "partial-object", Setup: fmt.Sprintf("six fields of %d Pods, %s", scale.PartialPods, variant), Sides: sides, MaxRounds: 3,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "MB", Goal: harness.Within(heap, "MB").MissedBecause(partialHeapReason)},
			{Name: "peak RSS until synced", Unit: "MB", Goal: harness.Within(peak, "MB").MissedBecause(partialPeakReason)},
			{Name: "peak RSS above idle until synced", Unit: "MB"},
		},
		Prepare: f.prepare(func(run child.Footprint, _ float64) []float64 {
			return []float64{run.Heap / 1e6, run.PeakRSS / 1e6, (run.PeakRSS - run.IdleRSS) / 1e6}
		}, f.ofAllObjects(sides)...),
	})
}
