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
	var results []harness.Result
	for _, e := range rows.In(rows.FullScale(), options{}.groups()...) {
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
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs", "benchmarks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, page := range []struct{ path, section string }{{"README.md", "headlines"}, {"docs/benchmarks.md", "all"}, {"docs/memory.md", "memory"}} {
		text := "<!-- bench: " + page.section + " -->\n<!-- bench: end of " + page.section + " -->\n"
		if err := os.WriteFile(filepath.Join(root, page.path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(root, "all", results, "the summary"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"README.md":               "0.5x (2.00x, 1.50x, **unstable**)",
		"docs/benchmarks.md":      "the summary",
		"docs/memory.md":          "| 1 MB | 1 µs |",
		"docs/benchmarks/all.csv": "\nget-by-key,",
	} {
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q, error %v:\n%s", path, want, err, text)
		}
	}
}
