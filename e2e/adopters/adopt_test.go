// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommandAdoptsCertManager runs kinformer adopt on packages of cert-manager, which make
// informers with factories of client-go, with generated functions and with the project's own
// factory. The result compiles.
func TestCommandAdoptsCertManager(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	program, command := filepath.Join(folder, "cert-manager"), filepath.Join(folder, "kinformer")
	run(t, filepath.Join(repository, "cmd", "kinformer"), "go", "build", "-o", command, ".")
	source := strings.TrimSpace(run(t, ".", "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager"))
	if err := os.CopyFS(program, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	packages := []string{"./internal/informers", "./pkg/client/informers/externalversions"}

	diff := run(t, program, command, append([]string{"adopt", "--yes", "--kinformer", repository}, packages...)...)

	for _, line := range []string{
		"\tkubeinformers \"github.com/kinformer/kinformer/clientgo/informers\"",
		"\t\"github.com/kinformer/kinformer/clientgo/metadatainformer\"",
		"\treturn clientgo.Adopt(corev1informers.NewSecretInformer(client, bsi.namespace, resyncPeriod, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), clientgo.Options{})",
		"\tinformer = clientgo.Adopt(newFunc(f.client, resyncPeriod), clientgo.Options{})",
		"\tgithub.com/kinformer/kinformer v0.0.0-00010101000000-000000000000",
	} {
		if !strings.Contains(diff, "\n+"+line+"\n") {
			t.Errorf("the diff has no line %q", line)
		}
	}
	if t.Failed() {
		t.Log(diff)
	}
	run(t, program, "go", append([]string{"vet"}, packages...)...)
}

// TestProgramsAreAdopted runs kinformer adopt on whole programs, with their tests, which pass on
// kinformer's informers afterwards. One has replace directives for the modules of Kubernetes, which
// stay as they are. The diffs are in testdata; -update writes them.
func TestProgramsAreAdopted(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "kinformer")
	run(t, filepath.Join(repository, "cmd", "kinformer"), "go", "build", "-o", command, ".")
	for module, test := range map[string]struct {
		packages string
		replaces bool
	}{
		"k8s.io/sample-controller@v0.36.3":                       {packages: "./..."},
		"k8s.io/cloud-provider@v0.36.3":                          {packages: "./controllers/..."},
		"github.com/kubernetes-csi/external-attacher/v4@v4.12.0": {packages: "./...", replaces: true},
	} {
		t.Run(module, func(t *testing.T) {
			program := download(t, module)
			before := replaced(t, program)
			if replaces := before["k8s.io/client-go"] != ""; replaces != test.replaces {
				t.Fatalf("go.mod replaces client-go: %v", replaces)
			}

			diff := run(t, program, command, "adopt", "--yes", "--tests", "--streaming", "--kinformer", repository, test.packages)

			name, _, _ := strings.Cut(strings.NewReplacer("/", "_", "k8s.io/", "", "github.com/", "").Replace(module), "@")
			expectDiff(t, filepath.Join("testdata", "adopted", name+".diff"), strings.ReplaceAll(diff, repository, "/kinformer"))
			before["github.com/kinformer/kinformer"] = repository
			if diff := cmp.Diff(before, replaced(t, program)); diff != "" {
				t.Errorf("replace directives (-want +got):\n%s", diff)
			}
			run(t, program, "go", "test", "-vet=off", test.packages)
		})
	}
}

var update = flag.Bool("update", false, "write the diffs in testdata")

// expectDiff compares a diff with a file.
func expectDiff(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// replaced returns what the go.mod of a program replaces modules by.
func replaced(t *testing.T, folder string) map[string]string {
	t.Helper()
	var file struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal([]byte(run(t, folder, "go", "mod", "edit", "-json")), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range file.Replace {
		all[r.Old.Path] = strings.TrimSpace(r.New.Path + " " + r.New.Version)
	}
	return all
}

// run runs a command in a folder, which must succeed, and returns its standard output.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = folder
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, failure.Bytes())
	}
	return string(out)
}
