// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopters

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProgramsPassTheirOwnTests runs "kinformer try" on two programs of Kubernetes. The tests of
// the packages named here make informers, and no test of the programs differs. Each has one main
// package.
func TestProgramsPassTheirOwnTests(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	command := filepath.Join(t.TempDir(), "kinformer")
	output(t, filepath.Join(repository, "cmd", "kinformer"), "go", "build", "-o", command, ".")
	for module, packages := range map[string][]string{
		"k8s.io/sample-controller@v0.36.3": {"."},
		"k8s.io/cloud-provider@v0.36.3":    {"./controllers/node", "./controllers/nodelifecycle", "./controllers/route", "./controllers/service"},
	} {
		t.Run(module, func(t *testing.T) {
			var report struct {
				Packages []struct {
					Package, Result string
					Kinformer       struct{ Informers int }
				}
				Binaries []struct{ BeforeBytes, AfterBytes int64 }
			}
			stdout := output(t, download(t, module), command, "try", "./...", "--kinformer", repository, "--output=json")
			if err := json.Unmarshal(stdout, &report); err != nil {
				t.Fatal(err)
			}
			if len(report.Binaries) != 1 || report.Binaries[0].BeforeBytes == 0 || report.Binaries[0].AfterBytes == 0 {
				t.Errorf("no binary of the main package on both sides: %+v", report.Binaries)
			}
			var tried []string
			for _, p := range report.Packages {
				if p.Result == "equal" && p.Kinformer.Informers > 0 {
					tried = append(tried, p.Package)
				}
			}
			if diff := cmp.Diff(packages, tried); diff != "" {
				t.Errorf("packages with informers and equal results (-want +got):\n%s\n%s", diff, stdout)
			}
		})
	}
}

// download returns a writable copy of a module.
func download(t *testing.T, module string) string {
	t.Helper()
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(output(t, "", "go", "mod", "download", "-json", module), &downloaded); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(downloaded.Dir)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// output runs a program in a folder, and returns its standard output. It must succeed.
func output(t *testing.T, folder, program string, args ...string) []byte {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, args, err, out, failure.Bytes())
	}
	return out
}
