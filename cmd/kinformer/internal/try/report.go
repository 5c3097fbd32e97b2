// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/internal/units"
)

// Results of a package, and kinds of failures.
const (
	equal        = "equal"
	differs      = "differs"
	notTried     = "not tried"
	failsOnBoth  = "fails on both"
	flakyWithout = "flaky on client-go"
)

// notLinked is why a package was not run: its test binary does not contain client-go's tools/cache.
const notLinked = "no informers linked"

// report is the result of the command, and its form in JSON.
type report struct {
	Packages []tried `json:"packages"`
	Raised   []raise `json:"raised,omitempty"`
}

// tried is the result of a package.
type tried struct {
	Package string `json:"package"`
	Result  string `json:"result"`
	Reason  string `json:"reason,omitempty"` // why it was not tried, or does not compile
	Runs    int    `json:"runs,omitempty"`   // of each side
	// Informers are those that kinformer made, and NotReplaced those that client-go made on
	// kinformer's side.
	Informers   int       `json:"informers"`
	NotReplaced int       `json:"notReplaced,omitempty"`
	ClientGo    *figures  `json:"clientGo,omitempty"`
	Kinformer   *figures  `json:"kinformer,omitempty"`
	Failures    []failure `json:"failures,omitempty"`
}

// figures are those of the first run of one side.
type figures struct {
	Tests        int     `json:"tests"`
	Failed       int     `json:"failed"`
	Seconds      float64 `json:"seconds"`
	PeakRSSBytes int64   `json:"peakRSSBytes,omitempty"`
}

// failure is a test that failed, and the number of runs in which it did.
type failure struct {
	Test      string   `json:"test"`
	ClientGo  int      `json:"clientGo"`
	Kinformer int      `json:"kinformer"`
	Output    []string `json:"output,omitempty"` // the end of it, if the sides differ
}

// kind returns what a failure shows, after a number of runs.
func (f failure) kind(runs int) string {
	switch {
	case f.ClientGo == runs && f.Kinformer == runs:
		return failsOnBoth
	case f.ClientGo > 0 && f.ClientGo < runs:
		return flakyWithout
	}
	return differs
}

// finish prints the report. It returns an error if the sides differ, or nothing was tried.
func (r *report) finish(format string, out io.Writer) error {
	write := r.writeTable
	if format == "json" {
		write = r.writeJSON
	}
	if err := write(out); err != nil {
		return err
	}
	results := map[string]int{}
	for _, p := range r.Packages {
		results[p.Result]++
	}
	switch {
	case results[differs] > 0:
		return fmt.Errorf("the tests of %s differ", units.Plural(results[differs], "package"))
	case results[equal] == 0:
		return errors.New("nothing was tried: no test made an informer")
	}
	return nil
}

func (r *report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r *report) writeTable(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PACKAGE\tINFORMERS\tTESTS\tFAILED\tSECONDS\tPEAK RSS, MB\tRESULT")
	without := 0
	for _, p := range r.Packages {
		if p.Reason == notLinked {
			without++
			continue
		}
		fmt.Fprintln(table, p.row())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range r.Packages {
		p.writeDetails(out)
	}
	fmt.Fprintln(out)
	if without > 0 {
		fmt.Fprintf(out, "not tried: %s whose tests do not contain client-go's informers\n", units.Plural(without, "package"))
	}
	for _, m := range r.Raised {
		fmt.Fprintf(out, "raised on both sides: %s %s to %s\n", m.Module, m.From, m.To)
	}
	_, err := io.WriteString(out, legend)
	return err
}

const legend = `Of two figures, the first is client-go's and the second kinformer's. INFORMERS are those that kinformer made. TESTS
include subtests, and PEAK RSS the processes that the tests start; it is "?" if it is less than that of this command.
`

// row returns the cells of the package's row.
func (p tried) row() string {
	if p.ClientGo == nil {
		return p.Package + "\t\t\t\t\t\t" + p.result()
	}
	a, b := p.ClientGo, p.Kinformer
	return fmt.Sprintf("%s\t%s\t%d / %d\t%d / %d\t%s / %s\t%s / %s\t%s", p.Package, units.Count(p.Informers), a.Tests, b.Tests, a.Failed, b.Failed,
		units.Digits(a.Seconds), units.Digits(b.Seconds), megabytes(a.PeakRSSBytes), megabytes(b.PeakRSSBytes), p.result())
}

func (p tried) result() string {
	if p.Result == notTried {
		return notTried + ": " + p.Reason
	}
	return p.Result
}

// megabytes returns a size, or "?" where it is unknown.
func megabytes(bytes int64) string {
	if bytes <= 0 {
		return "?"
	}
	return units.Digits(float64(bytes) / 1e6)
}

// writeDetails writes what the row does not say.
func (p tried) writeDetails(out io.Writer) {
	if p.Result == differs && p.Reason != "" {
		fmt.Fprintf(out, "\n%s does not compile:\n", p.Package)
		writeLines(out, strings.Split(p.Reason, "\n"))
	}
	if p.NotReplaced > 0 {
		fmt.Fprintf(out, "\n%s: client-go made %s on kinformer's side, before its constructors were replaced\n", p.Package,
			units.Plural(p.NotReplaced, "informer"))
	}
	for _, f := range p.Failures {
		fmt.Fprintf(out, "\n%s %s %s: failed in %d of %s on client-go, %d on kinformer\n", p.Package, f.Test, f.kind(p.Runs),
			f.ClientGo, units.Plural(p.Runs, "run"), f.Kinformer)
		writeLines(out, f.Output)
	}
}

func writeLines(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "    %s\n", command.Sanitize(line))
	}
}
