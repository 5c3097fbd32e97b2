package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// P9: a million Pods in one process, packed. Beside them stand a hundredth and a
// tenth, which a Pod of the million must hardly cost more than; and client-go with as
// many as it has room for.
func million(scale Scale) []harness.Experiment {
	pods := &holding{kind: child.Pods, most: scale.Million, store: func(n int) (*dataset.Stored, error) { return dataset.StorePods(dataset.R20, n) }}
	var names []string
	var sides []subscriber
	add := func(side string, objects int) {
		names = append(names, fmt.Sprintf("%s, %d", side, objects))
		sides = append(sides, subscriber{side, objects})
	}
	add(child.Packed, scale.Million)
	add(child.Packed, scale.Million/100)
	add(child.Packed, scale.Million/10)
	add(child.ClientGo, scale.Million/10)
	add(child.ClientGo, scale.Million/4)
	return []harness.Experiment{{
		Name: "P9", What: fmt.Sprintf("%d Pods of R20, packed, a handler of keys", scale.Million), Sides: names, Rounds: 1,
		Metrics: []harness.Metric{
			{What: "heap", Unit: "GB", Goal: harness.Within(0.8, "GB")},
			{What: "heap of each", Unit: "B/Pod"},
			{What: "peak RSS until synced", Unit: "GB", Goal: harness.Within(1.6, "GB")},
			{What: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(1.3)},
			{What: "time until synced", Unit: "µs/Pod"},
			{What: "CPU of a garbage collection", Unit: "ms"},
			{What: "Get of what nobody holds", Unit: "µs"},
		},
		Prepare: pods.show(func(held child.Held, objects float64) []float64 {
			return []float64{
				held.Heap / 1e9, held.Heap / objects, held.PeakRSS / 1e9,
				held.SyncCPU * 1e6 / objects, held.SyncTime * 1e6 / objects, held.GCCPU * 1e3, held.Cold * 1e6,
			}
		}, sides...),
		Close: pods.forget,
	}}
}
