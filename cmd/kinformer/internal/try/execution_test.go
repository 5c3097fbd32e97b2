// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOutcomesOfTest2json(t *testing.T) {
	const testAFails = `
			{"Action":"run","Test":"TestA"}
			{"Action":"fail","Test":"TestA"}
			{"Action":"output","Output":"FAIL\n"}
			{"Action":"output","Output":"coverage: 1.0% of statements\n"}`
	for name, test := range map[string]struct {
		events   string
		end      outcome
		outcomes map[string]outcome
		output   map[string][]string
	}{
		"a test that fails only with its subtest": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"run","Test":"TestA/b"}
			{"Action":"output","Test":"TestA/b","Output":"    a_test.go:1: wrong\n"}
			{"Action":"output","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\n"}
			{"Action":"fail","Test":"TestA/b"}
			{"Action":"fail","Test":"TestA"}
			{"Action":"run","Test":"TestAb"}
			{"Action":"fail","Test":"TestAb"}
			{"Action":"output","Output":"FAIL\n"}
			{"Action":"fail"}`, "exit status 1",
			map[string]outcome{"TestA": passed, "TestA/b": failed, "TestAb": failed, wholeBinary: passed},
			map[string][]string{"TestA/b": {"    a_test.go:1: wrong"}}},
		"a test that fails itself and with its subtest": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"run","Test":"TestA/b"}
			{"Action":"fail","Test":"TestA/b"}
			{"Action":"output","Test":"TestA","Output":"    a_test.go:9: left over\n"}
			{"Action":"fail","Test":"TestA"}
			{"Action":"output","Output":"FAIL\n"}`, "exit status 1",
			map[string]outcome{"TestA": failed, "TestA/b": failed, wholeBinary: passed},
			map[string][]string{"TestA": {"    a_test.go:9: left over"}}},
		"skipped": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"skip","Test":"TestA"}
			{"Action":"output","Output":"PASS\n"}
			{"Action":"pass"}`, passed, map[string]outcome{"TestA": skipped, wholeBinary: passed}, map[string][]string{}},
		"a test that the end of the process stops": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}
			{"Action":"output","Test":"TestA","Output":"panic: in another goroutine\n"}
			{"Action":"output","Output":"exit\n"}
			{"Action":"fail"}`, "exit status 2",
			map[string]outcome{"TestA": notEnded, wholeBinary: "exit status 2"},
			map[string][]string{"TestA": {"panic: in another goroutine", "exit"}, wholeBinary: {"exit"}}},
		"the binary fails without a test": {`
			{"Action":"run","Test":"TestA"}
			{"Action":"pass","Test":"TestA"}
			{"Action":"output","Output":"goleak: found unexpected goroutines\n"}
			{"Action":"fail"}`, "exit status 1",
			map[string]outcome{"TestA": passed, wholeBinary: "exit status 1"},
			map[string][]string{wholeBinary: {"goleak: found unexpected goroutines"}}},
		"the binary fails only with a test": {testAFails, "exit status 1", map[string]outcome{"TestA": failed, wholeBinary: passed}, map[string][]string{}},
		"the binary fails after a test": {
			testAFails + `{"Action":"output","Output":"leak\n"}`, "exit status 1",
			map[string]outcome{"TestA": failed, wholeBinary: "exit status 1"},
			map[string][]string{wholeBinary: {"FAIL", "coverage: 1.0% of statements", "leak"}},
		},
		"the binary fails after a test with a status of its own": {
			testAFails, "exit status 66",
			map[string]outcome{"TestA": failed, wholeBinary: "exit status 66"},
			map[string][]string{wholeBinary: {"FAIL", "coverage: 1.0% of statements"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var e execution
			if err := e.readEvents(strings.NewReader(test.events), test.end); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.outcomes, e.outcomes); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.output, e.output, cmpopts.EquateEmpty(), cmpopts.IgnoreMapEntries(func(_ string, lines []string) bool { return len(lines) == 0 })); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
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
