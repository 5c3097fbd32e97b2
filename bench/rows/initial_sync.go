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
		syncAndRelist(scale, "live", []string{child.Kinformer, child.ClientGo, child.ClientGoWatchList}, 0.7, 1/2.5, decodingCPU),
		syncAndRelist(scale, "ShareEqual", []string{child.ShareEqual, child.ClientGo}, 1.0/2, 1/2.5, decodingCPU),
		syncAndRelist(scale, "packed", []string{child.Packed, child.ClientGo}, 1.0/8, 1.0/6, packingCPU),
		relistOneChanged(scale, "live", []string{child.Kinformer, child.ClientGo}),
		relistOneChanged(scale, "packed", []string{child.Packed, child.ClientGo}),
		eventOverHTTP(scale, "live", []string{child.Kinformer, child.ClientGo}, 1.0/2, decodingCPU),
		eventOverHTTP(scale, "packed", []string{child.Packed, child.ClientGo}, 1.0/6, packingCPU),
	}
}

// Reasons for missed goals.
const (
	newPages       = "The map of the list and the sets of its index have a page for some twenty Pods each, which is most of it."
	decodingCPU    = "Most of the CPU is decoding, which also deduplicates equal parts, and collecting its garbage; the rest is a few µs a Pod."
	packingCPU     = "Nothing is decoded for key handlers; packing and the check that the object can be decoded take half of the CPU."
	unstableRelist = "Both sides differ two- to threefold between rounds, and client-go's minimum is its luckiest round; on another machine the ratio was 0.056x."
)

// syncAndRelist measures initial sync and relist with one handler. memory and cpu are the goals of
// the sync, and reason says why that of the CPU is missed.
func syncAndRelist(scale Scale, variant string, sides []string, memory, cpu float64, reason string) harness.Experiment {
	return harness.Experiment{
		Row: "initial-sync", Setup: variant, Sides: sides,
		Metrics: []harness.Metric{
			{Name: "peak RSS above idle until synced", Unit: "MB", Goal: harness.AtMost(memory)},
			{Name: "CPU until synced", Unit: "µs/Pod", Goal: harness.AtMost(cpu).MissedBecause(reason)},
			{Row: "relist", Name: "CPU of a relist, 1 % changed", Unit: "ms", Goal: harness.AtMost(1.0 / 12).MissedBecause(unstableRelist), Detail: variant != "live" && variant != "packed"},
			{Row: "relist", Name: "updates delivered by the relist", Unit: "updates", Goal: harness.Within(float64(scale.Pods/100), "updates"), Detail: variant != "live"},
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

// relistOneChanged measures what a relist allocates that finds one changed Pod. Its rounds have
// nearly the same figures.
func relistOneChanged(scale Scale, variant string, sides []string) harness.Experiment {
	return harness.Experiment{
		Row: "relist", Setup: variant, Sides: sides, MaxRounds: 3,
		Metrics: []harness.Metric{{Name: "allocations of a relist, one Pod changed", Unit: "1/Pod", Goal: harness.Within(0.15, "1/Pod").MissedBecause(newPages)}},
		Prepare: func() ([]harness.Measure, error) {
			pods, err := podserver.Pods(perWorkload, scale.Pods)
			return measureEach(sides, func(side string) ([]float64, error) {
				cost, err := syncFromOwnServer(pods, child.SyncJob{Side: side, Pods: scale.Pods, Stale: 1})
				return []float64{cost.RelistAllocations / float64(scale.Pods)}, err
			}), err
		},
	}
}

// httpHandlers is the number of handlers in row event-over-http.
const httpHandlers = 4

// eventOverHTTP measures one update of each Pod.
func eventOverHTTP(scale Scale, variant string, sides []string, goal float64, reason string) harness.Experiment {
	return harness.Experiment{
		Row: "event-over-http", Setup: fmt.Sprintf("%d handlers, %s", httpHandlers, variant), Sides: sides,
		Metrics: []harness.Metric{{Name: "CPU of an event", Unit: "µs", Goal: harness.AtMost(goal).MissedBecause(reason)}},
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
