// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/adopt"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

func TestResultsOfComparisons(t *testing.T) {
	const exits outcome = "exit status 2"
	for _, test := range []struct {
		clientGo, kinformer []outcome
		want                string
	}{
		{[]outcome{failed}, []outcome{failed}, failsOnBoth},
		{[]outcome{exits}, []outcome{exits}, failsOnBoth},
		{[]outcome{failed, notEnded, failed}, []outcome{failed, failed, failed}, failsOnBoth},
		{[]outcome{skipped}, []outcome{skipped}, equal},
		{[]outcome{failed, passed, passed}, []outcome{passed, passed, passed}, flakyWithout},
		{[]outcome{passed, failed, failed}, []outcome{failed, failed, failed}, flakyWithout},
		{[]outcome{passed, passed, passed}, []outcome{failed, passed, passed}, differs},
		{[]outcome{passed, passed, passed}, []outcome{failed, failed, failed}, differs},
		{[]outcome{failed, failed, failed}, []outcome{passed, passed, passed}, differs},
		{[]outcome{failed, failed, failed}, []outcome{failed, failed, passed}, differs},
		{[]outcome{failed, failed, failed}, []outcome{exits, exits, exits}, differs},
		{[]outcome{passed, passed, passed}, []outcome{notRun, notRun, notRun}, differs},
		{[]outcome{passed, passed, passed}, []outcome{passed, notRun, passed}, differs},
		{[]outcome{passed, passed, passed}, []outcome{skipped, skipped, skipped}, differs},
		{[]outcome{notRun, notRun, notRun}, []outcome{passed, passed, passed}, differs},
		{[]outcome{passed, skipped, passed}, []outcome{failed, failed, failed}, differs},
		// Names of subtests that a run makes up.
		{[]outcome{notRun, notRun, notRun}, []outcome{passed, notRun, notRun}, equal},
		{[]outcome{passed, notRun, notRun}, []outcome{notRun, notRun, notRun}, equal},
		{[]outcome{notRun, notRun, notRun}, []outcome{failed, notRun, notRun}, differs},
	} {
		if got := (comparison{ClientGo: test.clientGo, Kinformer: test.kinformer}).result(); got != test.want {
			t.Errorf("%v: %s", test, got)
		}
	}
}

