// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/dataset"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/podserver"
)

// Rows initial-sync, relist and event-over-http measure the whole path from the server's bytes to a
// handler. Each side is a child process that syncs from a server in this process, over plain HTTP.
//
// client-go is measured twice: with the feature gate WatchListClient disabled, it lists; with it
// enabled, the default, the server streams the state. Ratios refer to the first.

func initialSync(scale Scale) []harness.Experiment {
	return []harness.Experiment{
		syncAndRelist(scale, "live", []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList}, 0.7, 1/2.5),
		syncAndRelist(scale, "ShareEqual", []string{child.ShareEqual, child.ClientGo}, 1.0/2, 1/2.5),
		syncAndRelist(scale, "packed with a key handler", []string{child.Packed, child.ClientGo}, 1.0/8, 1.0/6),
		eventOverHTTP(scale, "live", []string{child.Kinformer, child.ClientGo}, 1.0/2),
		eventOverHTTP(scale, "packed with key handlers", []string{child.Packed, child.ClientGo}, 1.0/6),
	}
}

// overHTTP returns the start of an experiment's Setup: the Pods that the server has.
func overHTTP(scale Scale) string { return describePods(scale.Pods, perWorkload) + " over plain HTTP" }

// describePods returns for instance "20000 Pods, 20 per workload,".
func describePods(n int, perWorkload dataset.PodsPerWorkload) string {
	return fmt.Sprintf("%d Pods, %v,", n, perWorkload)
}

// syncAndRelist measures initial sync and relist with one handler. memory and cpu are the goals of
// the sync.
func syncAndRelist(scale Scale, variant string, sides []string, memory, cpu float64) harness.Experiment {
	return harness.Experiment{
		Row: "initial-sync", Setup: overHTTP(scale) + ", " + variant, Sides: sides,
		Metrics: []harness.Metric{
			{Name: "peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(memory)},
			{Name: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(cpu)},
			{Row: "relist", Name: "CPU of a relist, 1 % changed", Unit: "ms", Goal: harness.AtMost(1.0 / 12)},
			{Row: "relist", Name: "updates delivered by the relist", Unit: "updates", Goal: harness.Within(float64(scale.Pods/100), "updates")},
		},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				cost, err := syncFromOwnServer(pods, child.SyncJob{Side: side, Pods: scale.Pods, Stale: scale.Pods / 100})
				return []float64{cost.PeakRSS / 1e6, cost.SyncCPU * 1e6 / float64(scale.Pods), cost.RelistCPU * 1e3, cost.RelistUpdates}, err
			}), err
		},
	}
}

// httpHandlers is the number of handlers in row event-over-http.
const httpHandlers = 4

// eventOverHTTP measures one update of each Pod.
func eventOverHTTP(scale Scale, variant string, sides []string, goal float64) harness.Experiment {
	return harness.Experiment{
		Row: "event-over-http", Setup: fmt.Sprintf("watch event over plain HTTP to %d handlers, %s", httpHandlers, variant), Sides: sides,
		Metrics: []harness.Metric{{Name: "CPU", Unit: "µs", Goal: harness.AtMost(goal)}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				cost, err := syncFromOwnServer(pods, child.SyncJob{Side: side, Pods: scale.Pods, Handlers: httpHandlers, Events: scale.Pods})
				return []float64{cost.EventsCPU * 1e6 / float64(scale.Pods)}, err
			}), err
		},
	}
}

// measureEach returns a Measure for each side.
func measureEach(sides []string, measure func(side string) ([]float64, error)) (measures []harness.Measure) {
	for _, side := range sides {
		measures = append(measures, func() ([]float64, error) { return measure(side) })
	}
	return measures
}

// syncFromOwnServer runs a job against a server of its own, so that every side receives the Pods in
// the same versions.
func syncFromOwnServer(pods *dataset.Encoded, job child.SyncJob) (child.SyncCost, error) {
	server, err := podserver.Start(pods)
	if err != nil {
		return child.SyncCost{}, err
	}
	defer func() { _ = server.Close() }() // the child process has ended
	job.Server = child.Server{URL: server.URL()}
	return child.RunSync(context.Background(), job)
}
