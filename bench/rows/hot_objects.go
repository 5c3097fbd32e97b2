// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// hotBurst is the number of Pods that are updated several times each in row hot-objects. That many
// fit among the hot objects of 20,000 Pods.
const hotBurst = 50

// hotObjects is row hot-objects: what an event costs a packed informer with an event handler and a
// Get after each event. Updates of Pods in turn read each object once; in bursts, the old state of
// an update is mostly that of a recent event.
func hotObjects(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		readEachEvent(scale, "each Pod once", 0),
		readEachEvent(scale, fmt.Sprintf("%d Pods at a time, 4 updates each", hotBurst), hotBurst),
	}
}

func readEachEvent(scale Scale, order string, burst int) harness.Experiment {
	sides := []string{child.PackedReconciler, child.ClientGoReconciler, child.ColdReconciler}
	return harness.Experiment{
		Row: "hot-objects", Setup: "watch event over plain HTTP to 1 handler and a Get, packed, " + order, Sides: sides,
		Metrics: []harness.Metric{{Name: "CPU", Unit: "µs", Goal: harness.AtMost(1)}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				job := child.SyncJob{Side: side, Pods: scale.Pods, Events: scale.Pods, Burst: burst}
				cost, err := syncFromOwnServer(pods, job)
				return []float64{cost.EventsCPU * 1e6 / float64(scale.Pods)}, err
			}), err
		},
	}
}
