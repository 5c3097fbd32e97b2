// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package program runs an example as a process, for the test of that example.
package program

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// timeout is how long a test waits for a line of the program, and for its end. It is long for slow
// machines.
const timeout = time.Minute

// Program is a running example.
type Program struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // of standard output and standard error; closed at the end
	seen  []string
}

// Start builds the example in the current folder and starts it, with the race detector if the test
// has it: a race then fails Stop and Wait. It is killed when the test ends.
func Start(t *testing.T, args ...string) *Program {
	t.Helper()
	return StartIn(t, ".", args...)
}

// StartIn is Start for the example in another folder.
func StartIn(t *testing.T, folder string, args ...string) *Program {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "example")
	build := exec.CommandContext(t.Context(), "go", "build", fmt.Sprintf("-race=%t", race), "-o", binary, "./"+folder)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p := &Program{t: t, cmd: exec.CommandContext(context.WithoutCancel(t.Context()), binary, args...), lines: make(chan string, 10_000)}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	return p
}

// Expect reads lines until one contains all of the texts, and returns it.
func (p *Program) Expect(texts ...string) string {
	p.t.Helper()
	expired := time.After(timeout)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the program has ended without a line with %q:\n%s", texts, strings.Join(p.seen, "\n"))
			}
			p.seen = append(p.seen, line)
			if containsAll(line, texts) {
				return line
			}
		case <-expired:
			p.t.Fatalf("no line with %q within %v:\n%s", texts, timeout, strings.Join(p.seen, "\n"))
		}
	}
}

// ExpectAll reads lines until each of them has been printed, in any order.
func (p *Program) ExpectAll(lines ...string) {
	p.t.Helper()
	for missing := slices.Clone(lines); len(missing) > 0; {
		got := p.Expect()
		missing = slices.DeleteFunc(missing, func(line string) bool { return line == got })
	}
}

// ExpectEach reads lines until, for each list of texts, one has contained all of the texts, in any
// order.
func (p *Program) ExpectEach(lists ...[]string) {
	p.t.Helper()
	for missing := slices.Clone(lists); len(missing) > 0; {
		got := p.Expect()
		missing = slices.DeleteFunc(missing, func(texts []string) bool { return containsAll(got, texts) })
	}
}

// ExpectNoneSoFar checks that no line that was read contains the text.
func (p *Program) ExpectNoneSoFar(text string) {
	p.t.Helper()
	for _, line := range p.seen {
		if strings.Contains(line, text) {
			p.t.Errorf("unexpected line: %s", line)
		}
	}
}

func containsAll(line string, texts []string) bool {
	for _, text := range texts {
		if !strings.Contains(line, text) {
			return false
		}
	}
	return true
}

// Stop interrupts the program, and checks that it ends without an error.
func (p *Program) Stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.t.Fatal(err)
	}
	p.Wait()
}

// Wait waits until the program has ended, and checks that it ended without an error.
func (p *Program) Wait() {
	p.t.Helper()
	killed := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() })
	defer killed.Stop()
	for line := range p.lines {
		p.seen = append(p.seen, line)
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the program has ended: %v\n%s", err, strings.Join(p.seen, "\n"))
	}
}
