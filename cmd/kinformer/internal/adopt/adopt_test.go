// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/clustertest"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/command"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// TestProgramIsAdopted edits a program that makes informers in each way. It compiles afterwards,
// and a second run changes nothing.
func TestProgramIsAdopted(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()

	h.mustRun("--diff", "./...")

	h.expectGolden("program.diff", h.out.String())
	h.expectGolden("notes.txt", h.err.String())
	before := h.read("main.go")
	h.mustRun("--yes", "./...")
	if after := h.read("main.go"); after == before {
		t.Error("main.go is unchanged")
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "-unusedresult=false", "./...").CombinedOutput(); err != nil {
		t.Errorf("the result does not compile: %v\n%s", err, out)
	}
	h.mustRun("--yes", "./...")
	if !strings.HasSuffix(h.err.String(), "Nothing to rewrite.\n") || h.out.String() != "" {
		t.Errorf("a second run changes more:\n%s%s", h.out.String(), h.err.String())
	}
	// One more than before: the first run has passed the factory to Generated, so it has no note.
	if !strings.Contains(h.err.String(), "\n7 of 30 informers stream. These do not:\n") {
		t.Errorf("a second run counts other informers:\n%s", h.err.String())
	}
}

// TestVendoredFilesAreCounted adopts a vendored program, once with a module that cannot be
// vendored.
func TestVendoredFilesAreCounted(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	if out, err := exec.CommandContext(t.Context(), "go", "mod", "vendor").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := h.read("vendor/modules.txt")
	h.mustRun("--diff", "./...")
	counted := regexp.MustCompile("\n`go mod vendor` adds [1-9]\\d* files, changes 1 and removes 0: ")
	if !counted.MatchString(h.err.String()) || h.read("vendor/modules.txt") != before {
		t.Errorf("vendor/modules.txt is changed: %v\n%s", h.read("vendor/modules.txt") != before, h.err.String())
	}
	h.write("gone.go", "package main\n\nimport _ \"example.com/gone\"\n")
	h.mustRun("--yes", "./...")
	if text := h.err.String(); !strings.Contains(text, "\ncount the vendored files: go mod: exit status 1: ") || counted.MatchString(text) || !strings.Contains(text, "The way back") {
		t.Errorf("no error of go mod vendor, or no text:\n%s", text)
	}
}

func TestTestsAreEditedOnRequest(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	before := h.read("factory_test.go")

	h.mustRun("--yes", "./...")

	if h.read("factory_test.go") != before || !strings.Contains(h.err.String(), "\nLeft alone: 1 test file with informers, such as factory_test.go; --tests edits them, too.\n") {
		t.Errorf("the test has changed: %v\n%s", h.read("factory_test.go") != before, h.err.String())
	}
	h.mustRun("--yes", "--tests", "./...")
	if !strings.Contains(h.read("factory_test.go"), clientgoPath+"/informers\"") || strings.Contains(h.err.String(), "Left alone") {
		t.Errorf("factory_test.go:\n%s\n%s", h.read("factory_test.go"), h.err.String())
	}
}

// TestMissingModuleIsNoted imports a module that cannot be loaded, once from a file that may make
// informers with it.
func TestMissingModuleIsNoted(t *testing.T) {
	h := newHarness(t)
	if err := os.Remove("begun.go"); err != nil {
		t.Fatal(err)
	}
	h.write("go.mod", h.read("go.mod")+"\nrequire example.com/gone v1.0.0\nreplace example.com/gone => ../gone\n")
	h.write("gone.go", "package main\n\nimport \"example.com/gone/informers\"\n\nvar gone = informers.NewWidgetInformer()\n")
	h.write("used.go", "package main\n\nimport \"example.com/gone\"\n\nvar used = gone.Value\n")
	h.expectError("list packages: stat "+filepath.Join(h.dir, "nothing")+": directory not found", "./nothing")

	h.mustRun("--yes", "--kinformer", h.repository, "./...")

	const note = "\ngone.go:3: not loaded, so informers that the package makes are not found: example.com/gone@v1.0.0: replacement directory ../gone does not exist\n"
	if !strings.Contains(h.err.String(), note) || strings.Contains(h.err.String(), "used.go") {
		t.Errorf("no %q in:\n%s", note, h.err.String())
	}
	if !strings.Contains(h.read("main.go"), clientgoPath) || !strings.Contains(h.read("go.mod"), "\n\tgithub.com/kinformer/kinformer v0.0.0") {
		t.Errorf("the program is not adopted:\n%s\n%s", h.read("main.go"), h.read("go.mod"))
	}
}

