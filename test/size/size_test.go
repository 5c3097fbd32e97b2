// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// tolerance is how far a total of the document may be from the present one.
const tolerance = 0.05

// TestTotalsOfDocumentAreCurrent compares the totals in docs/adopting.md.
func TestTotalsOfDocumentAreCurrent(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..")) // go test caches the results of relative paths whatever the files become
	if err != nil {
		t.Fatal(err)
	}
	m, err := measure(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile(filepath.Join(root, "docs", "adopting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _, err := cut(string(document))
	if err != nil {
		t.Fatal(err)
	}
	got, want := rows(table), rows(m.totals())
	for name, lines := range want {
		if old := got[name]; math.Abs(old-lines) > tolerance*lines {
			t.Errorf("%s: docs/adopting.md has %.0f lines, want %.0f: run make size ARGS=\"-write ../docs/adopting.md\"", name, old, lines)
		}
	}
	if len(want) != 2*len(imported) || len(got) != len(want) {
		t.Errorf("found %d and %d rows", len(got), len(want))
	}
}

// TestPackagesAreListed checks that the printed table has what programs compile, and no more.
func TestPackagesAreListed(t *testing.T) {
	m, err := measure(t.Context(), filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	table := m.packageTable()
	for _, want := range []string{"| `cache` | keeps local copies", "| `clientgo` (clientgo only) | implements", "| `internal/store` | "} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	if strings.Contains(table, "`metrics`") {
		t.Errorf("package metrics is in\n%s", table)
	}
}

// rows returns the lines of code, comments included, by the first cell of a row.
func rows(table string) map[string]float64 {
	found := make(map[string]float64)
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| [\d,]+ \| ([\d,]+) \| [\d,]* \|$`).FindAllStringSubmatch(table, -1) {
		found[row[1]], _ = strconv.ParseFloat(strings.ReplaceAll(row[2], ",", ""), 64)
	}
	return found
}

func TestLinesOfCode(t *testing.T) {
	const file = `// Package a is a test.
package a

import "fmt" // beside code

/* a block

of comments */ var x = 1

func f() { // one, two

	fmt.Println(` + "`a raw\n\nstring`" + `) // three, four, five
}
`
	if got := code([]byte(file)); got != 8 {
		t.Errorf("%d lines of code, want 8", got)
	}
	if got := lines([]byte(file)); got != 15 {
		t.Errorf("%d lines, want 15", got)
	}
}

func TestDocumentNeedsMarks(t *testing.T) {
	if before, table, after, err := cut("a\n" + begin + "b\n" + end + "c\n"); before != "a\n"+begin || table != "b\n" || after != end+"c\n" || err != nil {
		t.Errorf("%q, %q, %q, error %v", before, table, after, err)
	}
	for _, document := range []string{"", begin, end, end + begin} {
		if _, _, _, err := cut(document); err == nil {
			t.Errorf("%q: no error", document)
		}
	}
}
