// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/simulate"
)

// spec is the test of another framework: it ends by a panic, as that of Ginkgo does.
type spec struct {
	*testing.T

	logs []string
}

var errSpec = errors.New("the spec has failed")

// Name implements simulate.TestingT.
func (*spec) Name() string { return "websites are created" }

// Logf implements simulate.TestingT.
func (s *spec) Logf(format string, args ...any) {
	s.logs = append(s.logs, fmt.Sprintf(format, args...))
}

// Errorf implements simulate.TestingT.
func (s *spec) Errorf(format string, args ...any) { s.Fatalf(format, args...) }

// Fatalf implements simulate.TestingT.
func (s *spec) Fatalf(format string, args ...any) {
	s.Logf(format, args...)
	s.FailNow()
}

// FailNow implements simulate.TestingT.
func (*spec) FailNow() { panic(errSpec) }

// runSpec executes a simulation, and returns what it has logged and panicked with.
func runSpec(t *testing.T, test simulate.Test) (logs string, cause any) {
	t.Helper()
	s := &spec{T: t}
	defer func() {
		logs, cause = strings.Join(s.logs, "\n"), recover()
	}()
	simulate.Run(s, test)
	return "", nil
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

// A test of a framework such as Ginkgo is no *testing.T.
func TestRunNeedsNoTestOfPackageTesting(t *testing.T) {
	before := runtime.NumGoroutine()
	setFlag(t, "test.skip", "websites")
	if logs, cause := runSpec(t, copying(copyConfigMap)); cause != nil || !strings.Contains(logs, "200 runs, ") {
		t.Errorf("got panic %v and logs\n%s\nwant none, and 200 runs", cause, logs)
	}
	if logs, cause := runSpec(t, copying(createUnlessCached)); cause != any(errSpec) || !strings.Contains(logs, "go test -run '^websites are created$' -simulate.replay '0, simulate.Lag{") {
		t.Errorf("got panic %v and logs\n%s\nwant that of the spec, and the flags that repeat the run", cause, logs)
	}
	goroutines.ExpectAtMost(t, before)
	if flag.Lookup("test.skip").Value.String() != "websites" {
		t.Error("the flags of package testing have changed")
	}
}

func TestFlagOfReplaySelectsSubtestAlone(t *testing.T) {
	t.Run("it's (a+b)/c", func(t *testing.T) {
		if got, want := simulate.FlagOfTest(t), `-run '^TestFlagOfReplaySelectsSubtestAlone$/^it.s_\(a\+b\)$/^c$'`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Package testing runs each test once for each number of processors. The test of bubbles, which
// stays unknown, is no exception.
func TestRunIsNotRepeatedForProcessors(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.cpu", "1,2", "-test.v", "-test.timeout", "60s", "-test.run", "^TestFailureOfStepsReachesFramework$")
	if output, err := command.CombinedOutput(); err != nil || strings.Contains(string(output), "websites are created") {
		t.Errorf("got error %v and output\n%s\nwant no test of bubbles", err, output)
	}
}

// An assertion in Steps panics in a goroutine of the bubble, and the framework recovers it in that
// of the test.
func TestFailureOfStepsReachesFramework(t *testing.T) {
	before := runtime.NumGoroutine()
	test := copying(copyConfigMap)
	test.Steps = func(*simulate.World) { panic(errSpec) }
	if logs, cause := runSpec(t, test); cause != any(errSpec) || logs != "" {
		t.Errorf("got panic %v and logs %q, want that of the spec, and none", cause, logs)
	}
	goroutines.ExpectAtMost(t, before)
}

func TestReportHasFramesOfProgramAlone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	test := copying(copyConfigMap)
	reconcile := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		go waitInSelect(24 * time.Hour)
		return reconcile(ctx, config)
	}
	logs, _ := runSpec(t, test)
	if !strings.Contains(logs, "1 goroutines are left") || !strings.Contains(logs, "simulate_test.waitInSelect") {
		t.Errorf("got\n%s\nwant the goroutine", logs)
	}
	wantFramesInFile(t, logs, "\ttime.Sleep(", "time.Sleep(")
	test.Start = func(context.Context, *rest.Config) error {
		panic("a program's mistake")
	}
	logs, _ = runSpec(t, test)
	if !strings.Contains(logs, "Start panicked: a program's mistake\ngoroutine ") || !strings.Contains(logs, "testingt_test.go") {
		t.Errorf("got\n%s\nwant the frame that panicked", logs)
	}
	wantFramesInFile(t, logs, "panic(", "panic(")
}

//go:noinline
func waitInSelect(d time.Duration) { time.Sleep(d) }

// wantFramesInFile requires that a report does not have a frame, and that the file which it names
// has it.
func wantFramesInFile(t *testing.T, report, absent, frame string) {
	t.Helper()
	_, file, _ := strings.Cut(report, "The whole stacks are in ")
	file, _, _ = strings.Cut(file, "\n")
	whole, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(whole), frame) || strings.Contains(report, "\n"+absent) {
		t.Errorf("got error %v, file\n%s\nand report\n%s\nwant %q in the file alone", err, whole, report, frame)
	}
}

// The environment is read when the process starts.
func TestNumbersOfEnvironmentAreChecked(t *testing.T) {
	if os.Getenv("SIMULATE_RUNS") == "many" {
		simulate.Run(t, copying(copyConfigMap))
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestNumbersOfEnvironmentAreChecked$")
	command.Env = append(os.Environ(), "SIMULATE_RUNS=many")
	output, err := command.CombinedOutput()
	if want := `parse SIMULATE_RUNS: "many" is no number`; err == nil || !strings.Contains(string(output), want) {
		t.Errorf("got error %v and output\n%s\nwant %q", err, output, want)
	}
}
