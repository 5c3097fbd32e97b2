// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKindsOfFailures(t *testing.T) {
	for _, test := range []struct {
		clientGo, kinformer, runs int
		want                      string
	}{
		{1, 1, 1, failsOnBoth},
		{3, 3, 3, failsOnBoth},
		{1, 0, 3, flakyWithout},
		{2, 3, 3, flakyWithout},
		{0, 1, 3, differs},
		{0, 3, 3, differs},
		{3, 0, 3, differs},
		{3, 2, 3, differs},
	} {
		if got := (failure{ClientGo: test.clientGo, Kinformer: test.kinformer}).kind(test.runs); got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

func TestTableShowsWhatDiffers(t *testing.T) {
	r := &report{
		Packages: []tried{
			{
				Package: "./a", Result: differs, Runs: 3, Informers: 1200, NotReplaced: 1,
				ClientGo: &figures{Tests: 9, Seconds: 1.234, PeakRSSBytes: 80_000_000}, Kinformer: &figures{Tests: 8, Failed: 1, Seconds: 2},
				Failures: []failure{{Test: "TestA", Kinformer: 3, Output: []string{"    a_test.go:1:\x1b[31mwrong"}}, {Test: "TestB", ClientGo: 3, Kinformer: 3}},
			},
			{Package: "./b", Result: notTried, Reason: notLinked},
			{Package: "./c", Result: differs, Reason: "go test: exit status 1\n\tc_test.go:1: undefined"},
			{Package: "./d", Result: notTried, Reason: "no informer made", Runs: 1, ClientGo: &figures{Tests: 1}, Kinformer: &figures{Tests: 1}},
		},
		Raised: []raise{{"k8s.io/api", "v0.36.2", "v0.36.3"}},
	}
	var out strings.Builder
	err := r.finish("table", &out)
	if err == nil || err.Error() != "the tests of 2 packages differ" {
		t.Errorf("error %v", err)
	}
	const want = `PACKAGE   INFORMERS   TESTS   FAILED   SECONDS       PEAK RSS, MB   RESULT
./a       1,200       9 / 8   0 / 1    1.23 / 2.00   80.0 / ?       differs
./c                                                                 differs
./d       0           1 / 1   0 / 0    0.00 / 0.00   ? / ?          not tried: no informer made

./a: client-go made 1 informer on kinformer's side, before its constructors were replaced

./a TestA differs: failed in 0 of 3 runs on client-go, 3 on kinformer
        a_test.go:1: [31mwrong

./a TestB fails on both: failed in 3 of 3 runs on client-go, 3 on kinformer

./c does not compile:
    go test: exit status 1
    c_test.go:1: undefined

not tried: 1 package whose tests do not contain client-go's informers
raised on both sides: k8s.io/api v0.36.2 to v0.36.3
`
	if diff := cmp.Diff(want+legend, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestNothingTriedIsAnError(t *testing.T) {
	r := &report{Packages: []tried{{Package: "./b", Result: notTried, Reason: notLinked}}}
	if err := r.finish("table", io.Discard); err == nil || err.Error() != "nothing was tried: no test made an informer" {
		t.Errorf("error %v", err)
	}
}
