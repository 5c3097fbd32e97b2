// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// overlay writes a changed file and the JSON file that go's -overlay reads into folder, and returns
// the name of the latter.
func overlay(folder, root, file, text string) (string, error) {
	changed := filepath.Join(folder, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{filepath.Join(root, filepath.FromSlash(file)): changed}
	encoded, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(folder, "overlay.json")
	return name, os.WriteFile(name, encoded, 0o600)
}

// goTest runs the tests of one package with an overlay. It returns the name of the first test that
// fails, or "" if all pass.
func (r *runner) goTest(ctx context.Context, overlay string, tests []string, timeout time.Duration) (killer string, err error) {
	args := []string{"test", "-json", "-vet=off", "-failfast", "-overlay=" + overlay, fmt.Sprintf("-timeout=%s", timeout)}
	if !slices.ContainsFunc(tests, func(arg string) bool { return strings.HasPrefix(arg, "-count=") }) {
		args = append(args, "-count=1")
	}
	args = append(args, r.buildFlags(tests)...)
	dir, pkg := inModule(tests[0])
	args = append(append(args, pkg), tests[1:]...)
	if r.rapid[tests[0]] {
		args = append(args, "-rapid.nofailfile")
	}
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = filepath.Join(r.root, dir)
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := command.Start(); err != nil {
		return "", err
	}
	result := readEvents(stdout)
	failed := fails(command)
	switch {
	case result.broken != "":
		return "", fmt.Errorf("does not compile:\n%s", result.broken)
	case result.killer != "":
		return result.killer, nil
	case result.last == "":
		return "", fmt.Errorf("%v: no test ran:\n%s", tests, strings.Join(result.lines, ""))
	case failed: // by a panic of another goroutine, or by what checks for leaks after the last test
		return result.last + " (the process failed)", nil
	}
	return "", nil
}

// buildFlags returns the flags by which the tests share Kubernetes' packages with make test or make
// test-version. The simulation of shards is not built with the race detector.
func (r *runner) buildFlags(tests []string) []string {
	switch {
	case slices.Contains(tests, "-race"):
	case tests[0] == "./shard" && r.modfile != "":
		return []string{"-modfile=" + r.modfile}
	case tests[0] != "./shard" && r.race:
		return []string{"-race"}
	}
	return nil
}

// inModule returns the folder of the module that has a package, which is named by its path in the
// repository, and the package's path in that module.
func inModule(folder string) (dir, inside string) {
	for _, dir := range []string{"metrics", "test"} {
		if inside, ok := strings.CutPrefix(folder, "./"+dir); ok {
			return dir, "." + inside
		}
	}
	return ".", folder
}

// fails waits for a command and reports whether it failed.
func fails(command *exec.Cmd) bool { return command.Wait() != nil }

// result is what the events of go test -json say.
type result struct {
	killer string   // the first test that failed
	broken string   // the compiler's errors
	lines  []string // the last lines of the output
	last   string   // the test that began last
}

// event is an event of go test -json (go doc test2json).
type event struct{ Action, Test, Output string }

// maxLines bounds the output that is kept: a mutant may log without end.
const maxLines = 20

// runningTest finds a test that ran when the process ended by its timeout.
var runningTest = regexp.MustCompile(`^\s+((?:Test|Fuzz)\w+)\S* \(`)

func readEvents(events io.Reader) (r result) {
	timedOut := false
	scanner := bufio.NewScanner(events)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			continue
		}
		name, _, _ := strings.Cut(e.Test, "/")
		switch e.Action {
		case "run":
			r.last = name
		case "build-output":
			r.broken += e.Output
		case "fail":
			r.killer = cmp.Or(r.killer, name)
		case "output":
			r.lines = append(r.lines[max(0, len(r.lines)+1-maxLines):], e.Output)
			timedOut = timedOut || strings.TrimSpace(e.Output) == "running tests:"
			if match := runningTest.FindStringSubmatch(e.Output); timedOut && match != nil && r.killer == "" {
				r.killer = match[1] + " (by its timeout)"
			}
		}
	}
	_, _ = io.Copy(io.Discard, events) // if a line was too long
	return r
}

// packagesWithRapid returns the packages of module test whose tests import rapid. It writes files
// when a test fails, which a flag that only those packages have prevents.
func packagesWithRapid(ctx context.Context, root string) (map[string]bool, error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "./...")
	list.Dir = filepath.Join(root, "test")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	rapid := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if slices.Contains(words, "pgregory.net/rapid") {
			rapid["."+strings.TrimPrefix(words[0], module)] = true
		}
	}
	return rapid, nil
}

const module = "github.com/kinformer/kinformer"
