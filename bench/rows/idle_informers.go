// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
)

// withoutInformers is the process of child.Informers without an informer: what the Go runtime does.
const withoutInformers = "no informers"

// idleInformers is row idle-informers: how often the operating system runs a thread of a process
// whose informers have synced and receive nothing.
func idleInformers(scale Scale) []harness.Experiment {
	sides := []string{child.Informers, child.ClientGoInformers, withoutInformers}
	return []harness.Experiment{{
		Row: "idle-informers", Setup: fmt.Sprintf("%d informers of %d Pods", scale.Namespaces, podsPerNamespace), Sides: sides, MaxRounds: 2,
		Metrics: []harness.Metric{{Name: "context switches", Unit: "/s", Goal: harness.Within(5, "/s")}},
		Prepare: func() ([]harness.Measure, error) {
			return measureEach(sides, func(side string) ([]float64, error) {
				job := child.ScopesJob{Side: side, Namespaces: scale.Namespaces, Pods: podsPerNamespace, Idle: scale.Idle}
				if side == withoutInformers {
					job.Side, job.Namespaces = child.Informers, 0
				}
				cost, err := smallRun(job)
				return []float64{cost.Switches}, err
			}), nil
		},
	}}
}
