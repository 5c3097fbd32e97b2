// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEventsOfTest2json(t *testing.T) {
	for name, test := range map[string]struct {
		events  string
		success bool
		tests   int
		failed  map[string][]string
	}{
		"only the innermost test counts as failed": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"run","Test":"TestA/b"}
			{"Action":"output","Test":"TestA/b","Output":"    a_test.go:1: wrong\n"}
			{"Action":"fail","Test":"TestA/b"}
			{"Action":"fail","Test":"TestA"}
			{"Action":"run","Test":"TestAb"}
			{"Action":"fail","Test":"TestAb"}
			{"Action":"fail"}`, false, 3, map[string][]string{"TestA/b": {"    a_test.go:1: wrong"}, "TestAb": nil}},
		"a skipped test is not one": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"skip","Test":"TestA"}
			{"Action":"pass"}`, true, 0, map[string][]string{}},
		"a test that the end of the process stops has failed": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}
			{"Action":"output","Test":"TestA","Output":"panic: in another goroutine\n"}
			{"Action":"output","Output":"FAIL\n"}
			{"Action":"fail"}`, false, 1, map[string][]string{"TestA": {"panic: in another goroutine", "FAIL"}}},
		"the binary fails without a test": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"pass","Test":"TestA"}
			{"Action":"output","Output":"goleak: found unexpected goroutines\n"}
			{"Action":"fail"}`, false, 1, map[string][]string{wholeBinary: {"goleak: found unexpected goroutines"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var e execution
			if err := e.readEvents(strings.NewReader(test.events), test.success); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.failed, e.failed); diff != "" || e.tests != test.tests {
				t.Errorf("%d tests, want %d; failed (-want +got):\n%s", e.tests, test.tests, diff)
			}
		})
	}
}

func TestOutputIsBounded(t *testing.T) {
	var lines []string
	for range 3 * maxOutput {
		lines = appendOutput(lines, "line\n")
	}
	if lines = appendOutput(lines, "last\n"); len(lines) != maxOutput || lines[maxOutput-1] != "last" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}
