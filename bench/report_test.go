// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/bench/harness"
	"github.com/kinformer/kinformer/bench/rows"
)

var updateDocument = flag.Bool("update-document", false, "write the rows of docs/benchmarks.md of the CSV files")

// TestDocumentHasThePublishedRows checks the table of docs/benchmarks.md: the eight rows, each of
// which is stable.
func TestDocumentHasThePublishedRows(t *testing.T) {
	const document = "../docs/benchmarks.md"
	table, err := publishedRows("..")
	if err != nil {
		t.Fatal(err)
	}
	if *updateDocument {
		if err := harness.ReplaceSection(document, "rows", table); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "<!-- bench: rows -->\n\n"+table+"<!-- bench: end of rows -->\n") {
		t.Errorf("the rows of %s are out of date: run go -C bench test . -update-document; error %v", document, err)
	}
	if n := len(published()); n != 8 {
		t.Errorf("%d published rows, want 8", n)
	}
}

// TestEachSectionHasItsPlace checks that each command finds its section in docs/benchmarks/rows.md.
// Section adopters is that of e2e/adopters/prometheus/measure.
func TestEachSectionHasItsPlace(t *testing.T) {
	text, err := os.ReadFile("../docs/benchmarks/rows.md")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "rows.md")
	if err := os.WriteFile(page, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, section := range append([]string{all, "adopters"}, onRequest()...) {
		if err := harness.ReplaceSection(page, section, "the table of "+section); err != nil {
			t.Error(err)
		}
	}
}

// TestWrite writes figures without measuring them. It fails if a table names a measurement that
// does not exist.
func TestWrite(t *testing.T) {
	root := pages(t)
	for _, section := range []string{all, rows.Small} {
		if err := write(root, section, figures(section, 1.25), "the summary of "+section); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"README.md":               "| 1.0 kB (0.50x) |",
		"docs/benchmarks.md":      "| import-alone      | metrics-server, metadata of 20000 Pods: heap | 0.5x  | 1.25x, 1.25x | 2      | ≤ 0.5x",
		"docs/benchmarks/rows.md": "the summary of small",
		"docs/memory.md":          "| 1 MB | 1 µs |",
		"docs/benchmarks/all.csv": "\nget-by-key,",
	} {
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q, error %v:\n%s", path, want, err, text)
		}
	}
}

// TestUnstableRowIsNotPublished checks that docs/benchmarks.md keeps its rows if a new figure of
// one is unstable.
func TestUnstableRowIsNotPublished(t *testing.T) {
	root := pages(t)
	if err := write(root, rows.Small, figures(rows.Small, 1.25), "the summary"); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(root, "docs", "benchmarks.md")
	before, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	err = write(root, rows.Small, figures(rows.Small, 2), "the summary")
	if err == nil || !strings.Contains(err.Error(), "small-informers, packed, 20 Pods each: heap is unstable: spread 2.00x") {
		t.Errorf("error %v", err)
	}
	if after, err := os.ReadFile(document); err != nil || !bytes.Equal(after, before) {
		t.Errorf("docs/benchmarks.md has changed, error %v", err)
	}
}

// pages returns the root of a repository with the figures and the pages that write changes.
func pages(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "docs", "benchmarks"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, section := range append([]string{all}, onRequest()...) {
		var csv bytes.Buffer
		if err := harness.WriteCSV(&csv, figures(section, 1.25), "a machine"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(figuresOf(root, section), csv.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{
		"README.md": marks("headlines"), "docs/benchmarks.md": marks("rows"), "docs/benchmarks/rows.md": marks(append([]string{all}, onRequest()...)...), "docs/memory.md": marks("memory"),
	} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// marks returns a page with empty sections.
func marks(sections ...string) (page string) {
	for _, section := range sections {
		page += "<!-- bench: " + section + " -->\n<!-- bench: end of " + section + " -->\n"
	}
	return page
}

// figures returns results of a section that nothing has measured: of each side two rounds with a
// spread, the best of which is the number of the side.
func figures(section string, spread float64) (results []harness.Result) {
	for _, e := range rows.In(rows.FullScale(), groupsOf(section)...) {
		r := harness.Result{Experiment: e}
		for range e.Metrics {
			var samples [][]float64
			for side := range e.Sides {
				best := float64(1 + side)
				samples = append(samples, []float64{best, spread * best})
			}
			r.Samples = append(r.Samples, samples)
		}
		results = append(results, r)
	}
	return results
}
