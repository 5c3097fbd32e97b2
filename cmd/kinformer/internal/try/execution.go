// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
)

// side selects the informers of a test binary. It is the value of sideVariable.
type side string

const (
	clientGoSide side = "client-go"
	kinformer    side = "kinformer"
)

// outcome is how a test ended in one run, or the test binary. A binary's outcome is passed, the
// text of its exit status such as "exit status 2", or that it was stopped.
type outcome string

const (
	passed   outcome = "passed"
	failed   outcome = "failed"
	skipped  outcome = "skipped"
	notEnded outcome = "not ended" // the binary ended while the test ran
	notRun   outcome = "not run"
)

// isFailure reports whether the outcome is the failure of a test or of a binary.
func (o outcome) isFailure() bool { return o != passed && o != skipped && o != notRun }

// wholeBinary stands for the name of a test in the outcome of the test binary itself.
const wholeBinary = "(test binary)"

// maxOutput is the number of lines that are kept of a test's output.
const maxOutput = 20

// execution is one run of a test binary.
type execution struct {
	outcomes map[string]outcome  // of the tests and subtests, and of wholeBinary
	output   map[string][]string // the end of it, of the failures among the outcomes
	seconds  float64
	peakRSS  int64 // in bytes, or 0 if it is unknown
	// informers are the numbers of informers that client-go and kinformer made.
	informers struct{ clientGo, kinformer int }
}

// testBinary is a compiled test binary.
type testBinary struct {
	path   string
	folder string // that it runs in
	flags  []string
	// limit ends a run, or is 0. It is longer than -test.timeout, which covers only the tests: not
	// TestMain, and not the initialization of packages.
	limit time.Duration
}

// testFlags returns the flags of a test binary, and the limit of its runs. goFlags is GOFLAGS,
// whose flags "go test" would pass on to the binary, and "go test -c" does not: -short and
// -timeout.
func testFlags(run, goFlags string) (flags []string, limit time.Duration, err error) {
	timeout := 10 * time.Minute // the default of go test
	flags = []string{"-test.v=test2json", "-test.paniconexit0", "-test.run=" + run}
	for flag := range strings.FieldsSeq(goFlags) {
		switch name, value, _ := strings.Cut(strings.TrimLeft(flag, "-"), "="); name {
		case "short":
			flags = append(flags, strings.TrimSuffix("-test.short="+value, "="))
		case "timeout":
			if timeout, err = time.ParseDuration(value); err != nil {
				return nil, 0, fmt.Errorf("read GOFLAGS: -timeout: %w", err)
			}
		}
	}
	if timeout > 0 {
		limit = timeout + time.Minute
	}
	return append(flags, "-test.timeout="+timeout.String()), limit, nil
}

// execute runs a test binary, and writes its output into a folder.
func execute(ctx context.Context, folder string, binary testBinary, s side) (*execution, error) {
	count, log := filepath.Join(folder, "informers"), filepath.Join(folder, "log")
	if err := os.RemoveAll(count); err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	limited, cancel := context.WithCancel(ctx)
	if binary.limit > 0 {
		limited, cancel = context.WithTimeout(ctx, binary.limit)
	}
	defer cancel()
	program := command.Program(limited, binary.path, binary.flags...)
	program.Dir = binary.folder
	program.Env = append(os.Environ(), "PWD="+binary.folder, sideVariable+"="+string(s), countVariable+"="+count)
	program.Stdout, program.Stderr = out, out // a file, since a pipe that a child process keeps would not end
	lowerPeak()
	began := time.Now()
	err = program.Run()
	e := &execution{seconds: time.Since(began).Seconds()}
	end := passed
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil && program.ProcessState != nil:
		end = outcome("stopped after " + binary.limit.String())
	case exited:
		end = outcome(program.ProcessState.String())
	case err != nil:
		return nil, err
	}
	e.peakRSS = peakRSS(program.ProcessState)
	return e, errors.Join(e.readLog(ctx, log, end), e.readCount(count))
}

