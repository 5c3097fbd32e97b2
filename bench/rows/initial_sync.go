package rows

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// The way from the server's bytes to a handler: initial sync (P2, P3), a relist
// (P7), watch events (P10). Each measurement is a process of its own, which syncs
// an informer over plain HTTP from a server in this process.
//
// client-go takes part twice: with the feature gate WatchListClient off, it lists;
// with it on, as is its default, the server answers it by a stream. Ratios are to
// the first.

func synced(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		syncedBy(scale, "live", []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList}, 0.7, 1/2.5),
		syncedBy(scale, "ShareEqual", []string{child.ShareEqual, child.ClientGo}, 1.0/2, 1/2.5),
		syncedBy(scale, "packed with a key handler", []string{child.Packed, child.ClientGo}, 1.0/8, 1.0/6),
		eventsTold(scale, "live", []string{child.Kinformer, child.ClientGo}, 1.0/2),
		eventsTold(scale, "packed with key handlers", []string{child.Packed, child.ClientGo}, 1.0/6),
	}
}

// syncedBy is P2, P3 and P7 with one handler. The goals are of memory and CPU.
func syncedBy(scale Scale, how string, sides []string, memory, cpu float64) harness.Experiment {
	return harness.Experiment{
		Name: "P2", What: fmt.Sprintf("%d Pods of R20 over plain HTTP, %s", scale.Synced, how), Sides: sides,
		Metrics: []harness.Metric{
			{Name: "P2", What: "peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(memory)},
			{Name: "P3", What: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(cpu)},
			{Name: "P7", What: "CPU of a relist, 1 % changed", Unit: "ms", Goal: harness.AtMost(1.0 / 12)},
			{Name: "P7", What: "updates told by it", Unit: "updates", Goal: harness.Within(float64(scale.Synced/100), "updates")},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(dataset.R20, scale.Synced)
			return eachSide(sides, func(side string) ([]float64, error) {
				cost, err := syncOnce(pods, child.Job{Side: side, Pods: scale.Synced, Stale: scale.Synced / 100})
				return []float64{cost.PeakRSS / 1e6, cost.SyncCPU * 1e6 / float64(scale.Synced), cost.RelistCPU * 1e3, cost.RelistTold}, err
			}), err
		},
	}
}

// eventHandlers is how many handlers P10 has.
const eventHandlers = 4

// eventsTold is P10: as many events as there are Pods, each of another.
func eventsTold(scale Scale, how string, sides []string, goal float64) harness.Experiment {
	return harness.Experiment{
		Name: "P10", What: fmt.Sprintf("watch event over plain HTTP to %d handlers, %s", eventHandlers, how), Sides: sides,
		Metrics: []harness.Metric{{What: "CPU", Unit: "µs", Goal: harness.AtMost(goal)}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(dataset.R20, scale.Synced)
			return eachSide(sides, func(side string) ([]float64, error) {
				cost, err := syncOnce(pods, child.Job{Side: side, Pods: scale.Synced, Handlers: eventHandlers, Events: scale.Synced})
				return []float64{cost.EventsCPU * 1e6 / float64(scale.Synced)}, err
			}), err
		},
	}
}

// eachSide returns a measure for each of the sides.
func eachSide(sides []string, measure func(side string) ([]float64, error)) (measures []harness.Measure) {
	for _, side := range sides {
		measures = append(measures, func() ([]float64, error) { return measure(side) })
	}
	return measures
}

// syncOnce does a job against a server of its own: the sides must not find the Pods
// in different versions.
func syncOnce(pods *dataset.Encoded, job child.Job) (child.Cost, error) {
	server, err := podserver.Start(pods)
	if err != nil {
		return child.Cost{}, err
	}
	defer func() { _ = server.Close() }() // the process behind its connections has gone
	job.Server = child.Server{URL: server.URL()}
	return child.Run(context.Background(), job)
}
