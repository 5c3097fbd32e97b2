// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
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

// ReadCSV returns the results whose figures WriteCSV has written. Of the rounds it knows the best,
// the worst and the median, which stands for all others.
func ReadCSV(r io.Reader, experiments []Experiment) (results []Result, err error) {
	records, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	samples := map[[3]string][]float64{} // by row, measurement and side
	for _, record := range records[min(1, len(records)):] {
		figures, err := roundsOf(record)
		if err != nil {
			return nil, fmt.Errorf("row %q, %q of %q: %w", record[0], record[1], record[4], err)
		}
		samples[[3]string{record[0], record[1], record[4]}] = figures
	}
	for _, e := range experiments {
		result := Result{Experiment: e}
		for metric := range e.Metrics {
			var sides [][]float64
			for _, side := range e.Sides {
				figures := samples[[3]string{e.RowName(metric), e.Measurement(metric), side}]
				if figures == nil {
					figures = []float64{math.NaN()}
				}
				sides = append(sides, figures)
			}
			result.Samples = append(result.Samples, sides)
		}
		results = append(results, result)
	}
	return results, nil
}

// roundsOf returns the figures of a record: its minimum, its median once for each other round, and
// its maximum.
func roundsOf(record []string) ([]float64, error) {
	rounds, err := strconv.Atoi(record[5])
	if err != nil || rounds < 1 {
		return nil, cmp.Or(err, fmt.Errorf("%d rounds", rounds))
	}
	minimum, err := strconv.ParseFloat(record[6], 64)
	median, medianErr := strconv.ParseFloat(record[7], 64)
	maximum, maximumErr := strconv.ParseFloat(record[8], 64)
	if err := errors.Join(err, medianErr, maximumErr); err != nil || rounds == 1 {
		return []float64{minimum}, err
	}
	return append(append([]float64{minimum}, slices.Repeat([]float64{median}, rounds-2)...), maximum), nil
}

// exact formats a figure with at least six significant digits.
func exact(f float64) string {
	if math.Abs(f) >= 1e5 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}