// readCount reads the numbers of informers. Without any, there is no file.
func (e *execution) readCount(path string) error {
	made, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	e.informers.clientGo = bytes.Count(made, []byte{madeByClientGo})
	e.informers.kinformer = bytes.Count(made, []byte{madeByKinformer})
	return nil
}

// readLog reads the output of a test binary that ended with an outcome.
func (e *execution) readLog(ctx context.Context, path string, end outcome) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	program := command.Program(ctx, "go", "tool", "test2json")
	program.Dir = filepath.Dir(path) // the temporary go.mod there selects the program's toolchain
	program.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	program.Stdin = log
	events, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	return errors.Join(e.readEvents(events, end), program.Wait())
}

// readEvents reads the events of test2json.
func (e *execution) readEvents(from io.Reader, end outcome) error {
	e.outcomes = map[string]outcome{}
	e.output = map[string][]string{} // "" is the binary's own
	logged := map[string]bool{}      // tests that printed a line of their own
	failLine := false                // the last line of the binary is the one that ends a run with failed tests
	for decoder := json.NewDecoder(from); ; {
		var event struct{ Action, Test, Output string }
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			e.passParents(logged)
			e.end(end, failLine)
			return nil
		case err != nil:
			return fmt.Errorf("read test2json: %w", err)
		}
		switch event.Action {
		case "run":
			e.outcomes[event.Test] = notEnded
		case "output":
			e.output[event.Test] = appendOutput(e.output[event.Test], event.Output)
			logged[event.Test] = logged[event.Test] || logLine.MatchString(event.Output)
			if event.Test == "" && event.Output != "\n" && !strings.HasPrefix(event.Output, "coverage: ") {
				failLine = event.Output == "FAIL\n"
			}
		case "pass":
			e.outcomes[event.Test] = passed
		case "skip":
			e.outcomes[event.Test] = skipped
		case "fail":
			e.outcomes[event.Test] = failed
		}
	}
}

// appendOutput appends a line to the end of an output. Lines that say that a test began, or ended,
// are left out.
func appendOutput(lines []string, line string) []string {
	line = strings.TrimRight(line, "\n")
	if line == "" || strings.HasPrefix(line, "=== ") {
		return lines
	}
	return append(lines[max(0, len(lines)-maxOutput+1):], line)
}

// end completes the outcomes after the last event. failLine reports whether the tests came to their
// end, and the binary printed nothing afterwards.
func (e *execution) end(end outcome, failLine bool) {
	binary := e.output[""]
	delete(e.outcomes, "")
	delete(e.output, "")
	for test, o := range e.outcomes {
		if o == notEnded {
			e.output[test] = append(e.output[test], binary[max(0, len(binary)+len(e.output[test])-maxOutput):]...)
		}
		if !o.isFailure() {
			delete(e.output, test)
		}
	}
	if failLine && end == "exit status 1" && e.count(failed) > 0 {
		end = passed // the failure is that of the tests
	}
	e.outcomes[wholeBinary] = end
	if end.isFailure() {
		e.output[wholeBinary] = binary
	}
}

// logLine matches a line of t.Log or t.Error.
var logLine = regexp.MustCompile(`^\s+\S+\.go:\d+: `)

// passParents makes passed the outcome of tests that failed only with a subtest: that is, if they
// did not log a line of their own.
func (e *execution) passParents(logged map[string]bool) {
	var parents []string
	for test, o := range e.outcomes {
		for i := range len(test) {
			if parent := test[:i]; o.isFailure() && test[i] == '/' && e.outcomes[parent] == failed && !logged[parent] {
				parents = append(parents, parent)
			}
		}
	}
	for _, parent := range parents {
		e.outcomes[parent] = passed
	}
}

// count returns the number of tests with one of the outcomes.
func (e *execution) count(outcomes ...outcome) (n int) {
	for test, o := range e.outcomes {
		if test != wholeBinary && slices.Contains(outcomes, o) {
			n++
		}
	}
	return n
}
