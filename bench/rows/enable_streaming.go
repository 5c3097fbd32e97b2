// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// enableStreaming is row enable-streaming: the same program with and without a call of
// cache.EnableStreaming.
func enableStreaming(scale Scale) []harness.Experiment {
	var server *podserver.Server
	return []harness.Experiment{{
		Row: "enable-streaming", Setup: "with and without EnableStreaming",
		Sides: streamingSides(), Metrics: syncMetrics(harness.AtMost(1), harness.AtMost(1).MissedBecause(decodingCPU)),
		Prepare: func() (measures []harness.Measure, err error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			if err != nil {
				return nil, err
			}
			if server, err = podserver.Start(pods); err != nil {
				return nil, err
			}
			return measureEach(streamingSides(), func(side string) ([]float64, error) {
				return syncFrom(child.Server{URL: server.URL()}, side, scale.Pods)
			}), nil
		},
		Close: func() error {
			_ = server.Close() // the child processes have ended
			return nil
		},
	}}
}

func streamingSides() []string { return []string{child.Kinformer, child.WithoutStreaming} }

// syncMetrics returns the metrics of an initial sync.
func syncMetrics(memory, cpu harness.Goal) []harness.Metric {
	return []harness.Metric{
		{Name: "peak RSS above idle until synced", Unit: "MB", Goal: memory},
		{Name: "CPU until synced", Unit: "µs/Pod", Goal: cpu},
		{Name: "time until synced", Unit: "ms"},
	}
}

// syncFrom syncs one side from a server and returns the figures of syncMetrics.
func syncFrom(server child.Server, side string, pods int) ([]float64, error) {
	cost, err := child.RunSync(context.Background(), child.SyncJob{Side: side, Server: server, Pods: pods})
	if err != nil {
		return nil, err
	}
	return []float64{cost.PeakRSS / 1e6, cost.SyncCPU * 1e6 / float64(pods), cost.SyncTime * 1e3}, nil
}
