// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// WriteTable writes results as one Markdown table with a row for each metric. The figures are
// medians, with the minimum and the maximum. The columns of figures are named after the sides that
// most results have in first and second place; a cell of another side names it. Further sides share
// the last column.
func WriteTable(w io.Writer, results []Result) error {
	if len(results) == 0 {
		return nil
	}
	ours, reference := columns(results)
	rows := [][]string{{"row", "measurement", "unit", ours, reference, "ratio", "goal", "result", "other sides"}}
	for _, r := range results {
		for metric := range r.Metrics {
			rows = append(rows, rowOf(r, metric, ours, reference))
		}
	}
	return writeRows(w, rows)
}

// columns returns the names that most of the results' first and second sides have.
func columns(results []Result) (ours, reference string) {
	var firsts, seconds []string
	for _, r := range results {
		firsts = append(firsts, r.Sides[0])
		seconds = append(seconds, r.Sides[1:min(2, len(r.Sides))]...)
	}
	return mostFrequent(firsts), mostFrequent(seconds)
}

// mostFrequent returns the most frequent name, the first one if there are several.
func mostFrequent(names []string) (found string) {
	counts := make(map[string]int)
	for _, name := range names {
		counts[name]++
	}
	for _, name := range names {
		if counts[name] > counts[found] {
			found = name
		}
	}
	return found
}

func rowOf(r Result, metric int, ours, reference string) []string {
	m := r.Metrics[metric]
	measurement := r.Setup
	if m.Name != "" {
		measurement += ": " + m.Name
	}
	ratio := "–"
	if f := r.Ratio(metric); !math.IsNaN(f) {
		ratio = number(f) + "x"
	}
	second, others := "–", []string(nil)
	for side := 1; side < len(r.Sides); side++ {
		switch figures := r.Samples[metric][side]; {
		case math.IsNaN(Median(figures)):
		case second == "–":
			second = cell(r.Sides[side], reference, figures)
		default:
			others = append(others, cell(r.Sides[side], "", figures))
		}
	}
	return []string{
		r.RowName(metric), measurement, m.Unit, cell(r.Sides[0], ours, r.Samples[metric][0]), second,
		ratio, m.Goal.String(), m.Goal.Verdict(r.Median(metric, 0), r.Reference(metric)), strings.Join(others, "; "),
	}
}

// cell formats a side's figures, preceded by the side's name if it is not the column's.
func cell(side, column string, figures []float64) string {
	if side == column {
		return spread(figures)
	}
	return side + ": " + spread(figures)
}

// writeRows pads the cells, so that the table can be read without rendering it.
func writeRows(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	widths[len(widths)-1] = 3 // the last column needs no padding
	var b strings.Builder
	for i, row := range rows {
		writeRow(&b, row, widths, " ")
		if i == 0 {
			writeRow(&b, make([]string, len(row)), widths, "-")
		}
	}
	b.WriteByte('\n')
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func writeRow(b *strings.Builder, cells []string, widths []int, filler string) {
	for i, cell := range cells {
		b.WriteString("| ")
		b.WriteString(cell)
		b.WriteString(strings.Repeat(filler, max(0, widths[i]-utf8.RuneCountInString(cell))))
		b.WriteByte(' ')
	}
	b.WriteString("|\n")
}
