// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
)

// smallProgram writes a program into the current folder, with a module that has kinformer's name,
// and returns its workspace and its edited sources.
func smallProgram(t *testing.T) (w *workspace, edited map[string][]byte) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	folder, scratch := t.TempDir(), t.TempDir()
	t.Chdir(folder)
	const (
		goMod = "module example.com/program\n\ngo 1.26.0\n"
		plain = "package main\n\nfunc main() {}\n"
		uses  = "package main\n\nimport \"" + library + "/cache\"\n\nfunc main() { print(cache.Data[len(cache.Data)-1]) }\n"
	)
	for path, content := range map[string]string{
		"go.mod":                   goMod,
		"main.go":                  plain,
		"early/main.go":            "package main\n\nfunc main() { undefined() }\n",
		"late/main.go":             plain,
		"other/main.go":            plain,
		"package/package.go":       "package library\n",
		"kinformer/go.mod":         "module " + library + "\n\ngo 1.26.0\n",
		"kinformer/cache/cache.go": "package cache\n\nvar Data = [1 << 20]byte{1: 1}\n",
	} {
		mustWrite(t, filepath.Join(folder, path), content)
	}
	w = &workspace{program: &program{path: "example.com/program", goMod: filepath.Join(folder, "go.mod")}, adopted: filepath.Join(scratch, "adopted")}
	w.program.modFile = "-modfile=" + filepath.Join(folder, "go.mod")
	mustWrite(t, filepath.Join(w.adopted, "go.mod"), goMod+"\nrequire "+library+" v0.0.0\n\nreplace "+library+" => ./kinformer\n")
	return w, map[string][]byte{
		filepath.Join(folder, "main.go"):            []byte(uses),
		filepath.Join(folder, "early", "main.go"):   []byte(uses),
		filepath.Join(folder, "late", "main.go"):    []byte(strings.Replace(uses, "Data", "undefined", 1)),
		filepath.Join(folder, "package", "edit.go"): []byte("package library\n"),
	}
}

// TestBinariesThatContainKinformerAreBuilt has a main package that compiles without and with the
// edits, two that do so only once or never, and one without kinformer.
func TestBinariesThatContainKinformerAreBuilt(t *testing.T) {
	w, edited := smallProgram(t)
	var progress strings.Builder
	var got report
	if err := w.measureAdoption(t.Context(), &progress, edited, []string{"./..."}, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Binaries) != 3 || got.Vendored != nil {
		t.Fatalf("%+v, progress:\n%s", got, progress.String())
	}
	root, early, late := got.Binaries[0], got.Binaries[1], got.Binaries[2]
	if root.Package != "." || root.BeforeBytes == 0 || root.AfterBytes < root.BeforeBytes+1<<20 {
		t.Errorf("%+v", root)
	}
	if (early != pullrequest.Binary{Package: "./early"}) || late.Package != "./late" || late.BeforeBytes == 0 || late.AfterBytes != 0 {
		t.Errorf("%+v, %+v", early, late)
	}
	for _, want := range []string{
		".: build on client-go\n.: build on kinformer\n./early: build on client-go\n",
		"\n./early: not built on client-go: go build: exit status 1: ", "\n./late: not built on kinformer: go build: exit status 1: ", "undefined: cache.undefined",
	} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("no %q in:\n%s", want, progress.String())
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 7 {
		t.Errorf("error %v, files of the program: %v", err, left)
	}
}

func TestPackagesWithoutMainHaveNoBinaries(t *testing.T) {
	w, edited := smallProgram(t)
	var progress strings.Builder
	var got report
	if err := w.measureAdoption(t.Context(), &progress, edited, []string{"./package"}, &got); err != nil || len(got.Binaries) > 0 || progress.Len() > 0 {
		t.Errorf("error %v, binaries %v, progress:\n%s", err, got.Binaries, progress.String())
	}
}

// TestFailureToMeasureIsPrinted has a go.mod that does not parse.
func TestFailureToMeasureIsPrinted(t *testing.T) {
	w, edited := smallProgram(t)
	mustWrite(t, filepath.Join("vendor", "modules.txt"), "")
	mustWrite(t, filepath.Join(w.adopted, "go.mod"), "nonsense")
	var progress strings.Builder
	var got report
	if err := w.measureAdoption(t.Context(), &progress, edited, []string{"./..."}, &got); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"\ncount the vendored files: go mod: exit status 1: ", "\nlist the main packages: go list: exit status 1: "} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("no %q in:\n%s", want, progress.String())
		}
	}
}

// TestStopKeepsTheBinariesThatAreBuilt ends the context before the second binary.
func TestStopKeepsTheBinariesThatAreBuilt(t *testing.T) {
	w, edited := smallProgram(t)
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	var lines []string
	progress := writerFunc(func(p []byte) (int, error) {
		if lines = append(lines, string(p)); string(p) == "./early: build on client-go\n" {
			cancel(stop)
		}
		return len(p), nil
	})
	var got report
	err := w.measureAdoption(ctx, progress, edited, []string{"./..."}, &got)
	if !errors.Is(err, stop) || len(got.Binaries) != 1 || got.Binaries[0].AfterBytes == 0 {
		t.Errorf("error %v, binaries %v", err, got.Binaries)
	}
	if diff := cmp.Diff([]string{".: build on client-go\n", ".: build on kinformer\n", "./early: build on client-go\n"}, lines); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
