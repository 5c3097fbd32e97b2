// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inProgram writes a vendored program that imports one of two packages of another module.
func inProgram(t *testing.T) (root string) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	root = t.TempDir()
	t.Chdir(root)
	writeAll(t, map[string]string{
		"go.mod":                              "module example.com/program\n\ngo 1.26.0\n\nrequire example.com/module v0.0.0\n\nreplace example.com/module => ./module\n",
		"main.go":                             "package main\n\nimport _ \"example.com/module/a\"\n\nfunc main() {}\n",
		"module/go.mod":                       "module example.com/module\n\ngo 1.26.0\n",
		"module/a/a.go":                       "package a\n",
		"module/a/same.go":                    "package a\n",
		"module/b/b.go":                       "package b\n",
		"module/b/LICENSE":                    "MIT\n",
		"vendor/example.com/module/a/a.go":    "package c\n", // of the same size
		"vendor/example.com/module/a/same.go": "package a\n",
		"vendor/example.com/module/a/old.go":  "package a\n",
		"vendor/modules.txt":                  "# of another size\n",
		"_edited/main.go":                     "package main\n\nimport (\n\t_ \"example.com/module/a\"\n\t_ \"example.com/module/b\"\n)\n\nfunc main() {}\n",
		"_edited/overlay.json":                `{"Replace": {"` + filepath.ToSlash(filepath.Join(root, "main.go")) + `": "_edited/main.go"}}`,
	})
	return root
}

func writeAll(t *testing.T, files map[string]string) {
	t.Helper()
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestVendoredFilesAreCompared vendors the edited program: two files of a second package are added,
// one is removed, and of the three others two change.
func TestVendoredFilesAreCompared(t *testing.T) {
	root := inProgram(t)
	got, err := CountVendored(t.Context(), io.Discard, root, t.TempDir(), "-overlay=_edited/overlay.json")
	if err != nil {
		t.Fatal(err)
	}
	modules := int64(len("# example.com/module v0.0.0 => ./module\n## explicit; go 1.26.0\nexample.com/module/a\nexample.com/module/b\n# example.com/module => ./module\n"))
	want := &Vendored{Added: 2, Changed: 2, Removed: 1, BeforeBytes: 48, AfterBytes: 34 + modules}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if content, err := os.ReadFile("vendor/modules.txt"); err != nil || string(content) != "# of another size\n" {
		t.Errorf("the program's own folder has changed: %v, %s", err, content)
	}
}

func TestProgramWithoutVendorIsNotVendored(t *testing.T) {
	root := inProgram(t)
	if err := os.Remove("vendor/modules.txt"); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	if got, err := CountVendored(t.Context(), io.Discard, root, scratch); err != nil || got != nil {
		t.Errorf("%+v, error %v", got, err)
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("error %v, written: %v", err, left)
	}
}

func TestFailureOfGoModVendorIsAnError(t *testing.T) {
	root := inProgram(t)
	if err := os.RemoveAll("module"); err != nil {
		t.Fatal(err)
	}
	if got, err := CountVendored(t.Context(), io.Discard, root, t.TempDir()); err == nil || got != nil {
		t.Errorf("%+v, error %v", got, err)
	}
}
