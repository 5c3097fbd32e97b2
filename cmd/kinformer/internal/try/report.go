// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/adopt"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
	"github.com/kinformer/kinformer/internal/units"
)

// Results of a package and of a test.
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
	Kinformer string           `json:"kinformer"` // its version, or the folder or module that replaces it
	Packages  []packageResult  `json:"packages"`
	Upgraded  []upgrade        `json:"upgraded,omitempty"`
	Streaming *adopt.Streaming `json:"streaming,omitempty"` // absent if it is not known
	// The size of the pull request, unless results differ.
	Vendored *pullrequest.Vendored `json:"vendored,omitempty"`
	Binaries []pullrequest.Binary  `json:"binaries,omitempty"`
	// NotRun is the number of packages that were not tried because the command was stopped.
	NotRun int `json:"notRun,omitempty"`

	text *pullrequest.Text // for a pull request, or nil if it is not known
}

// packageResult is the result of a package.
type packageResult struct {
	Package     string       `json:"package"`
	Result      string       `json:"result"`
	Reason      string       `json:"reason,omitempty"`      // for a result that the tests' outcomes do not explain
	Runs        int          `json:"runs,omitempty"`        // of each side
	NotReplaced int          `json:"notReplaced,omitempty"` // informers that client-go made on kinformer's side
	ClientGo    *figures     `json:"clientGo,omitempty"`
	Kinformer   *figures     `json:"kinformer,omitempty"`
	Tests       []comparison `json:"tests,omitempty"` // that failed, or whose outcomes differ
}

// figures are those of the first run of one side.
type figures struct {
	Informers    int     `json:"informers"`
	Tests        int     `json:"tests"` // without skipped ones
	Failed       int     `json:"failed"`
	Skipped      int     `json:"skipped,omitempty"`
	Seconds      float64 `json:"seconds"`
	PeakRSSBytes int64   `json:"peakRSSBytes,omitempty"`
}

// comparison has the outcomes of a test in each run.
type comparison struct {
	Test      string    `json:"test"`
	Result    string    `json:"result"`
	ClientGo  []outcome `json:"clientGo"`
	Kinformer []outcome `json:"kinformer"`
	Output    []string  `json:"output,omitempty"` // the end of it, if the outcomes differ
}

// result returns what the outcomes show. Without a failure, equal includes names that are not the
// same in each run on client-go, and those of subtests that one run makes up.
func (c comparison) result() string {
	runs, clientGoFailures, kinformerFailures := len(c.ClientGo), countFailures(c.ClientGo), countFailures(c.Kinformer)
	switch {
	case isConstant(slices.Concat(c.ClientGo, c.Kinformer)):
		if clientGoFailures > 0 {
			return failsOnBoth
		}
		return equal
	case isConstant(c.ClientGo):
		if c.ClientGo[0] == notRun && kinformerFailures == 0 && !isConstant(c.Kinformer) {
			return equal
		}
		return differs
	case clientGoFailures == runs && kinformerFailures == runs:
		return failsOnBoth
	case clientGoFailures > 0 && clientGoFailures < runs:
		return flakyWithout
	case clientGoFailures == kinformerFailures:
		return equal
	}
	return differs
}

func countFailures(outcomes []outcome) (n int) {
	for _, o := range outcomes {
		if o.isFailure() {
			n++
		}
	}
	return n
}

// isConstant reports whether all outcomes are the same.
func isConstant(outcomes []outcome) bool { return len(slices.Compact(slices.Clone(outcomes))) == 1 }

// err returns an error if the sides differ, or nothing was tried.
func (r *report) err() error {
	results := r.results()
	switch {
	case results[differs] > 0:
		return fmt.Errorf("the tests of %s differ", units.Plural(results[differs], "package"))
	case results[equal] == 0:
		return r.notTried()
	}
	return nil
}

// results returns the number of packages by their result.
func (r *report) results() map[string]int {
	results := map[string]int{}
	for _, p := range r.Packages {
		results[p.Result]++
	}
	return results
}

// notTried returns the error for a report without a package that was tried.
func (r *report) notTried() error {
	reasons := map[string]int{}
	for _, p := range r.Packages {
		reasons[p.Reason]++
	}
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		texts = append(texts, fmt.Sprintf("%s: %s", units.Plural(reasons[reason], "package"), reason))
	}
	return fmt.Errorf("nothing was tried: %s", strings.Join(texts, "; "))
}

func (r *report) writeJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// printer prints a report: the row of a package as soon as it is known.
type printer struct {
	report *report
	out    io.Writer
	json   bool
	width  int // of the first column
}

// begin returns the printer, and prints the header of the table.
func (r *report) begin(format string, out io.Writer, p *program) *printer {
	t := &printer{report: r, out: out, json: format == "json", width: len("PACKAGE")}
	for _, pkg := range p.packages {
		if pkg.hasCache {
			t.width = max(t.width, len(pkg.name(p.path)))
		}
	}
	if !t.json {
		t.printRow("PACKAGE", "INFORMERS", "TESTS", "FAILED", "SECONDS", "PEAK RSS, MB", "RESULT")
	}
	return t
}

// printRow prints the cells of a row. Wider ones shift the rest of the row.
func (t *printer) printRow(cells ...any) {
	format := fmt.Sprintf("%%-%ds   %%-13s   %%-13s   %%-7s   %%-13s   %%-13s   %%s\n", t.width)
	fmt.Fprintf(t.out, format, cells...)
}

