// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

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
			{"Action":"output","Test":"TestA","Output":"    a_test.go:9: left over:\n"}` +
			strings.Repeat(`{"Action":"output","Test":"TestA","Output":"        a goroutine\n"}`, maxOutput) + `
			{"Action":"fail","Test":"TestA"}
			{"Action":"output","Output":"FAIL\n"}`, "exit status 1",
			map[string]outcome{"TestA": failed, "TestA/b": failed, wholeBinary: passed},
			map[string][]string{"TestA": slices.Repeat([]string{"        a goroutine"}, maxOutput)}},
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

// TestChild runs in a test binary that the tests below start. It reports its start and an interrupt
// on a connection.
func TestChild(t *testing.T) {
	address := os.Getenv("TRY_TEST_ADDRESS")
	if address == "" {
		return
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintln(connection, "started")
	<-interrupted
	fmt.Fprintln(connection, "interrupted")
}

// child returns the binary of this test, for TestChild, and a listener for its connection.
func child(t *testing.T) (testBinary, net.Listener) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	t.Setenv("TRY_TEST_ADDRESS", listener.Addr().String())
	flags, _, err := testFlags("^TestChild$", "")
	if err != nil {
		t.Fatal(err)
	}
	return testBinary{path: path, folder: t.TempDir(), flags: flags}, listener
}

func TestLongRunIsStopped(t *testing.T) {
	binary, _ := child(t)
	binary.limit = 100 * time.Millisecond
	e, err := execute(t.Context(), t.TempDir(), binary, kinformer)
	if err != nil || e.outcomes[wholeBinary] != "stopped after 100ms" {
		t.Errorf("error %v, outcomes %v", err, e)
	}
}

func TestEndOfContextInterruptsTheBinary(t *testing.T) {
	binary, listener := child(t)
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan string)
	go func() {
		defer close(read)
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(connection); lines.Scan(); {
			if lines.Text() == "started" {
				cancel()
			}
			read <- lines.Text()
		}
	}()
	done := make(chan error)
	go func() {
		_, err := execute(ctx, t.TempDir(), binary, kinformer)
		done <- err
	}()
	if first, second := <-read, <-read; first != "started" || second != "interrupted" {
		t.Errorf("lines %q, %q", first, second)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestFlagsOfTheBinary(t *testing.T) {
	for goFlags, want := range map[string]struct {
		flags string
		limit time.Duration
	}{
		"":                               {"-test.timeout=10m0s", 11 * time.Minute},
		"-race -short -count=2":          {"-test.short -test.timeout=10m0s", 11 * time.Minute},
		"--short=false -timeout=30m":     {"-test.short=false -test.timeout=30m0s", 31 * time.Minute},
		"-timeout=0 -shortened -mod=mod": {"-test.timeout=0s", 0},
	} {
		flags, limit, err := testFlags("A|B", goFlags)
		if got := strings.Join(flags, " "); err != nil || got != "-test.v=test2json -test.paniconexit0 -test.run=A|B "+want.flags || limit != want.limit {
			t.Errorf("%s: error %v, flags %s, limit %s", goFlags, err, got, limit)
		}
	}
	if _, _, err := testFlags("", "-timeout=x"); err == nil {
		t.Error("no error")
	}
}
