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
	"strings"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

// write writes the figures of a section below the root of the repository: all of them to a CSV
// file, the summary to docs/benchmarks/rows.md, the published rows to docs/benchmarks.md, and the
// tables of section "all" to README.md and docs/memory.md.
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
	if section == all {
		table, err := headlines(results)
		if err != nil {
			return err
		}
		if err := harness.ReplaceSection(filepath.Join(root, "README.md"), "headlines", table); err != nil {
			return err
		}
		if table, err = memory(results); err != nil {
			return err
		}
		if err := harness.ReplaceSection(filepath.Join(root, "docs", "memory.md"), "memory", table); err != nil {
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

// headlines returns README's table: the ratios of live and of packed informers, with the spreads of
// both sides.
func headlines(results []harness.Result) (string, error) {
	cells := map[string]string{"": "–"} // by row and measurement
	for _, r := range results {
		for metric := range r.Metrics {
			cells[r.RowName(metric)+", "+r.Measurement(metric)] = strings.TrimSuffix(r.Figure(metric)+" ("+r.Spreads(metric)+")", " (–)")
		}
	}
	table := [][]string{{"kinformer / client-go", "live", "packed"}}
	for _, line := range [][]string{
		{"heap of a cached Pod", "memory-per-object, live: heap", "memory-per-object, packed: heap"},
		{"peak memory until synced", "initial-sync, live: peak RSS above idle until synced", "initial-sync, packed: peak RSS above idle until synced"},
		{"CPU until synced", "initial-sync, live: CPU until synced", "initial-sync, packed: CPU until synced"},
		{"CPU of an event to 4 handlers", "event-over-http, 4 handlers, live: CPU of an event", "event-over-http, 4 handlers, packed: CPU of an event"},
		{"CPU of a relist, 1 % changed", "relist, live: CPU of a relist, 1 % changed", "relist, packed: CPU of a relist, 1 % changed"},
		{"CPU of a get by key", "get-by-key, 10000 objects, one goroutine: CPU of GetByKey", ""},
	} {
		for i, name := range line[1:] {
			cell, ok := cells[name]
			if !ok {
				return "", fmt.Errorf("no measurement %q", name)
			}
			line[i+1] = cell
		}
		table = append(table, line)
	}
	return harness.Table(table) + "\n", nil
}

// memory returns the table of docs/memory.md: the figures of each way to store objects.
func memory(results []harness.Result) (string, error) {
	best := map[string]float64{} // by row, measurement and side
	for _, r := range results {
		for metric := range r.Metrics {
			for side, name := range r.Sides {
				best[r.RowName(metric)+", "+r.Measurement(metric)+" of "+name] = r.Best(metric, side)
			}
		}
	}
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
			f, ok := best[measurement+" of "+line.side]
			if !ok {
				missing = fmt.Errorf("no measurement %q of %q", measurement, line.side)
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
			return "", missing
		}
		table = append(table, cells)
	}
	return harness.Table(table) + "\n", nil
}
