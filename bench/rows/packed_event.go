// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// burstPods is the number of Pods that are updated several times each in row packed-event.
const burstPods = 50

// packedEvent is row packed-event: what an event costs a packed informer with an event handler and
// a Get after each event. Updates of Pods in turn read each object once; in bursts, the old state
// of an update is mostly that of a recent event.
func packedEvent(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		readEachEvent(scale, "each Pod once", 0),
		readEachEvent(scale, fmt.Sprintf("%d Pods at a time, 4 updates each", burstPods), burstPods),
	}
}

func readEachEvent(scale Scale, order string, burst int) harness.Experiment {
	const reason = "The old state is decoded as well, because no reader references it; equal parts of the new state are taken from it."
	sides := []string{child.PackedReconciler, child.ClientGoReconciler}
	return harness.Experiment{
		Row: "packed-event", Setup: order, Sides: sides,
		Metrics: []harness.Metric{{Name: "CPU of an event and a Get", Unit: "µs", Goal: harness.AtMost(1).MissedBecause(reason)}},
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