// add adds a package to the report, and prints its row.
func (t *printer) add(p packageResult) {
	t.report.Packages = append(t.report.Packages, p)
	if !t.json && p.Reason != notLinked {
		t.printRow(p.row()...)
	}
}

// end prints the rest of the report.
func (t *printer) end() error {
	r, out := t.report, t.out
	if t.json {
		return r.writeJSON(out)
	}
	without := 0
	for _, p := range r.Packages {
		if p.Reason == notLinked {
			without++
		}
		p.writeDetails(out)
	}
	fmt.Fprintln(out)
	if r.NotRun > 0 {
		fmt.Fprintf(out, "stopped: %s not tried\n", units.Plural(r.NotRun, "package"))
	}
	if without > 0 {
		fmt.Fprintf(out, "not tried: %s whose tests do not contain client-go's informers\n", units.Plural(without, "package"))
	}
	fmt.Fprintf(out, "kinformer: %s\n", r.Kinformer)
	for _, m := range r.Upgraded {
		fmt.Fprintf(out, "upgraded on both sides: %s %s to %s\n", m.Module, m.From, m.To)
	}
	if r.Streaming != nil {
		r.Streaming.Print(out)
	}
	if _, err := io.WriteString(out, legend); err != nil {
		return err
	}
	if r.isForPullRequest() {
		r.text.Tests, r.text.Vendored = r.tests(), r.Vendored
		r.text.Print(out)
	}
	return nil
}

// isForPullRequest reports whether the report has a text for a pull request.
func (r *report) isForPullRequest() bool {
	results := r.results()
	return r.text != nil && r.text.Lines.Files > 0 && r.NotRun == 0 && results[differs] == 0 && results[equal] > 0
}

// tests returns the results for the text of a pull request.
func (r *report) tests() *pullrequest.Tests {
	tests := &pullrequest.Tests{Binaries: r.Binaries}
	for _, p := range r.Packages {
		tests.Packages = append(tests.Packages, pullrequest.Package{
			Package: p.Package, Result: p.Result, ClientGo: p.ClientGo.forText(), Kinformer: p.Kinformer.forText(),
		})
	}
	return tests
}

func (f *figures) forText() *pullrequest.Figures {
	if f == nil {
		return nil
	}
	return &pullrequest.Figures{Informers: f.Informers, Tests: f.Tests, Failed: f.Failed, PeakRSSBytes: f.PeakRSSBytes}
}

const legend = `Of two figures, the first is client-go's and the second kinformer's. TESTS include subtests, but no skipped ones, and
PEAK RSS the processes that the tests start; it is "?" if it is less than that of this command.
`

// row returns the cells of the package's row.
func (p packageResult) row() []any {
	a, b := p.ClientGo, p.Kinformer
	if a == nil {
		return []any{p.Package, "", "", "", "", "", p.result()}
	}
	both := func(a, b any) string { return fmt.Sprintf("%v / %v", a, b) }
	return []any{
		p.Package, both(units.Count(a.Informers), units.Count(b.Informers)), both(a.Tests, b.Tests), both(a.Failed, b.Failed),
		both(units.Digits(a.Seconds), units.Digits(b.Seconds)), both(megabytes(a.PeakRSSBytes), megabytes(b.PeakRSSBytes)), p.result(),
	}
}

func (p packageResult) result() string {
	if p.Reason != "" && p.ClientGo != nil || p.Result == notTried {
		return p.Result + ": " + p.Reason
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

// writeDetails prints the error of the compiler and the outcomes of tests.
func (p packageResult) writeDetails(out io.Writer) {
	if p.Result == differs && p.ClientGo == nil {
		fmt.Fprintf(out, "\n%s does not compile:\n", p.Package)
		writeLines(out, strings.Split(p.Reason, "\n"))
	}
	if p.NotReplaced > 0 {
		fmt.Fprintf(out, "\n%s: client-go made %s on kinformer's side, before its constructors were replaced\n", p.Package,
			units.Plural(p.NotReplaced, "informer"))
	}
	missing := map[string][]string{} // tests that one side did not run, by the description of their outcomes
	for _, c := range p.Tests {
		description := fmt.Sprintf("%s: %s on client-go; %s on kinformer", c.Result, join(c.ClientGo), join(c.Kinformer))
		if c.Result == differs && len(c.Output) == 0 && slices.Contains(slices.Concat(c.ClientGo, c.Kinformer), notRun) {
			missing[description] = append(missing[description], c.Test)
			continue
		}
		fmt.Fprintf(out, "\n%s %s %s\n", p.Package, c.Test, description)
		writeLines(out, c.Output)
	}
	for _, description := range slices.Sorted(maps.Keys(missing)) {
		tests := missing[description]
		fmt.Fprintf(out, "\n%s: the outcome of %s %s\n", p.Package, units.Plural(len(tests), "test"), description)
		writeLines(out, tests[:min(len(tests), maxOutput)])
		if more := len(tests) - maxOutput; more > 0 {
			writeLines(out, []string{fmt.Sprintf("and %d more", more)})
		}
	}
}

// join returns the outcomes of the runs, in order.
func join(outcomes []outcome) string {
	var texts []string
	for _, o := range outcomes {
		texts = append(texts, string(o))
	}
	return strings.Join(texts, ", ")
}

func writeLines(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(out, "    %s\n", command.Sanitize(line))
	}
}
