// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// side selects the informers of a test binary. It is the value of sideVariable.
type side string

const (
	clientGoSide side = "client-go"
	kinformer    side = "kinformer"
)

// wholeBinary stands for the name of a test if the binary failed, and none of its tests did.
const wholeBinary = "(test binary)"

// maxOutput is the number of lines that are kept of a test's output.
const maxOutput = 20

// execution is one run of a test binary.
type execution struct {
	tests   int                 // and subtests, that passed or failed
	failed  map[string][]string // the innermost tests that failed, with the end of their output
	seconds float64
	peakRSS int64 // in bytes, or 0 where the operating system does not say
	// informers are the numbers of informers that client-go and kinformer made.
	informers struct{ clientGo, kinformer int }
}

// execute runs a test binary.
func execute(ctx context.Context, folder, binary string, pkg testPackage, on side, run string) (*execution, error) {
	count, log := filepath.Join(folder, "informers"), filepath.Join(folder, "log")
	if err := os.RemoveAll(count); err != nil {
		return nil, err
	}
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	command := exec.CommandContext(ctx, binary, "-test.v=test2json", "-test.paniconexit0", "-test.timeout=10m", "-test.run="+run)
	command.Dir = pkg.dir
	command.Env = append(os.Environ(), "PWD="+pkg.dir, sideVariable+"="+string(on), countVariable+"="+count)
	command.Stdout, command.Stderr = out, out // a file, since a pipe that a child process keeps would not end
	lowerPeak()
	began := time.Now()
	err = command.Run()
	e := &execution{seconds: time.Since(began).Seconds()}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	e.peakRSS = peakRSS(command.ProcessState)
	return e, errors.Join(e.readLog(ctx, log, err == nil), e.readCount(count))
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

// readLog reads the output of a test binary.
func (e *execution) readLog(ctx context.Context, path string, success bool) error {
	log, err := os.Open(path)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(ctx, "go", "tool", "test2json")
	command.Dir = filepath.Dir(path) // outside the program, whose go.mod does not matter
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	command.Stdin = log
	events, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	return errors.Join(e.readEvents(events, success), command.Wait())
}

// readEvents reads the events of test2json. A test that has not ended is one that failed: the binary
// ended before it.
func (e *execution) readEvents(from io.Reader, success bool) error {
	running := map[string][]string{} // with the end of their output; "" is the binary's own
	e.failed = map[string][]string{}
	for decoder := json.NewDecoder(from); ; {
		var event struct{ Action, Test, Output string }
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			e.end(running, success)
			return nil
		case err != nil:
			return err
		}
		switch event.Action {
		case "run", "output":
			running[event.Test] = appendOutput(running[event.Test], event.Output)
		case "pass", "skip", "fail":
			if event.Test == "" {
				continue
			}
			if event.Action == "fail" {
				e.failed[event.Test] = running[event.Test]
			}
			if event.Action != "skip" {
				e.tests++
			}
			delete(running, event.Test)
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

// end adds what has no result of its own, and removes tests that failed only with a subtest.
func (e *execution) end(running map[string][]string, success bool) {
	binary := running[""]
	delete(running, "")
	for test, output := range running {
		e.tests++
		e.failed[test] = append(output, binary[max(0, len(binary)+len(output)-maxOutput):]...)
	}
	for test := range e.failed {
		for parent := range e.failed {
			if strings.HasPrefix(test, parent+"/") {
				delete(e.failed, parent)
			}
		}
	}
	if !success && len(e.failed) == 0 {
		e.failed[wholeBinary] = binary
	}
}
