// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
)

// WriteCSV writes a record with the absolute figures of each metric and side.
func WriteCSV(w io.Writer, results []Result, machine string) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"row", "measurement", "unit", "goal", "side", "rounds", "minimum", "median", "maximum", "machine"})
	for _, r := range results {
		for metric, m := range r.Metrics {
			for side, figures := range r.Samples[metric] {
				if math.IsNaN(r.Best(metric, side)) {
					continue
				}
				_ = out.Write([]string{
					r.RowName(metric), r.Measurement(metric), m.Unit, m.Goal.text, r.Sides[side], strconv.Itoa(len(figures)),
					exact(slices.Min(figures)), exact(r.Median(metric, side)), exact(slices.Max(figures)), machine,
				})
			}
		}
	}
	out.Flush()
	return out.Error()
}

// exact formats a figure with at least six significant digits.
func exact(f float64) string {
	if math.Abs(f) >= 1e5 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}
