// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kinformer/kinformer/bench/child"
	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

// write writes the figures of a section below the root of the repository: all of them to a CSV
// file, and the summary to docs/benchmarks.md. It also writes the table of docs/memory.md from the
// figures of section "all", and that of README.md from those of section "small".
func write(root, section string, results []harness.Result, summary string) error {
	var figures bytes.Buffer
	if err := harness.WriteCSV(&figures, results, harness.Machine()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "benchmarks", section+".csv"), figures.Bytes(), 0o600); err != nil {
		return err
	}
	if err := harness.ReplaceSection(filepath.Join(root, "docs", "benchmarks.md"), section, summary); err != nil {
		return err
	}
	switch section {
	case "all":
		return writeTable(filepath.Join(root, "docs", "memory.md"), "memory", memory, results)
	case rows.Small:
		return writeTable(filepath.Join(root, "README.md"), "headlines", headlines, results)
	}
	return nil
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
	all := []string{
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
		{"client-go", "client-go", all, "initial-sync, live"},
		{"… `managedFields` cleared by a transform", "client-go, managedFields stripped", live, "omit-fields, live"},
		{"live", "kinformer", all, "initial-sync, live"},
		{"… `managedFields` omitted", "kinformer, managedFields omitted", live, "omit-fields, live"},
		{"`ShareEqual`", "kinformer, ShareEqual", all, "initial-sync, ShareEqual"},
		{"`Packed`", "kinformer, packed", all, "initial-sync, packed"},
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
