// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
)

func TestMain(m *testing.M) { goroutines.VerifyTestMain(m) }

// harness runs the command in a copy of testdata/program, which is the current directory. The
// modules in testdata/modules have the names of other projects that a program uses.
type harness struct {
	t          *testing.T
	repository string // of kinformer
	dir        string
	golden     string
	in         io.Reader
	out, err   bytes.Buffer
}

// modules are the folders of testdata/modules.
func modules() map[string]string {
	return map[string]string{"clientset": "example.com/clientset", "knative": "knative.dev/pkg", "runtime": "sigs.k8s.io/controller-runtime"}
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	temporary, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(temporary, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	h := &harness{
		t: t, repository: filepath.Join(here, "..", "..", "..", ".."), golden: filepath.Join(here, "testdata"),
		dir: filepath.Join(temporary, "program"), in: strings.NewReader(""),
	}
	t.Chdir(h.dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	gomod := strings.Replace(h.readFile(filepath.Join(h.repository, "go.mod")), "module "+gomod.Kinformer, "module example.com/program", 1)
	for folder, path := range modules() {
		h.write(filepath.Join("..", "modules", folder, "go.mod"), "module "+path+"\n\ngo 1.26.0\n")
		gomod += "\nrequire " + path + " v0.0.0\nreplace " + path + " => ../modules/" + folder + "\n"
	}
	h.write("go.mod", gomod)
	h.write("go.sum", h.readFile(filepath.Join(h.repository, "go.sum")))
	return h
}

// requireKinformer makes go.mod require kinformer.
func (h *harness) requireKinformer() {
	h.write("go.mod", h.read("go.mod")+"\nrequire "+gomod.Kinformer+" v0.0.0\nreplace "+gomod.Kinformer+" => "+h.repository+"\n")
}

func (h *harness) run(args ...string) error {
	h.out.Reset()
	h.err.Reset()
	err := Run(h.t.Context(), args, command.Streams{In: h.in, Out: &h.out, Err: &h.err})
	lines := slices.DeleteFunc(strings.SplitAfter(h.err.String(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "go: downloading ") // if the module cache was empty
	})
	h.err.Reset()
	h.err.WriteString(strings.Join(lines, ""))
	return err
}

func (h *harness) mustRun(args ...string) {
	h.t.Helper()
	if err := h.run(args...); err != nil {
		h.t.Fatalf("%v: %v\n%s", args, err, h.err.String())
	}
}

// expectError runs the command, which must fail with an error that contains want.
func (h *harness) expectError(want string, args ...string) {
	h.t.Helper()
	if err := h.run(args...); err == nil || !strings.Contains(err.Error(), want) {
		h.t.Errorf("%v: error %v, want %q", args, err, want)
	}
}

// expectGolden compares text with a file in testdata.
func (h *harness) expectGolden(name, got string) {
	h.t.Helper()
	h.t.Chdir(filepath.Dir(h.golden))
	clustertest.ExpectGolden(h.t, name, got)
	h.t.Chdir(h.dir)
}

func (h *harness) read(name string) string { return h.readFile(filepath.Join(h.dir, name)) }

func (h *harness) readFile(path string) string {
	h.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	return string(content)
}

func (h *harness) write(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // as the other files
		h.t.Fatal(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
