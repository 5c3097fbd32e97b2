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

// Sync returns the rows about the way from the server to a handler.
func Sync(scale Scale) []harness.Experiment {
	return []harness.Experiment{{
		Name: "P2, P3, P7, P10", What: fmt.Sprintf("%d Pods of R20 over plain HTTP, live, one handler", scale.Synced),
		Sides: []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList},
		Metrics: []harness.Metric{
			{What: "P2 peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(0.7)},
			{What: "P3 CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(1 / 2.5)},
			{What: "P7 CPU of a relist, 1 % changed", Unit: "ms", Goal: harness.AtMost(1.0 / 12)},
			{What: "P7 updates told", Unit: "updates", Goal: harness.Within(float64(scale.Synced/100), "updates")},
			{What: "P10 CPU of an event", Unit: "µs", Goal: harness.AtMost(0.5)},
		},
		Prepare: func() ([]harness.Measure, error) { return syncs(scale) },
	}}
}

func syncs(scale Scale) ([]harness.Measure, error) {
	var measures []harness.Measure
	for _, side := range []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList} {
		measures = append(measures, func() ([]float64, error) { return syncOnce(scale, side) })
	}
	return measures, nil
}

// syncOnce runs one side against a server of its own: the sides must not find the
// Pods in different versions.
func syncOnce(scale Scale, side string) ([]float64, error) {
	server, err := podserver.Start(dataset.R20, scale.Synced)
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Close() }() // the process behind its connections has gone
	job := child.Job{Side: side, URL: server.URL(), Pods: scale.Synced, Events: scale.Synced, Stale: scale.Synced / 100}
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
