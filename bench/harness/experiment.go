// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import "math"

// Experiment is one setup in which several sides are measured.
type Experiment struct {
	Row     string // name of the table's row, such as "get-by-key"
	Setup   string // the situation, such as "GetByKey among 10000 objects, one goroutine"
	Metrics []Metric
	// Sides names the implementations: ours first, then the one that goals refer to. If that one
	// lacks a metric, the next side takes its place.
	Sides []string
	// Prepare makes what all rounds share and returns a Measure for each side. The results of
	// Prepare must be garbage once the experiment is over.
	Prepare func() ([]Measure, error)
	// Close, if not nil, stops what Prepare has started.
	Close func() error
	// Rounds is how often each side is measured. If it is zero, Run's argument applies.
	Rounds int
}

// Measure does the job once and returns a figure for each of the experiment's metrics, NaN for a
// metric that the side lacks. The heap is garbage collected before the call.
type Measure func() ([]float64, error)

// Metric is one measured quantity of an experiment.
type Metric struct {
	Row  string // name of the table's row, if not the experiment's
	Name string // the quantity; may be empty if the experiment's Setup names it
	Unit string
	Goal Goal // the zero Goal is none
}

// Result holds the figures of an experiment.
type Result struct {
	Experiment
	// Samples are the figures by metric, side and round.
	Samples [][][]float64
}

// Median returns the median of a metric over a side's rounds.
func (r Result) Median(metric, side int) float64 { return Median(r.Samples[metric][side]) }

// Reference returns the median that ours is compared with: that of the first other side that has
// the metric, or NaN if none has it.
func (r Result) Reference(metric int) float64 {
	for side := 1; side < len(r.Sides); side++ {
		if median := r.Median(metric, side); !math.IsNaN(median) {
			return median
		}
	}
	return nan
}

// RowName returns the name of a metric's row.
func (e Experiment) RowName(metric int) string {
	if name := e.Metrics[metric].Row; name != "" {
		return name
	}
	return e.Row
}

// Ratio returns our median divided by the reference.
func (r Result) Ratio(metric int) float64 { return r.Median(metric, 0) / r.Reference(metric) }
