// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

// TestWrite writes figures without measuring them. It fails if a table names a measurement that
// does not exist.
func TestWrite(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs", "benchmarks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, sections := range map[string][]string{"README.md": {"headlines"}, "docs/benchmarks.md": {"all", rows.Small}, "docs/memory.md": {"memory"}} {
		var text strings.Builder
		for _, section := range sections {
			text.WriteString("<!-- bench: " + section + " -->\n<!-- bench: end of " + section + " -->\n")
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []options{{}, {only: rows.Small}} {
		if err := write(root, o.section(), invented(o.groups()), "the summary of "+o.section()); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"README.md":                 "| 1.0 kB (0.50x) |",
		"docs/benchmarks.md":        "the summary of small",
		"docs/memory.md":            "| 1 MB | 1 µs |",
		"docs/benchmarks/all.csv":   "\nget-by-key,",
		"docs/benchmarks/small.csv": "\npacked-informers,",
	} {
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q, error %v:\n%s", path, want, err, text)
		}
	}
}

// invented returns figures of the rows of groups. Our side has 1 in its best round.
func invented(groups []string) (results []harness.Result) {
	for _, e := range rows.In(rows.FullScale(), groups...) {
		r := harness.Result{Experiment: e}
		for range e.Metrics {
			var samples [][]float64
			for side := range e.Sides {
				samples = append(samples, []float64{float64(1 + side), float64(2 + side)})
			}
			r.Samples = append(r.Samples, samples)
		}
		results = append(results, r)
	}
	return results
}
