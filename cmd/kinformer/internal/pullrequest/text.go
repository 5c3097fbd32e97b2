// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullrequest prints the text for a pull request that adopts kinformer. Commands adopt and
// try share it; what another command has measured is read from its output in JSON.
package pullrequest

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/measure"
	"github.com/kinformer/kinformer/internal/units"
)

// Text is what a pull request says.
type Text struct {
	Lines    Lines
	Vendored *Vendored // nil if the program is not vendored, or the files were not counted
	Modules  []Module  // of go.mod
	Tests    *Tests    // nil if they did not run
	Cost     *Cost     // nil if nothing was measured
	Packed   bool      // the informers have the option
	// TestsChange reports whether the lines may be in tests, too.
	TestsChange bool
}

// Lines are the changed lines of Go files.
type Lines struct{ Files, Added, Removed int }

// Add counts the lines of a file that only one of two versions has.
func (l *Lines) Add(before, after []byte) {
	counts := map[string]int{}
	for line := range bytes.Lines(after) {
		counts[string(line)]++
	}
	for line := range bytes.Lines(before) {
		counts[string(line)]--
	}
	l.Files++
	for _, n := range counts {
		l.Added += max(n, 0)
		l.Removed += max(-n, 0)
	}
}

// Module is a module whose version in go.mod changes.
type Module struct{ Path, Before, After string }

// Print prints the text in Markdown.
func (t *Text) Print(out io.Writer) {
	others := ", listers and tests"
	if t.TestsChange {
		others = " and listers"
	}
	fmt.Fprintf(out, "\nText for the pull request:\n\n")
	fmt.Fprintf(out, "This makes the program use [kinformer](https://github.com/kinformer/kinformer)'s informers in place of client-go's.\n")
	fmt.Fprintf(out, "It changes %s: %s added, %d removed. Handlers%s stay.\n",
		units.Plural(int64(t.Lines.Files), "Go file"), units.Plural(int64(t.Lines.Added), "line"), t.Lines.Removed, others)
	if v := t.Vendored; v != nil {
		fmt.Fprintf(out, "`go mod vendor` adds %s, changes %s and removes %s: `vendor` has %s before, %s after (%s).\n",
			units.Plural(int64(v.Added), "file"), units.Count(v.Changed), units.Count(v.Removed),
			oneDigit(v.BeforeBytes), oneDigit(v.AfterBytes), growth(v.BeforeBytes, v.AfterBytes))
	}
	fmt.Fprintln(out)
	t.printModules(out)
	t.printBinaries(out)
	t.printTests(out)
	t.printCost(out)
	fmt.Fprintf(out, `The way back is to revert this commit. To decide when the program starts, pass a flag of the program as
`+"`UseClientGo` in `clientgo.Options`"+`: https://github.com/kinformer/kinformer/blob/main/docs/adopting.md#the-line-and-the-way-back
`)
}

func (t *Text) printModules(out io.Writer) {
	if len(t.Modules) == 0 {
		fmt.Fprintf(out, "go.mod requires the same modules.\n\n")
		return
	}
	fmt.Fprintf(out, "| module | before | after |\n|---|---|---|\n")
	for _, m := range t.Modules {
		fmt.Fprintf(out, "| %s | %s | %s |\n", m.Path, cmp.Or(m.Before, "none"), m.After)
	}
	fmt.Fprintln(out)
}

func (t *Text) printBinaries(out io.Writer) {
	if t.Tests == nil || len(t.Tests.Binaries) == 0 {
		return
	}
	fmt.Fprintf(out, "| binary, by `go build -trimpath` | before | after | |\n|---|---|---|---|\n")
	for _, b := range t.Tests.Binaries {
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", b.Package, built(b.BeforeBytes), built(b.AfterBytes), growth(b.BeforeBytes, b.AfterBytes))
	}
	fmt.Fprintln(out)
}

func (t *Text) printTests(out io.Writer) {
	if t.Tests == nil {
		fmt.Fprintf(out, "Tests on both informers, and binaries: not measured; `kinformer try -o json ./... >try.json` and `--try try.json` add them here.\n\n")
		return
	}
	fmt.Fprintf(out, "The program's own tests with client-go's informers / with kinformer's (`kinformer try`):\n\n")
	fmt.Fprintf(out, "| package | tests | failed | peak RSS, MB | result |\n|---|---|---|---|---|\n")
	for _, p := range t.Tests.Packages {
		if a, b := p.ClientGo, p.Kinformer; p.isTried() {
			fmt.Fprintf(out, "| %s | %d / %d | %d / %d | %s / %s | %s |\n", p.Package, a.Tests, b.Tests, a.Failed, b.Failed,
				megabytes(a.PeakRSSBytes), megabytes(b.PeakRSSBytes), p.Result)
		}
	}
	fmt.Fprintln(out)
}

func (t *Text) printCost(out io.Writer) {
	if t.Cost == nil {
		fmt.Fprintf(out, "Heap and peak in a cluster: not measured; `kinformer cost -o json RESOURCE... >cost.json` and `--cost cost.json` add them here.\n\n")
		return
	}
	after := measure.Live
	if t.Packed {
		after = measure.Packed
	}
	fmt.Fprintf(out, "Memory of a cache with client-go / with %s (`kinformer cost`):\n\n", after)
	fmt.Fprintf(out, "| resource | objects | heap, MB | peak RSS, MB |\n|---|---|---|---|\n")
	for _, r := range t.Cost.Resources {
		a, b := r.cache(measure.ClientGo), r.cache(after)
		fmt.Fprintf(out, "| %s | %s | %s / %s | %s / %s |\n", r.Resource, units.Count(r.Objects),
			megabytes(a.HeapBytes), megabytes(b.HeapBytes), megabytes(a.PeakRSSBytes), megabytes(b.PeakRSSBytes))
	}
	fmt.Fprintln(out)
}

// megabytes returns a size, or "?" where it is unknown.
func megabytes(bytes int64) string {
	if bytes <= 0 {
		return "?"
	}
	return units.Digits(float64(bytes) / 1e6)
}

func oneDigit(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// built returns the size of a binary, or that the go command could not build it.
func built(bytes int64) string {
	if bytes == 0 {
		return "not built"
	}
	return oneDigit(bytes)
}

// growth returns the difference of two sizes in per cent, or "" if one is unknown.
func growth(before, after int64) string {
	if before == 0 || after == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f %%", 100*float64(after-before)/float64(before))
}
