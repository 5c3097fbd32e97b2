// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/try"
)

// TestErrorsNameTheCommandThatHelps starts the command where no module can be added.
func TestErrorsNameTheCommandThatHelps(t *testing.T) {
	for name, test := range map[string]struct {
		change func(t *testing.T)
		want   []string
	}{
		"workspace": {func(t *testing.T) {
			t.Helper()
			write(t, "go.work", "go 1.26.0\n\nuse .\n")
		}, []string{"go.work is in force", "GOWORK=off kinformer try '--run=A|B' ./..."}},
		"vendored": {func(t *testing.T) {
			t.Helper()
			if err := os.Mkdir("vendor", 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join("vendor", "modules.txt"), "")
			t.Setenv("GOFLAGS", "-tags=x")
		}, []string{"modules.txt is in force", `GOFLAGS="-tags=x -mod=mod" kinformer try '--run=A|B' ./...`}},
		"no module": {func(t *testing.T) {
			t.Helper()
			t.Chdir(t.TempDir())
		}, []string{"no go.mod in this folder or those above it"}},
		"no client-go": {func(t *testing.T) {
			t.Helper()
			t.Chdir("plain")
			write(t, "go.mod", "module example.com/plain\n\ngo 1.26.0\n")
		}, []string{"no test of these packages has informers"}},
		"broken": {func(t *testing.T) {
			t.Helper()
			write(t, filepath.Join("plain", "other_test.go"), "package other\n")
		}, []string{"go list: ", "found packages other (other_test.go) and plain (plain_test.go)"}},
	} {
		t.Run(name, func(t *testing.T) {
			repository := inProgram(t)
			test.change(t)
			stdout, err := execute(t, "--run=A|B", "./...", "--kinformer", repository)
			if err == nil || stdout != "" {
				t.Fatalf("error %v, output %q", err, stdout)
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("error %q, want %q", err, text)
				}
			}
		})
	}
}

// TestCommandWithoutVersionNeedsAFolder runs the command of a test binary, which has no version.
func TestCommandWithoutVersionNeedsAFolder(t *testing.T) {
	inProgram(t)
	_, err := execute(t, "./...")
	if err == nil || !strings.Contains(err.Error(), "--kinformer=DIR") {
		t.Errorf("error %v", err)
	}
}

func TestKinformerItselfIsRefused(t *testing.T) {
	t.Chdir(inProgram(t))
	if _, err := execute(t, "./..."); err == nil || !strings.HasSuffix(err.Error(), "go.mod is kinformer itself") {
		t.Errorf("error %v", err)
	}
}

// TestGoModDoesNotChange lists and compiles a program whose go.mod lacks a requirement, with the
// flag that makes the go command add it.
func TestGoModDoesNotChange(t *testing.T) {
	repository := inProgram(t)
	goMod := regexp.MustCompile(`(?m)^\s+k8s.io/api v.*\n`).ReplaceAllString(read(t, "go.mod"), "")
	write(t, "go.mod", goMod)
	goSum := read(t, "go.sum")
	t.Setenv("GOFLAGS", "-mod=mod")
	_, err := execute(t, "./broken", "--kinformer", repository)
	if err == nil || !strings.HasPrefix(err.Error(), "nothing was tried: ") {
		t.Errorf("error %v", err)
	}
	if read(t, "go.mod") != goMod || read(t, "go.sum") != goSum {
		t.Errorf("go.mod or go.sum has changed:\n%s", read(t, "go.mod"))
	}
}

// TestTemporaryFilesAreRemoved makes the go command keep its folder, as it does if a signal ends
// it.
func TestTemporaryFilesAreRemoved(t *testing.T) {
	repository := inProgram(t)
	temporary := t.TempDir()
	t.Setenv("GOTMPDIR", "")
	t.Setenv("TMPDIR", temporary)
	t.Setenv("GOFLAGS", "-work")
	if _, err := execute(t, "./broken", "--kinformer", repository); err == nil {
		t.Error("no error")
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("error %v, left %v", err, left)
	}
}

// TestProgramThatDoesNotParseIsTried has a file that go list accepts.
func TestProgramThatDoesNotParseIsTried(t *testing.T) {
	repository := inProgram(t)
	write(t, filepath.Join("broken", "broken.go"), "package broken\n\nfunc {\n")
	var out, progress bytes.Buffer
	err := try.Run(t.Context(), []string{"./broken", "--kinformer", repository}, command.Streams{In: strings.NewReader(""), Out: &out, Err: &progress})
	if err == nil || !strings.HasPrefix(err.Error(), "nothing was tried: ") || strings.Contains(out.String(), "stream") {
		t.Errorf("error %v, output:\n%s", err, out.String())
	}
	if want := "find the informers that stream: parse broken/broken.go: "; !strings.Contains(progress.String(), want) {
		t.Errorf("no %q in:\n%s", want, progress.String())
	}
}
