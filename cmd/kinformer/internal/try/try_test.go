// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/adopt"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/try"
)

// inProgram copies the program of testdata into a temporary folder, with the requirements of this
// repository, changes to it, and returns the folder of the repository.
func inProgram(t *testing.T) (repository string) {
	t.Helper()
	repository, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	goMod := strings.Replace(read(t, filepath.Join(repository, "go.mod")), "module github.com/kinformer/kinformer\n", "module example.com/program\n", 1)
	write(t, filepath.Join(folder, "go.mod"), goMod)
	write(t, filepath.Join(folder, "go.sum"), read(t, filepath.Join(repository, "go.sum")))
	t.Chdir(folder)
	return repository
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// execute runs the command and returns its output.
func execute(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out, progress bytes.Buffer
	err = try.Run(t.Context(), args, command.Streams{In: strings.NewReader(""), Out: &out, Err: &progress})
	return out.String(), err
}

type report struct {
	Packages []struct {
		Package, Result, Reason string
		Runs, NotReplaced       int
		ClientGo, Kinformer     *struct{ Informers, Tests, Failed, Skipped int }
		Tests                   []comparison
	}
	Streaming struct {
		Informers    int
		NotStreaming []struct{ File, Write string }
	}
}

type comparison struct {
	Test, Result        string
	ClientGo, Kinformer []string
	Output              []string
}

// TestTestsRunOnBothSides tries a program of seven packages: one that does not compile, one whose
// tests end with a panic on kinformer, one with tests that fail on either side, one that makes an
// informer while it is initialized, one with each constructor, and two that make no informer.
func TestTestsRunOnBothSides(t *testing.T) {
	repository := inProgram(t)
	goMod := read(t, "go.mod")
	stdout, err := execute(t, "./...", "--kinformer", repository, "-o=json")
	if err == nil || err.Error() != "the tests of 2 packages differ" {
		t.Errorf("error %v", err)
	}
	var got report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	var want report
	if err := json.Unmarshal([]byte(`{"packages": [
		{"package": "./broken", "result": "not tried", "reason": "does not compile without kinformer either"},
		{"package": "./crashes", "result": "differs", "runs": 3, "clientGo": {"informers": 1, "tests": 2, "skipped": 1}, "kinformer": {"tests": 1, "failed": 1},
		 "tests": [
			{"test": "(test binary)", "result": "differs", "clientGo": ["passed", "passed", "passed"], "kinformer": ["exit status 2", "exit status 2", "exit status 2"]},
			{"test": "TestA", "result": "differs", "clientGo": ["passed", "passed", "passed"], "kinformer": ["not ended", "not ended", "not ended"]},
			{"test": "TestB", "result": "differs", "clientGo": ["passed", "passed", "passed"], "kinformer": ["not run", "not run", "not run"]},
			{"test": "TestC", "result": "differs", "clientGo": ["skipped", "skipped", "skipped"], "kinformer": ["not run", "not run", "not run"]}
		 ]},
		{"package": "./differs", "result": "differs", "runs": 3,
		 "clientGo": {"informers": 3, "tests": 6, "failed": 2}, "kinformer": {"informers": 3, "tests": 6, "failed": 2},
		 "tests": [
			{"test": "TestFlaky", "result": "flaky on client-go", "clientGo": ["passed", "failed", "passed"], "kinformer": ["passed", "passed", "passed"]},
			{"test": "TestOfClientGo/fails", "result": "differs", "clientGo": ["passed", "passed", "passed"], "kinformer": ["failed", "failed", "failed"]},
			{"test": "TestOfKinformer", "result": "differs", "clientGo": ["failed", "failed", "failed"], "kinformer": ["passed", "passed", "passed"]},
			{"test": "TestOfNone", "result": "fails on both", "clientGo": ["failed", "failed", "failed"], "kinformer": ["failed", "failed", "failed"]}
		 ]},
		{"package": "./early", "result": "equal", "runs": 1, "notReplaced": 1, "clientGo": {"informers": 2, "tests": 1}, "kinformer": {"informers": 1, "tests": 1}},
		{"package": "./equal", "result": "equal", "runs": 1, "clientGo": {"informers": 8, "tests": 1}, "kinformer": {"informers": 8, "tests": 1}},
		{"package": "./plain", "result": "not tried", "reason": "no informers linked"},
		{"package": "./without", "result": "not tried", "reason": "no informer made", "runs": 1, "clientGo": {"tests": 1}, "kinformer": {"tests": 1}}
	]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Packages, got.Packages, cmpopts.IgnoreFields(comparison{}, "Output")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	for test, text := range map[string]string{"TestOfClientGo/fails": "differs_test.go:", "TestOfKinformer": "differs_test.go:", "TestA": "panic: on kinformer"} {
		if output := strings.Join(outputOf(got, test), "\n"); !strings.Contains(output, text) {
			t.Errorf("%s: output %q", test, output)
		}
	}
	for _, informer := range got.Streaming.NotStreaming {
		if informer.File != "equal/equal.go" || !strings.HasPrefix(informer.Write, "list functions of the program: ") {
			t.Errorf("an informer of other functions: %+v", informer)
		}
	}
	if got.Streaming.Informers != 9 || len(got.Streaming.NotStreaming) != 8 {
		t.Errorf("informers that stream: %+v", got.Streaming)
	}
	if read(t, "go.mod") != goMod {
		t.Error("go.mod has changed")
	}
}

// keepPackages removes the packages of the program that are not named.
func keepPackages(t *testing.T, names ...string) {
	t.Helper()
	folders, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if strings.HasPrefix(folder, "go.") || slices.Contains(names, folder) {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

// executeUntil runs the command, calls a function before a line of its progress, and returns its
// output.
func executeUntil(ctx context.Context, line string, call func(stdout string), args ...string) (stdout string, err error) {
	var out bytes.Buffer
	progress := writerFunc(func(p []byte) (int, error) {
		if string(p) == line {
			call(out.String())
		}
		return len(p), nil
	})
	err = try.Run(ctx, args, command.Streams{In: strings.NewReader(""), Out: &out, Err: progress})
	return out.String(), err
}

func expectTexts(t *testing.T, stdout string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
}

// TestStopPrintsWhatIsKnown ends the context once the second package is compiled.
func TestStopPrintsWhatIsKnown(t *testing.T) {
	repository := inProgram(t)
	keepPackages(t, "early", "equal", "without")
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	stdout, err := executeUntil(ctx, "./equal: compile\n", func(stdout string) {
		expectTexts(t, stdout, "\n./early ")
		cancel(stop)
	}, "./...", "--kinformer", repository)
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	expectTexts(t, stdout, "\n./early ", "\n./early: client-go made 1 informer on kinformer's side", "\nstopped: 2 packages not tried\n")
}

// TestErrorPrintsWhatIsKnown removes the folder of the second package before its tests run in it.
func TestErrorPrintsWhatIsKnown(t *testing.T) {
	repository := inProgram(t)
	keepPackages(t, "early", "equal", "without")
	stdout, err := executeUntil(t.Context(), "./equal: run 1 on client-go\n", func(string) {
		keepPackages(t, "early", "without")
	}, "./...", "--kinformer", repository)
	if err == nil || !strings.HasPrefix(err.Error(), "run the tests of example.com/program/equal: ") {
		t.Errorf("error %v", err)
	}
	expectTexts(t, stdout, "\n./early ", "\nstopped: 2 packages not tried\n")
}

// TestStopOfABuildPrintsTheText ends the context once all tests have run, in a vendored program
// with a main package.
func TestStopOfABuildPrintsTheText(t *testing.T) {
	repository := inProgram(t)
	keepPackages(t, "equal")
	write(t, "main.go", "package main\n\nimport _ \"example.com/program/equal\"\n\nfunc main() {}\n")
	if err := os.Mkdir("vendor", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join("vendor", "modules.txt"), "")
	t.Setenv("GOFLAGS", "-mod=mod")
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	stdout, err := executeUntil(ctx, ".: build on client-go\n", func(string) { cancel(stop) }, "./...", "--kinformer", repository)
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	expectTexts(t, stdout, "\nText for the pull request:\n", "\n`go mod vendor` adds ", "| ./equal | 1 / 1 |")
}

func TestPackedWithoutCopiesIsAnError(t *testing.T) {
	repository := inProgram(t)
	write(t, "equal/shared.go", "package equal\n\nvar _ = struct{ UnsafeDisableDeepCopy bool }{UnsafeDisableDeepCopy: true}\n\n// It makes informers.\n")
	_, err := execute(t, "./equal", "--packed", "--kinformer", repository)
	if !errors.Is(err, adopt.ErrPackedNotCopied) || !strings.Contains(err.Error(), "equal/shared.go:3") {
		t.Errorf("error %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func outputOf(r report, test string) []string {
	for _, p := range r.Packages {
		for _, c := range p.Tests {
			if c.Test == test {
				return c.Output
			}
		}
	}
	return nil
}
