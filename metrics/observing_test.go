// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var updateDocument = flag.Bool("update-document", false, "write the table of docs/observing.md")

const (
	document   = "../docs/observing.md"
	tableBegin = "<!-- metrics: begin, written by go -C metrics test . -update-document -->\n"
	tableEnd   = "<!-- metrics: end -->\n"
)

// TestDocumentListsTheMetrics checks the table of docs/observing.md.
func TestDocumentListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	table, after, alsoOK := strings.Cut(rest, tableEnd)
	if !ok || !alsoOK {
		t.Fatalf("%s has no table of metrics", document)
	}
	want := metricsTable()
	if *updateDocument {
		if err := os.WriteFile(document, []byte(before+tableBegin+want+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		table = want
	}
	if table != want {
		t.Errorf("the table of %s is out of date: run go -C metrics test . -update-document", document)
	}
}

// metricsTable returns the families as a Markdown table.
func metricsTable() string {
	var table strings.Builder
	table.WriteString("| metric | meaning |\n|---|---|\n")
	for _, f := range families() {
		meaning := strings.ReplaceAll(f.help, "<error>", "`<error>`")
		fmt.Fprintf(&table, "| `%s` | %s |\n", f.name, meaning)
	}
	return table.String()
}

// TestNamesOfCountersEndInTotal checks what docs/observing.md says of types.
func TestNamesOfCountersEndInTotal(t *testing.T) {
	for _, f := range families() {
		if f.isCounter != strings.HasSuffix(f.name, "_total") {
			t.Errorf("%s: is a counter: %v", f.name, f.isCounter)
		}
	}
}
