// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"math"
	"runtime"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// Row snapshot-map compares internal/snapmap, the store's map, with Go's map, with a copy-on-write
// B-tree, and with the persistent radix tree of cilium's statedb. The first two need a lock for
// concurrent reads and writes. All times are processor time.
//
// The goals are ratios that a prototype of snapmap reached: its time, at the slower end, divided by
// that of the first other map that supports the operation.

func snapshotMap(scale Scale) []harness.Experiment {
	row := func(setup, unit string, factor float64, n int, measure func(m snapshotter, keys []string) float64) harness.Experiment {
		return harness.Experiment{
			Row: "snapshot-map", Setup: setup, Sides: mapSides(),
			Metrics: []harness.Metric{{Unit: unit, Goal: harness.AtMost(factor).MissedBecause("The goals are ratios that a prototype reached.")}},
			Prepare: func() ([]harness.Measure, error) { return withFilledMaps(n, measure), nil },
		}
	}
	n := scale.Keys
	return []harness.Experiment{
		row(fmt.Sprintf("Get among %d keys", n), "ns", 103.0/74, n, func(m snapshotter, keys []string) float64 { return measureGet(scale, m, keys) }),
		row("update without snapshots", "ns", 110.0/84, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/2, 0)
		}),
		row("update with a snapshot after each", "µs", 8/6.3, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/40, 1) / 1000
		}),
		row("update with a snapshot after every 1,000", "µs", 1, n, func(m snapshotter, keys []string) float64 {
			return measureUpdate(m, keys, scale.Gets/10, 1000) / 1000
		}),
		row(fmt.Sprintf("List of %d", scale.Listed), "µs", 89.0/185, scale.Listed, measureList),
		{
			Row: "snapshot-map", Setup: fmt.Sprintf("memory per entry among %d, without keys", n), Sides: mapSides(),
			Metrics: []harness.Metric{{Unit: "B", Goal: harness.Within(40, "B")}}, MaxRounds: 1,
			Prepare: func() ([]harness.Measure, error) { return measureMapSize(scale), nil },
		},
	}
}

// withFilledMaps fills each map with n keys once and returns a Measure for each.
func withFilledMaps(n int, measure func(m snapshotter, keys []string) float64) []harness.Measure {
	keys := keysOf(smallObjects(n))
	var measures []harness.Measure
	for _, build := range newMaps() {
		m := build()
		for _, key := range keys {
			m.Set(key, new(value))
		}
		measures = append(measures, func() ([]float64, error) { return []float64{measure(m, keys)}, nil })
	}
	return measures
}

// measureGet returns the time of a Get in nanoseconds. The keys are copies of those in the map.
func measureGet(scale Scale, m snapshotter, keys []string) float64 {
	copies := keysOf(smallObjects(len(keys)))
	runtime.GC()
	start := process.CPU()
	for i := range scale.Gets {
		if m.Get(copies[scatter(i, len(copies))]) == nil {
			return math.NaN()
		}
	}
	return cpuPer(start, scale.Gets)
}

// measureUpdate returns the time of an update in nanoseconds, with a snapshot after every
// snapshotEvery updates. It returns NaN for Go's map, whose snapshots do not allow writes.
func measureUpdate(m snapshotter, keys []string, n, snapshotEvery int) float64 {
	if _, ok := m.(*goMap); ok && snapshotEvery > 0 {
		return math.NaN()
	}
	v := new(value)
	start := process.CPU()
	for i := range n {
		if m.Set(keys[scatter(i, len(keys))], v); snapshotEvery > 0 && i%snapshotEvery == 0 {
			m.Snapshot()
		}
	}
	return cpuPer(start, n)
}

// measureList returns the time, in microseconds, to take a snapshot and collect its values in a
// slice.
func measureList(m snapshotter, _ []string) float64 {
	const lists = 1000
	start := process.CPU()
	for range lists {
		list := make([]*value, 0, m.Len())
		for _, v := range m.Snapshot() {
			list = append(list, v)
		}
		if len(list) != m.Len() {
			return math.NaN()
		}
	}
	return cpuPer(start, lists) / 1000
}

func measureMapSize(scale Scale) []harness.Measure {
	keys := keysOf(smallObjects(scale.Keys))
	v := new(value)
	var measures []harness.Measure
	for _, build := range newMaps() {
		measures = append(measures, func() ([]float64, error) {
			before := process.LiveHeap()
			m := build()
			for _, key := range keys {
				m.Set(key, v)
			}
			after := process.LiveHeap()
			runtime.KeepAlive(m)
			return []float64{(after - before) / float64(len(keys))}, nil
		})
	}
	return measures
}
