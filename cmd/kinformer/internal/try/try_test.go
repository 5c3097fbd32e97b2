// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
		Package, Result, Reason      string
		Runs, Informers, NotReplaced int
		ClientGo, Kinformer          *struct{ Tests, Failed int }
		Failures                     []failure
	}
}

type failure struct {
	Test                string
	ClientGo, Kinformer int
	Output              []string
}

// TestTestsRunOnBothSides tries a program of six packages: one that does not compile, one with tests
// that fail on either side, one that makes an informer while it is initialized, one with each
// constructor, and two that make no informer.
func TestTestsRunOnBothSides(t *testing.T) {
	repository := inProgram(t)
	goMod := read(t, "go.mod")
	stdout, err := execute(t, "./...", "--kinformer", repository, "-o=json")
	if err == nil || err.Error() != "the tests of 1 package differ" {
		t.Errorf("error %v", err)
	}
	var got report
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	var want report
	if err := json.Unmarshal([]byte(`{"packages": [
		{"package": "./broken", "result": "not tried", "reason": "does not compile without kinformer either"},
		{"package": "./differs", "result": "differs", "runs": 3, "informers": 3, "clientGo": {"tests": 6, "failed": 2}, "kinformer": {"tests": 6, "failed": 2},
		 "failures": [
			{"test": "TestFlaky", "clientGo": 1, "kinformer": 0},
			{"test": "TestOfClientGo/fails", "clientGo": 0, "kinformer": 3},
			{"test": "TestOfKinformer", "clientGo": 3, "kinformer": 0},
			{"test": "TestOfNone", "clientGo": 3, "kinformer": 3}
		 ]},
		{"package": "./early", "result": "equal", "runs": 1, "informers": 1, "notReplaced": 1, "clientGo": {"tests": 1}, "kinformer": {"tests": 1}},
		{"package": "./equal", "result": "equal", "runs": 1, "informers": 8, "clientGo": {"tests": 1}, "kinformer": {"tests": 1}},
		{"package": "./plain", "result": "not tried", "reason": "no informers linked"},
		{"package": "./without", "result": "not tried", "reason": "no informer made", "runs": 1, "clientGo": {"tests": 1}, "kinformer": {"tests": 1}}
	]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(failure{}, "Output")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	for _, f := range want.Packages[1].Failures[1:3] {
		if output := strings.Join(outputOf(got, f.Test), "\n"); !strings.Contains(output, "differs_test.go:") {
			t.Errorf("%s: output %q", f.Test, output)
		}
	}
	if read(t, "go.mod") != goMod {
		t.Error("go.mod has changed")
	}
}

func outputOf(r report, test string) []string {
	for _, f := range r.Packages[1].Failures {
		if f.Test == test {
			return f.Output
		}
	}
	return nil
}
