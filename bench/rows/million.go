// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
)

// million is row million: a million packed Pods in one process. Their cost per Pod is compared with
// that of a hundredth and of a tenth of them, and with client-go's for as many as fit into memory.
func million(scale Scale) []harness.Experiment {
	f := podFootprints(scale.MillionPods, perWorkload)
	var names []string
	var sides []sizedSide
	add := func(side string, objects int) {
		names = append(names, fmt.Sprintf("%s, %d", side, objects))
		sides = append(sides, sizedSide{side, objects})
	}
	add(child.Packed, scale.MillionPods)
	add(child.Packed, scale.MillionPods/100)
	add(child.Packed, scale.MillionPods/10)
	add(child.ClientGo, scale.MillionPods/10)
	add(child.ClientGo, scale.MillionPods/4)
	return []harness.Experiment{{
		Row: "million", Setup: "packed", Sides: names, MaxRounds: 1,
		Metrics: []harness.Metric{
			{Name: "heap", Unit: "GB", Goal: harness.Within(0.8, "GB")},
			{Name: "heap per Pod", Unit: "B/Pod"},
			{Name: "peak RSS until synced", Unit: "GB", Goal: harness.Within(1.6, "GB")},
			{Name: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(1.3)},
			{Name: "time until synced", Unit: "µs/Pod"},
			{Name: "CPU of a garbage collection", Unit: "ms"},
			{Name: "Get of an unreferenced object", Unit: "µs"},
		},
		Prepare: f.prepare(func(run child.Footprint, objects float64) []float64 {
			return []float64{
				run.Heap / 1e9, run.Heap / objects, run.PeakRSS / 1e9,
				run.CPU * 1e6 / objects, run.Time * 1e6 / objects, run.GCCPU * 1e3, run.ColdGet * 1e6,
			}
		}, sides...),
		Close: f.release,
	}}
}
