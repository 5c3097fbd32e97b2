// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kinformer/kinformer/bench/harness"
)

// write writes the figures of a section below the root of the repository: all of them to a CSV
// file, the summary to docs/benchmarks.md, and the headlines of section "all" to README.md.
func write(root, section string, results []harness.Result, summary string) error {
	var figures bytes.Buffer
	if err := harness.WriteCSV(&figures, results, harness.Machine()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "docs", "benchmarks", section+".csv"), figures.Bytes(), 0o600); err != nil {
		return err
	}
	if err := harness.ReplaceSection(filepath.Join(root, "docs", "benchmarks.md"), section, summary); err != nil || section != "all" {
		return err
	}
	table, err := headlines(results)
	if err != nil {
		return err
	}
	return harness.ReplaceSection(filepath.Join(root, "README.md"), "headlines", table)
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
