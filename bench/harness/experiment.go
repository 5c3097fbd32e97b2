// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"math"
	"slices"
)

// Experiment is one setup in which several sides are measured.
type Experiment struct {
	Row     string // name of the table's row, such as "get-by-key"
	Setup   string // the situation, such as "10000 objects, one goroutine"
	Metrics []Metric
	// Sides names the implementations: ours first, then the one that goals refer to. If that one
	// lacks a metric, the next side takes its place.
	Sides []string
	// Prepare makes what all rounds share and returns a Measure for each side. The results of
	// Prepare must be garbage once the experiment is over.
	Prepare func() ([]Measure, error)
	// Close, if not nil, stops what Prepare has started.
	Close func() error
	// MaxRounds limits the rounds if a round takes long, or if all rounds have the same figures.
	// Zero is no limit.
	MaxRounds int
}

// Measure does the job once and returns a figure for each of the experiment's metrics, NaN for a
// metric that the side lacks. The heap is garbage collected before the call.
type Measure func() ([]float64, error)

// Metric is one measured quantity of an experiment.
type Metric struct {
	Row    string // name of the table's row, if not the experiment's
	Name   string // the quantity; may be empty if the experiment's Setup names it
	Unit   string // "1/s" is a rate, of which more is better
	Goal   Goal   // the zero Goal is none
	Detail bool   // leaves the metric out of the summary's table
}

// Result holds the figures of an experiment.
type Result struct {
	Experiment
	// Samples are the figures by metric, side and round.
	Samples [][][]float64
}

// RowName returns the name of a metric's row.
func (e Experiment) RowName(metric int) string {
	if name := e.Metrics[metric].Row; name != "" {
		return name
	}
	return e.Row
}

// Measurement returns the setup and the name of a metric.
func (e Experiment) Measurement(metric int) string {
	if name := e.Metrics[metric].Name; name != "" {
		return e.Setup + ": " + name
	}
	return e.Setup
}

// Best returns a metric's figure of a side's best round, or NaN if the side lacks the metric.
func (r Result) Best(metric, side int) float64 {
	if r.Metrics[metric].Unit == "1/s" {
		return slices.Max(r.Samples[metric][side])
	}
	return slices.Min(r.Samples[metric][side])
}

// Median returns the median of a metric over a side's rounds.
func (r Result) Median(metric, side int) float64 { return Median(r.Samples[metric][side]) }

// Spread returns the maximum of a metric over a side's rounds, divided by the minimum.
func (r Result) Spread(metric, side int) float64 {
	return slices.Max(r.Samples[metric][side]) / slices.Min(r.Samples[metric][side])
}

// Reference returns the side that ours is compared with: the first other side that has the metric,
// or zero if none has it.
func (r Result) Reference(metric int) int {
	for side := 1; side < len(r.Sides); side++ {
		if !math.IsNaN(r.Best(metric, side)) {
			return side
		}
	}
	return 0
}

// Ratio returns our best figure divided by that of the reference.
func (r Result) Ratio(metric int) float64 {
	return r.Best(metric, 0) / r.Best(metric, r.Reference(metric))
}

// Missed reports whether a metric has a goal that its figures do not meet.
func (r Result) Missed(metric int) bool {
	goal := r.Metrics[metric].Goal
	return goal.met != nil && !goal.met(r.Best(metric, 0), r.Best(metric, r.Reference(metric)))
}

// Median returns the median of the figures.
func Median(figures []float64) float64 {
	sorted := slices.Sorted(slices.Values(figures))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
