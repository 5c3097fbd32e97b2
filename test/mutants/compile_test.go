// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/test/internal/compiled"
)

// TestMutantsCompile type-checks each mutant with the declarations in the other files of its
// package. One that does not compile shows nothing.
func TestMutantsCompile(t *testing.T) {
	mutants, err := load("*.diff")
	if err != nil {
		t.Fatal(err)
	}
	c := newChecker(t, mutants)
	for _, m := range mutants {
		if err := c.check(m); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// TestCheckerRefuses type-checks a mutant that does not compile.
func TestCheckerRefuses(t *testing.T) {
	const last = "func New[E any]() *Log[E] {\n"
	m := mutant{file: "internal/eventlog/log.go", from: last, to: last + "\tx := 1\n"}
	if err := newChecker(t, []mutant{m}).check(m); err == nil || !strings.Contains(err.Error(), "declared and not used: x") {
		t.Errorf("error %v", err)
	}
}

// checker type-checks mutants against the compiled packages that they import.
type checker struct {
	root     string
	files    *token.FileSet
	compiled types.Importer
	names    map[string][]string // of a package's files, by folder
	parsed   map[string]*ast.File
}

// newChecker compiles what the packages of the mutants import.
func newChecker(t *testing.T, mutants []mutant) *checker {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var changed []string
	for _, m := range mutants {
		changed = append(changed, module+"/"+path.Dir(m.file)) // go list takes repeated ones
	}
	packages, err := compiled.List(t.Context(), filepath.Join(root, "test"), changed...) // which requires the others
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{root: root, files: token.NewFileSet(), names: make(map[string][]string), parsed: make(map[string]*ast.File)}
	exports := make(map[string]string)
	for _, p := range packages {
		exports[p.ImportPath], c.names[p.Dir] = p.Export, p.GoFiles
	}
	c.compiled = importer.ForCompiler(c.files, "gc", func(name string) (io.ReadCloser, error) { return os.Open(exports[name]) })
	return c
}

// check returns the first error of a mutant's package.
func (c *checker) check(m mutant) error {
	text, _, err := m.apply(c.root)
	if err != nil {
		return err
	}
	changed := filepath.Join(c.root, filepath.FromSlash(m.file))
	folder := filepath.Dir(changed)
	var files []*ast.File
	for _, name := range c.names[folder] {
		if name = filepath.Join(folder, name); name != changed {
			file, err := c.parse(name)
			if err != nil {
				return err
			}
			files = append(files, file)
		}
	}
	file, err := parser.ParseFile(c.files, changed, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var first error
	config := types.Config{Importer: c.compiled, Error: func(err error) {
		e, ok := errors.AsType[types.Error](err)
		isUnusedImport := ok && e.Soft && c.files.Position(e.Pos).Filename != changed // the bodies that use it are left out
		if first == nil && !isUnusedImport {
			first = fmt.Errorf("does not compile: %w", err)
		}
	}}
	_, _ = config.Check(module+"/"+path.Dir(m.file), c.files, append(files, file), nil)
	return first
}

// parse parses a file that does not change, once, and leaves out the bodies of its functions.
func (c *checker) parse(name string) (*ast.File, error) {
	if file := c.parsed[name]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		if function, ok := decl.(*ast.FuncDecl); ok && function.Name.Name != "init" && function.Name.Name != "main" {
			function.Body = nil
		}
	}
	c.parsed[name] = file
	return file, nil
}
