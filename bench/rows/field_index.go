// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// fieldIndex is row field-index: what an index by a Pod's node adds to an event of a packed
// informer with key handlers, for events that change the status alone, and for events that change
// the node.
func fieldIndex(scale Scale) []harness.Experiment {
	return []harness.Experiment{indexedEvent(scale, "the status", dataset.ChangeStatus), indexedEvent(scale, "the node", dataset.ChangeNode)}
}

func indexedEvent(scale Scale, what string, change dataset.Change) harness.Experiment {
	sides := []string{child.PackedByNode, child.Packed}
	return harness.Experiment{
		Row: "field-index", Setup: fmt.Sprintf("%d key handlers, packed, events change %s", httpHandlers, what), Sides: sides,
		Metrics: []harness.Metric{{Name: "CPU of an event", Unit: "µs", Goal: harness.AtMost(1.1).MissedBecause(fieldIndexReason)}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				cost, err := syncFromOwnServer(pods, child.SyncJob{Side: side, Pods: scale.Pods, Handlers: httpHandlers, Events: scale.Pods, Change: change})
				return []float64{cost.EventsCPU * 1e6 / float64(scale.Pods)}, err
			}), err
		},
	}
}
