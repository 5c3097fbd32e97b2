package rows

import (
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
)

// P1 to P5 through client-go's interfaces: both sides are the same program, the
// informers being client-go's or, from package clientgo, ours. The goals are those of
// our own API, though a packed informer has to decode each object here: client-go's
// handlers are given objects.

func adapter(scale Scale) []harness.Experiment {
	sides := []string{"clientgo", "client-go"}
	held := pods(scale, dataset.R20)
	experiments := []harness.Experiment{
		alone(adaptedHeap(held, podsOf(scale, dataset.R20)), held),
		syncedBy(scale, "through clientgo", []string{child.Adapter, child.ClientGo}, 0.7, 1/2.5),
		syncedBy(scale, "through clientgo, packed", []string{child.AdapterPacked, child.ClientGo}, 1.0/8, 1/2.5),
	}
	for _, p := range []struct {
		handlers int
		goal     float64
	}{{1, 1.0 / 3}, {4, 1.0 / 5}, {16, 1.0 / 10}} {
		experiments = append(experiments, harness.Experiment{
			Name: "P4", What: fmt.Sprintf("watch event through clientgo, handlers: %d", p.handlers), Sides: sides,
			Metrics: []harness.Metric{{What: "time", Unit: "µs", Goal: harness.AtMost(p.goal)}, {What: "CPU", Unit: "µs"}},
			Prepare: func() ([]harness.Measure, error) {
				return watched(scale, p.handlers, startSharedIndex(newAdapted, false), startClientGo(false))
			},
		})
	}
	return append(experiments, harness.Experiment{
		Name: "P5", What: "informer through clientgo, List, 10 listers", Sides: sides,
		Metrics: []harness.Metric{{What: "writes", Unit: "1/s", Goal: harness.AtLeast(100)}, {What: "lists", Unit: "1/s", Goal: harness.AtLeast(1)}},
		Prepare: informersRead(scale, scale.Window, 10, startSharedIndex(newAdapted, false), startClientGo(false)),
	})
}

// adaptedHeap is P1 and, besides, P1b.
func adaptedHeap(c *holding, what string) harness.Experiment {
	sides := []string{child.AdapterPacked, child.ClientGo, child.Adapter}
	return harness.Experiment{
		Name: "P1", What: what + ", packed, through clientgo", Sides: sides, Rounds: 1,
		Metrics: []harness.Metric{{What: "heap", Unit: "B/object", Goal: harness.AtMost(1.0 / 20)}},
		Prepare: c.show(perHeld, c.all(sides)...),
	}
}