func TestNothingIsWrittenBeforeTheAnswer(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	before := h.read("main.go")
	for _, answer := range []string{"", "n\n", "yesterday\n"} {
		h.in = strings.NewReader(answer)
		if err := h.run("./..."); !errors.Is(err, command.ErrDeclined) || h.read("main.go") != before || !strings.Contains(h.err.String(), "Write 10 files? [y/N] ") {
			t.Errorf("answer %q: error %v, main.go is changed: %v\n%s", answer, err, h.read("main.go") != before, h.err.String())
		}
	}
	h.in = strings.NewReader("y\n")
	if err := h.run("./..."); err != nil || h.read("main.go") == before {
		t.Errorf("error %v, main.go is changed: %v", err, h.read("main.go") != before)
	}
}

// TestConcurrentEditIsKept edits a file between the question and the answer.
func TestConcurrentEditIsKept(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	before := h.read("clients.go")
	h.in = readerFunc(func(p []byte) (int, error) {
		h.write("main.go", "package main\n")
		return copy(p, "y\n"), nil
	})
	if err := h.run("./..."); err == nil || err.Error() != "write main.go: it was changed meanwhile; nothing was written" {
		t.Errorf("error %v", err)
	}
	if h.read("main.go") != "package main\n" || h.read("clients.go") != before {
		t.Error("a file was written")
	}
}

func TestKinformerIsRequired(t *testing.T) {
	h := newHarness(t)
	if err := os.Remove("begun.go"); err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(h.dir, h.repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{h.repository, relative} {
		before := h.read("go.mod")
		h.mustRun("--diff", "--kinformer", folder, "./...")
		for _, want := range []string{"\n+\tgithub.com/kinformer/kinformer v0.0.0-00010101000000-000000000000\n", "\n+replace github.com/kinformer/kinformer => " + folder + "\n"} {
			if !strings.Contains(h.out.String(), want) {
				t.Errorf("the diff has no %q:\n%s", want, h.out.String())
			}
		}
		if h.read("go.mod") != before {
			t.Error("--diff has written go.mod")
		}
	}
	h.mustRun("--yes", "--kinformer", relative, "./...")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "./...").CombinedOutput(); err != nil {
		t.Errorf("the result does not compile: %v\n%s", err, out)
	}
}

func TestCommandWithoutVersionNeedsAFolder(t *testing.T) {
	h := newHarness(t)
	if err := os.Remove("begun.go"); err != nil {
		t.Fatal(err)
	}
	h.expectError("this build of kinformer has no version that go.mod can require; name the folder of its source: --kinformer=DIR", "./...")
	h.expectError("read --kinformer: stat "+filepath.Join(h.repository, "docs", "clientgo")+": no such file or directory", "--kinformer", filepath.Join(h.repository, "docs"), "./...")
}

func TestOnlyNamedPackagesAreEdited(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	before := h.read("main.go")
	h.mustRun("--yes", "./pkg/...")
	if h.read("main.go") != before || !strings.Contains(h.read("pkg/informers/externalversions/factory.go"), "clientgo.Adopt(newFunc(f.client, 0), clientgo.Options{})") {
		t.Errorf("wrong files were written:\n%s", h.out.String())
	}
}

func TestWorkspacesAreRefused(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	h.write("go.work", "go 1.26.0\n\nuse .\n")
	t.Setenv("GOWORK", "")
	h.expectError(filepath.Join(h.dir, "go.work")+" is in use: run GOWORK=off kinformer adopt in the folder of each module", "./...")
}

func TestProgramThatDoesNotCompileIsAnError(t *testing.T) {
	h := newHarness(t)
	h.requireKinformer()
	h.write("broken.go", "package main\n\nfunc {\n")
	h.expectError("broken.go:3:6: expected 'IDENT'", "./...")
	t.Chdir(t.TempDir())
	h.expectError("find go.mod: the current directory is not in a module", "./...")
}

func TestKinformerItselfIsRefused(t *testing.T) {
	h := newHarness(t)
	t.Chdir(h.repository)
	h.expectError("go.mod is kinformer itself", "./cache")
}

