package rows

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// What the one line does: the same program, an informer of ours with a handler, that
// calls cache.EnableStreaming on its config, and that does not.

func enableStreaming(scale Scale) []harness.Experiment {
	var server *podserver.Server
	return []harness.Experiment{{
		Name: "one line", What: fmt.Sprintf("%d Pods of R20 over plain HTTP, with and without EnableStreaming", scale.Synced),
		Sides: oneLineSides(), Metrics: syncMetrics(harness.AtMost(1), harness.AtMost(1)),
		Prepare: func() (measures []harness.Measure, err error) {
			pods, err := podserver.Pods(dataset.R20, scale.Synced)
			if err != nil {
				return nil, err
			}
			if server, err = podserver.Start(pods); err != nil {
				return nil, err
			}
			return eachSide(oneLineSides(), func(side string) ([]float64, error) {
				return syncFrom(child.Server{URL: server.URL()}, side, scale.Synced)
			}), nil
		},
		Close: func() error {
			_ = server.Close() // the processes behind its connections have gone
			return nil
		},
	}}
}

func oneLineSides() []string { return []string{child.Kinformer, child.Classic} }

// syncMetrics are those of a first sync alone.
func syncMetrics(memory, cpu harness.Goal) []harness.Metric {
	return []harness.Metric{
		{What: "peak RSS above idle until synced", Unit: "MB", Goal: memory},
		{What: "CPU until synced", Unit: "µs/Pod", Goal: cpu},
		{What: "time until synced", Unit: "ms"},
	}
}

// syncFrom has one side sync from a server, and returns the figures of syncMetrics.
func syncFrom(server child.Server, side string, pods int) ([]float64, error) {
	cost, err := child.Run(context.Background(), child.Job{Side: side, Server: server, Pods: pods})
	if err != nil {
		return nil, err
	}
	return []float64{cost.PeakRSS / 1e6, cost.SyncCPU * 1e6 / float64(pods), cost.SyncTime * 1e3}, nil
}
