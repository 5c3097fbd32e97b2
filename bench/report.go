// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

// write writes the figures of a section below the root of the repository: all of them to a CSV
// file, the summary to docs/benchmarks/rows.md, the published rows to docs/benchmarks.md, the
// table of section "all" to docs/memory.md, and that of section "small" to README.md.
func write(root, section string, results []harness.Result, summary string) error {
	var figures bytes.Buffer
	if err := harness.WriteCSV(&figures, results, harness.Machine()); err != nil {
		return err
	}
	if err := os.WriteFile(figuresOf(root, section), figures.Bytes(), 0o600); err != nil {
		return err
	}
	if err := harness.ReplaceSection(filepath.Join(root, "docs", "benchmarks", "rows.md"), section, summary); err != nil {
		return err
	}
	switch section {
	case all:
		if err := writeTable(filepath.Join(root, "docs", "memory.md"), "memory", memory, results); err != nil {
			return err
		}
	case rows.Small:
		if err := writeTable(filepath.Join(root, "README.md"), "headlines", headlines, results); err != nil {
			return err
		}
	}
	table, err := publishedRows(root)
	if err != nil {
		return err
	}
	return harness.ReplaceSection(filepath.Join(root, "docs", "benchmarks.md"), "rows", table)
}

// figuresOf returns the path of the CSV file of a section.
func figuresOf(root, section string) string {
	return filepath.Join(root, "docs", "benchmarks", section+".csv")
}

// published returns the rows of docs/benchmarks.md. Each holds a goal, or a claim of README, and is
// a heap, which does not depend on the processor or its load.
func published() []string {
	return []string{
		"memory-per-object, live: heap",
		"memory-per-object, packed: heap",
		"memory-per-object, packed, 1 per workload: heap",
		"partial-object, six fields, packed: heap",
		"small-informers, live, 20 Pods each: heap",
		"small-informers, packed, 20 Pods each: heap",
		"packed-informers, 1 of 1000 Pods, index by node: heap",
		"import-alone, metrics-server, metadata of 20000 Pods: heap",
	}
}