// TestClientGoIsRaised checks that the modules of one version of Kubernetes stay at one version.
func TestClientGoIsRaised(t *testing.T) {
	h := newHarness(t)
	r := requirement{dir: h.repository}
	h.write("go.mod", "module example.com/program\n\nrequire (\n\tk8s.io/client-go v0.35.1\n\tk8s.io/kubectl v0.35.1\n\tk8s.io/klog/v2 v2.1.0\n\tk8s.io/metrics v0.34.0\n\tsigs.k8s.io/controller-runtime v0.23.3\n)\n")
	raised, err := r.raiseClientGo(t.Context(), "go.mod")
	if err != nil || !strings.HasPrefix(raised, "k8s.io/client-go is raised from v0.35.1 to v0.36.") {
		t.Fatalf("%q, %v", raised, err)
	}
	got, err := gomod.Read(t.Context(), "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	own, err := gomod.Read(t.Context(), filepath.Join(h.repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"k8s.io/client-go": own.Version(gomod.ClientGo), "k8s.io/kubectl": own.Version(gomod.ClientGo), "k8s.io/klog/v2": "v2.1.0", "k8s.io/metrics": "v0.34.0",
		"sigs.k8s.io/controller-runtime": runtimeFor(own.Version(gomod.ClientGo)),
	} {
		if got.Version(path) != want {
			t.Errorf("%s %s, want %s", path, got.Version(path), want)
		}
	}
	h.write("go.mod", "module example.com/program\n\nrequire k8s.io/client-go v0.40.0\n\nreplace k8s.io/client-go => k8s.io/client-go v0.35.1\n")
	if _, err := r.raiseClientGo(t.Context(), "go.mod"); err == nil || !strings.HasPrefix(err.Error(), "replace k8s.io/client-go by v0.35.1: kinformer needs v0.36") {
		t.Errorf("error %v", err)
	}
}

// TestDropInNamesAreKinformers checks what is read from the source of kinformer's packages.
func TestDropInNamesAreKinformers(t *testing.T) {
	h := newHarness(t)
	all, err := readDropIns(h.repository)
	if err != nil {
		t.Fatal(err)
	}
	d := all[toolsCache]
	for name, want := range map[string]constructor{
		"NewSharedIndexInformer": {}, "NewIndexer": {onlyStore: true}, "NewNamespaceKeyedIndexerAndReflector": {reflector: true}, "ShutDownEventHandler": {},
	} {
		if got, ok := d.constructors[name]; !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{"New", "WaitForCacheSync", "Indexers", "NamespaceIndex"} {
		if _, ok := d.constructors[name]; ok || !d.names[name] {
			t.Errorf("%s: a constructor: %v, exported: %v", name, ok, d.names[name])
		}
	}
	if d.names["constructors"] || d.names["NewTypedSharedIndexInformer"] {
		t.Error("names that the package does not export")
	}
}

func TestHelpHasEachFlag(t *testing.T) {
	clustertest.ExpectHelp(t, Help, (&options{}).flags())
}

func TestInvalidOptions(t *testing.T) {
	for args, want := range map[string]string{
		"--yes":           "name packages, such as ./...",
		"--yes --diff . ": "give --yes or --diff, not both",
		"--fly .":         "unknown flag: --fly",
	} {
		_, err := parse(strings.Fields(args))
		usage, ok := errors.AsType[*command.UsageError](err)
		if !ok || usage.Message != want+"; see kinformer adopt --help" {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

func TestMissingGitIsAnError(t *testing.T) {
	h := newHarness(t)
	t.Setenv("PATH", t.TempDir())
	h.expectError("find git, which makes the diff: exec: \"git\": executable file not found in $PATH", "./...")
}

// TestInterruptIsReported interrupts the go command, git, and go mod vendor after which there is a
// text all the same.
func TestInterruptIsReported(t *testing.T) {
	interrupt := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupt)
	if _, err := gomod.Go(ctx, "version"); !errors.Is(err, interrupt) {
		t.Errorf("go: error %v", err)
	}
	r := &result{scratch: t.TempDir(), changed: []changedFile{{name: "main.go"}}}
	if _, err := r.diff(ctx); !errors.Is(err, interrupt) {
		t.Errorf("git: error %v", err)
	}
	h := newHarness(t)
	if err := os.MkdirAll("vendor", 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("vendor/modules.txt", "")
	r = &result{scratch: t.TempDir(), program: &program{root: h.dir}, streams: command.Streams{Err: &h.err}}
	if err := r.printText(ctx); !errors.Is(err, interrupt) || !strings.Contains(h.err.String(), "The way back") || strings.Contains(h.err.String(), "count") {
		t.Errorf("go mod vendor: error %v, text:\n%s", err, h.err.String())
	}
}