func TestInformersDecideWhatWasTried(t *testing.T) {
	for name, test := range map[string]struct {
		clientGo, notReplaced, kinformer int
		outcome                          outcome // of a test on kinformer
		result, reason                   string
	}{
		"on both":                   {5, 0, 5, passed, equal, ""},
		"on neither":                {0, 0, 0, passed, notTried, "no informer made"},
		"early":                     {5, 5, 0, passed, notTried, "informers only made before the constructors are replaced"},
		"on client-go":              {5, 0, 0, passed, differs, "informers only made on client-go's side"},
		"on client-go, and failed":  {5, 0, 0, failed, differs, ""},
		"on neither, and failed":    {0, 0, 0, failed, differs, ""},
		"early, and not run":        {5, 5, 0, notRun, differs, ""},
		"on client-go, and not run": {5, 0, 0, notRun, differs, ""},
		"on kinformer, and not run": {5, 0, 5, notRun, differs, ""},
		"on kinformer":              {0, 0, 5, passed, equal, ""},
	} {
		a := &execution{outcomes: map[string]outcome{"TestA": passed}}
		b := &execution{outcomes: map[string]outcome{"TestA": test.outcome}}
		a.informers.clientGo, b.informers.clientGo, b.informers.kinformer = test.clientGo, test.notReplaced, test.kinformer
		got := summarize([]*execution{a}, []*execution{b})
		if got.Result != test.result || got.Reason != test.reason || got.ClientGo.Informers != test.clientGo || got.Kinformer.Informers != test.kinformer {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTableShowsDifferences(t *testing.T) {
	r := &report{
		Kinformer: "../kinformer",
		Upgraded:  []upgrade{{"k8s.io/api", "v0.36.2", "v0.36.3"}},
		Streaming: &adopt.Streaming{Informers: 2, NotStreaming: []adopt.NotStreaming{{File: "a/a.go", Line: 7, Write: "one line"}}},
	}
	packages := []packageResult{
		{
			Package: "./a", Result: differs, Runs: 3, NotReplaced: 1,
			ClientGo: &figures{Informers: 1201, Tests: 9, Seconds: 1.234, PeakRSSBytes: 80_000_000}, Kinformer: &figures{Informers: 1200, Tests: 8, Failed: 1, Seconds: 2},
			Tests: []comparison{
				{"(test binary)", differs, []outcome{passed}, []outcome{"exit status 2"}, []string{"    a_test.go:1:\x1b[31mwrong"}},
				{"TestA", failsOnBoth, []outcome{failed, failed}, []outcome{failed, failed}, nil},
				{"TestB", differs, []outcome{passed}, []outcome{notRun}, nil},
				{"TestC", differs, []outcome{passed}, []outcome{notRun}, nil},
			},
		},
		{Package: "./b", Result: notTried, Reason: notLinked},
		{Package: "./c", Result: differs, Reason: "go test: exit status 1\n\tc_test.go:1: undefined"},
		{Package: "./d", Result: notTried, Reason: "no informer made", Runs: 1, ClientGo: &figures{Tests: 1}, Kinformer: &figures{Tests: 1}},
	}
	var out strings.Builder
	printer := r.begin("table", &out, programOf("./a", "./b", "./c", "./d"))
	for i, p := range packages {
		rows := strings.Count(out.String(), "\n")
		printer.add(p)
		if added := strings.Count(out.String(), "\n") - rows; (added == 0) != (p.Reason == notLinked) {
			t.Errorf("package %d: %d rows at once", i, added)
		}
	}
	if err := printer.end(); err != nil {
		t.Fatal(err)
	}
	err := r.err()
	if err == nil || err.Error() != "the tests of 2 packages differ" {
		t.Errorf("error %v", err)
	}
	const want = `PACKAGE   INFORMERS       TESTS           FAILED    SECONDS         PEAK RSS, MB    RESULT
./a       1,201 / 1,200   9 / 8           0 / 1     1.23 / 2.00     80.0 / ?        differs
./c                                                                                 differs
./d       0 / 0           1 / 1           0 / 0     0.00 / 0.00     ? / ?           not tried: no informer made

./a: client-go made 1 informer on kinformer's side, before its constructors were replaced

./a (test binary) differs: passed on client-go; exit status 2 on kinformer
        a_test.go:1: [31mwrong

./a TestA fails on both: failed, failed on client-go; failed, failed on kinformer

./a: the outcome of 2 tests differs: passed on client-go; not run on kinformer
    TestB
    TestC

./c does not compile:
    go test: exit status 1
    c_test.go:1: undefined

not tried: 1 package whose tests do not contain client-go's informers
kinformer: ../kinformer
upgraded on both sides: k8s.io/api v0.36.2 to v0.36.3
1 of 2 informers stream. These do not:
a/a.go:7: one line
`
	if diff := cmp.Diff(want+legend, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestNothingTriedIsAnErrorWithTheReasons(t *testing.T) {
	r := &report{Packages: []packageResult{
		{Package: "./a", Result: notTried, Reason: errBroken.Error()},
		{Package: "./b", Result: notTried, Reason: notLinked},
		{Package: "./c", Result: notTried, Reason: errBroken.Error()},
	}}
	const want = "nothing was tried: 2 packages: does not compile without kinformer either; 1 package: no informers linked"
	if err := r.err(); err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

// programOf returns a program with packages whose tests contain client-go's informers.
func programOf(names ...string) *program {
	p := &program{}
	for _, name := range names {
		p.packages = append(p.packages, testPackage{path: name, hasCache: true})
	}
	return p
}

// TestTextForThePullRequestFollowsEqualTests prints a report after an end, a stop and a difference,
// and of a program that kinformer adopt leaves as it is.
func TestTextForThePullRequestFollowsEqualTests(t *testing.T) {
	figures := &figures{Informers: 2, Tests: 3, PeakRSSBytes: 50_000_000}
	for name, test := range map[string]struct {
		result string
		files  int // that are edited
		notRun int
		want   string
	}{
		"equal":   {equal, 1, 0, "\n| ./a | 3 / 3 | 0 / 0 | 50.0 / 50.0 | equal |\n"},
		"stopped": {equal, 1, 2, "\nstopped: 2 packages not tried\n"},
		"differs": {differs, 1, 0, ""},
		"no edit": {equal, 0, 0, ""},
	} {
		r := &report{NotRun: test.notRun, text: &pullrequest.Text{Lines: pullrequest.Lines{Files: test.files}}}
		var out strings.Builder
		printer := r.begin("table", &out, programOf("./a"))
		printer.add(packageResult{Package: "./a", Result: test.result, ClientGo: figures, Kinformer: figures})
		if err := printer.end(); err != nil {
			t.Fatal(err)
		}
		hasText := strings.Contains(out.String(), "Text for the pull request:")
		if !strings.Contains(out.String(), test.want) || hasText != (name == "equal") {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}