// publishedRows returns the table of docs/benchmarks.md, of the CSV files of all sections.
func publishedRows(root string) (string, error) {
	var results []harness.Result
	missing := published()
	for _, section := range append([]string{all}, onRequest()...) {
		file, err := os.Open(figuresOf(root, section))
		if err != nil {
			return "", err
		}
		read, err := harness.ReadCSV(file, rows.In(rows.FullScale(), groupsOf(section)...))
		if err := errors.Join(err, file.Close()); err != nil {
			return "", fmt.Errorf("%s: %w", file.Name(), err)
		}
		for _, r := range read {
			for metric, m := range r.Metrics {
				name := r.RowName(metric) + ", " + r.Measurement(metric)
				i := slices.Index(missing, name)
				if i < 0 || math.IsNaN(r.Best(metric, 0)) {
					continue
				}
				if r.Unstable(metric) {
					return "", fmt.Errorf("%s: %s is unstable: spread %s", file.Name(), name, r.Spreads(metric))
				}
				missing = slices.Delete(missing, i, i+1)
				one := r
				one.Metrics, one.Samples = []harness.Metric{m}, r.Samples[metric:metric+1]
				results = append(results, one)
			}
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("no figures of %q", missing)
	}
	return harness.Summary(results) + "\n", nil
}

// writeTable replaces a section of a document by a table of the figures.
func writeTable(document, section string, table func(bestFigures) ([][]string, error), results []harness.Result) error {
	lines, err := table(bestOf(results))
	if err != nil {
		return err
	}
	return harness.ReplaceSection(document, section, harness.Table(lines)+"\n")
}

// bestFigures are the best figures of each side, by row, measurement and side.
type bestFigures map[string]float64

func bestOf(results []harness.Result) bestFigures {
	best := bestFigures{}
	for _, r := range results {
		for metric := range r.Metrics {
			for side, name := range r.Sides {
				best[r.RowName(metric)+", "+r.Measurement(metric)+" of "+name] = r.Best(metric, side)
			}
		}
	}
	return best
}

// of returns the figure of a side.
func (b bestFigures) of(measurement, side string) (float64, error) {
	figure, ok := b[measurement+" of "+side]
	if !ok {
		return 0, fmt.Errorf("no measurement %q of %q", measurement, side)
	}
	return figure, nil
}

// headlines returns README's table: the heap of an informer of few and of many Pods.
func headlines(best bestFigures) ([][]string, error) {
	table := [][]string{{"heap of an informer of", "20 Pods", "1,000 Pods", "20,000 Pods", "measured by"}}
	for _, line := range []struct{ name, row, side string }{
		{"client-go", "packed-informers", child.ClientGoInformers},
		{"kinformer, by the import alone", "imported-informers", child.AdapterInformers},
		{"kinformer, `Packed`", "packed-informers", child.PackedInformers},
	} {
		cells := []string{line.name}
		for _, pods := range []int{20, 1000, 20_000} {
			setup := fmt.Sprintf("%s, 1 of %d Pods: heap", line.row, pods)
			heap, err := best.of(setup, line.side)
			if err != nil {
				return nil, err
			}
			reference, err := best.of(setup, child.ClientGoInformers)
			if err != nil {
				return nil, err
			}
			cell := kilobytes(heap)
			if line.side != child.ClientGoInformers {
				cell += " (" + ratio(heap/reference) + ")"
			}
			cells = append(cells, cell)
		}
		table = append(table, append(cells, "row *"+line.row+"*"))
	}
	return table, nil
}

// ratio formats a ratio with two decimals, or two significant digits if it is small.
func ratio(f float64) string {
	if f < 0.1 {
		return fmt.Sprintf("%.2gx", f)
	}
	return fmt.Sprintf("%.2fx", f)
}

// kilobytes formats a number of kB, with up to three significant digits.
func kilobytes(kB float64) string {
	unit := "kB"
	if kB >= 1000 {
		kB, unit = kB/1000, "MB"
	}
	digits := 0
	if kB < 100 {
		digits = 1
	}
	return strconv.FormatFloat(kB, 'f', digits, 64) + " " + unit
}

// memory returns the table of docs/memory.md: the figures of each way to store objects.
func memory(best bestFigures) ([][]string, error) {
	heaps := []string{
		"memory-per-object, packed: heap", "memory-per-object, packed, 3 per workload: heap", "memory-per-object, packed, 1 per workload: heap",
		"memory-per-object, 5000 Nodes, packed: heap", "memory-per-object, 10000 unstructured custom resources, packed: heap",
	}
	live := []string{"omit-fields, live: heap"}
	packed := []string{"omit-fields, packed, 20 per workload: heap", "omit-fields, packed, 3 per workload: heap", "omit-fields, packed, 1 per workload: heap"}
	table := [][]string{{"", "Pods, 20 of each workload", "3", "1", "Nodes", "custom resources", "peak", "CPU"}}
	for _, line := range []struct {
		name, side string
		heaps      []string
		sync       string
	}{
		{"client-go", "client-go", heaps, "initial-sync, live"},
		{"… `managedFields` cleared by a transform", "client-go, managedFields stripped", live, "omit-fields, live"},
		{"live", "kinformer", heaps, "initial-sync, live"},
		{"… `managedFields` omitted", "kinformer, managedFields omitted", live, "omit-fields, live"},
		{"`ShareEqual`", "kinformer, ShareEqual", heaps, "initial-sync, ShareEqual"},
		{"`Packed`", "kinformer, packed", heaps, "initial-sync, packed"},
		{"… `managedFields` omitted", "kinformer, packed, managedFields omitted", packed, "omit-fields, packed, 20 per workload"},
	} {
		var missing error
		figure := func(measurement, unit string) string {
			f, err := best.of(measurement, line.side)
			if err != nil {
				missing = err
			}
			return fmt.Sprintf("%.0f%s", f, unit)
		}
		cells := make([]string, len(table[0]))
		cells[0] = line.name
		for i, measurement := range line.heaps {
			cells[1+i] = figure(measurement, "")
		}
		if strings.HasPrefix(line.sync, "initial-sync") { // omit-fields does not measure it
			cells[6] = figure(line.sync+": peak RSS above idle until synced", " MB")
		}
		cells[7] = figure(line.sync+": CPU until synced", " µs")
		if missing != nil {
			return nil, missing
		}
		table = append(table, cells)
	}
	return table, nil
}
