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
// an informer with one handler over plain HTTP from a server in this process.
//
// client-go takes part twice: with the feature gate WatchListClient off, it lists;
// with it on, as is its default, the server answers it by a stream. Ratios are to
// the first.

func synced(scale Scale) []harness.Experiment {
	sides := []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList}
	return []harness.Experiment{{
		Name: "P2", What: fmt.Sprintf("%d Pods of R20 over plain HTTP, live, one handler", scale.Synced), Sides: sides,
		Metrics: []harness.Metric{
			{Name: "P2", What: "peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(0.7)},
			{Name: "P3", What: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(1 / 2.5)},
			{Name: "P7", What: "CPU of a relist, 1 % changed", Unit: "ms", Goal: harness.AtMost(1.0 / 12)},
			{Name: "P7", What: "updates told by it", Unit: "updates", Goal: harness.Within(float64(scale.Synced/100), "updates")},
			{Name: "P10", What: "CPU of an event", Unit: "µs", Goal: harness.AtMost(0.5)},
		},
		Prepare: func() ([]harness.Measure, error) {
			return eachSide(sides, func(side string) ([]float64, error) { return syncOnce(scale, side) }), nil
		},
	}}
}

// eachSide returns a measure for each of the sides.
func eachSide(sides []string, measure func(side string) ([]float64, error)) (measures []harness.Measure) {
	for _, side := range sides {
		measures = append(measures, func() ([]float64, error) { return measure(side) })
	}
	return measures
}

// syncOnce runs one side against a server of its own: the sides must not find the
// Pods in different versions.
func syncOnce(scale Scale, side string) ([]float64, error) {
	server, err := podserver.Start(dataset.R20, scale.Synced)
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Close() }() // the process behind its connections has gone
	job := child.Job{Side: side, Server: child.Server{URL: server.URL()}, Pods: scale.Synced, Events: scale.Synced, Stale: scale.Synced / 100}
	cost, err := child.Run(context.Background(), job)
	if err != nil {
		return nil, err
	}
	return []float64{
		cost.PeakRSS / 1e6,
		cost.SyncCPU * 1e6 / float64(scale.Synced),
		cost.RelistCPU * 1e3,
		cost.RelistTold,
		cost.EventsCPU * 1e6 / float64(scale.Synced),
	}, nil
}
