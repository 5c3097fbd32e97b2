// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/test/internal/compiled"
)

// TestLibraryCompilesWithIntsOf32Bits type-checks the packages of the library with the sizes of
// 386, against the packages that this machine's tests have compiled. It finds constants that
// overflow an int, in seconds; make compile compiles the dependencies for 386 too.
func TestLibraryCompilesWithIntsOf32Bits(t *testing.T) {
	packages, exports := compiledPackages(t)
	if len(packages) < 40 {
		t.Fatalf("found %d packages", len(packages))
	}
	files := token.NewFileSet()
	compiled := &compiledImporter{Importer: importer.ForCompiler(files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })}
	config := types.Config{
		Sizes:    types.SizesFor("gc", "386"),
		Importer: compiled,
		Error:    func(err error) { t.Error(err) },
	}
	compiled.math, _ = config.Check("math", files, parseFiles(t, files, packages["math"]), nil)
	for path, names := range packages {
		_, _ = config.Check(path, files, parseFiles(t, files, names), nil)
	}
}

// compiledImporter imports compiled packages, except for package math, whose MaxInt is that of the
// machine that compiled it.
type compiledImporter struct {
	types.Importer
	math *types.Package
}

func (c *compiledImporter) Import(path string) (*types.Package, error) {
	if path == "math" {
		return c.math, nil
	}
	return c.Importer.Import(path)
}

// TestIntsOf32BitsOverflow checks that the sizes of 386 refuse such a constant.
func TestIntsOf32BitsOverflow(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\nvar n int = 1 << 32\n", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Sizes: types.SizesFor("gc", "386")}
	if _, err := config.Check("p", files, []*ast.File{file}, nil); err == nil || !strings.Contains(err.Error(), "overflows") {
		t.Errorf("error %v", err)
	}
}

// compiledPackages returns the names of the files of each package of the library and those of
// package math, and for each package of the library and each dependency the file with its exported
// names.
func compiledPackages(t *testing.T) (files map[string][]string, exports map[string]string) {
	t.Helper()
	packages, err := compiled.List(t.Context(), ".", "./...")
	if err != nil {
		t.Fatal(err)
	}
	files, exports = make(map[string][]string), make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
		if isWithin(p.ImportPath, module) || p.ImportPath == "math" {
			for _, name := range p.GoFiles {
				files[p.ImportPath] = append(files[p.ImportPath], filepath.Join(p.Dir, name))
			}
		}
	}
	return files, exports
}

func parseFiles(t *testing.T, files *token.FileSet, names []string) []*ast.File {
	t.Helper()
	parsed := make([]*ast.File, len(names))
	for i, name := range names {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed[i] = file
	}
	return parsed
}
