// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/reflector"
)

// TestOperationsNamesWhatAnOperatorSees checks that docs/operations.md names, in backquotes, each
// phase, error, effect and reason that an informer reports, each alert of metrics/alerts.yaml, and
// the beginning of each log message.
func TestOperationsNamesWhatAnOperatorSees(t *testing.T) {
	operations := readText(t, "docs/operations.md")
	for _, seen := range []struct {
		kind  string
		names []string
		least int // that the source is known to have
	}{
		{"phase", typedConstants(t, "cache", "Phase"), 7},
		{"effect", typedConstants(t, "cache", "ObjectEffect"), 6},
		{"error", exportedErrors(t, "cache", "clientgo", "shard"), 15},
		{"reason", relistReasons(), 8},
		{"alert", alerts(t), 10},
		{"log message", logMessages(t), 40},
	} {
		if len(seen.names) < seen.least {
			t.Errorf("found %d names of kind %s, want at least %d: %q", len(seen.names), seen.kind, seen.least, seen.names)
		}
		for _, name := range seen.names {
			if !strings.Contains(operations, "`"+name) {
				t.Errorf("docs/operations.md does not name the %s %q", seen.kind, name)
			}
		}
	}
}

func relistReasons() (names []string) {
	for _, reason := range reflector.RelistReasons() {
		names = append(names, string(reason))
	}
	return names
}

// alerts returns the names of the alerts for Prometheus.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(readText(t, "metrics/alerts.yaml"), -1) {
		names = append(names, match[1])
	}
	return names
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sourceFiles parses the Go files of a folder that are neither tests nor a harness of tests.
func sourceFiles(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(file.Imports, func(spec *ast.ImportSpec) bool { return spec.Path.Value == `"testing"` }) {
			files = append(files, file)
		}
	}
	return files
}

// valueSpecs returns the constants and variables that a folder's files declare.
func valueSpecs(t *testing.T, folder string) (specs []*ast.ValueSpec) {
	t.Helper()
	for _, file := range sourceFiles(t, folder) {
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				for _, spec := range general.Specs {
					if value, ok := spec.(*ast.ValueSpec); ok {
						specs = append(specs, value)
					}
				}
			}
		}
	}
	return specs
}

// typedConstants returns the values of the constants of a type.
func typedConstants(t *testing.T, folder, typeName string) (values []string) {
	t.Helper()
	for _, spec := range valueSpecs(t, folder) {
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != typeName {
			continue
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
	}
	return values
}

// exportedErrors returns the names of the error values and types that packages export.
func exportedErrors(t *testing.T, folders ...string) (names []string) {
	t.Helper()
	for _, folder := range folders {
		for _, spec := range valueSpecs(t, folder) {
			for _, name := range spec.Names {
				if strings.HasPrefix(name.Name, "Err") {
					names = append(names, name.Name)
				}
			}
		}
		for _, file := range sourceFiles(t, folder) {
			names = append(names, errorTypes(file)...)
		}
	}
	return names
}

// errorTypes returns the names of the exported types of a file that have a method Error.
func errorTypes(file *ast.File) (names []string) {
	for _, declaration := range file.Decls {
		method, ok := declaration.(*ast.FuncDecl)
		if !ok || method.Recv == nil || method.Name.Name != "Error" {
			continue
		}
		if name := receiverOf(method); ast.IsExported(name) {
			names = append(names, name)
		}
	}
	return names
}

// receiverOf returns the name of the type that has a method.
func receiverOf(method *ast.FuncDecl) string {
	receiver := method.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	switch generic := receiver.(type) {
	case *ast.IndexExpr:
		receiver = generic.X
	case *ast.IndexListExpr:
		receiver = generic.X
	}
	return receiver.(*ast.Ident).Name
}

// logMessages returns the messages that the library logs, up to the first punctuation mark or to a
// text known only at run time. It leaves out messages of which all is known only then.
func logMessages(t *testing.T) (messages []string) {
	t.Helper()
	for _, root := range []string{"cache", "clientgo", "shard", "debug", "metrics", "internal"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			for _, file := range sourceFiles(t, path) {
				ast.Inspect(file, func(node ast.Node) bool {
					if text, err := strconv.Unquote(messageOf(node)); err == nil {
						messages = append(messages, text[:len(text)-len(strings.TrimLeftFunc(text, inMessage))])
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

func inMessage(r rune) bool { return !strings.ContainsRune(",;:.", r) }

// messageOf returns the string literal that the message of a call of a logger begins with, or ""
// for another node. The method Error of an error has no argument.
func messageOf(node ast.Node) string {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return ""
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	index := map[string]int{"Info": 0, "InfoS": 0, "Error": 1, "ErrorS": 1}
	i, ok := index[method.Sel.Name]
	if !ok || i >= len(call.Args) {
		return ""
	}
	message := call.Args[i]
	for {
		sum, ok := message.(*ast.BinaryExpr)
		if !ok {
			break
		}
		message = sum.X
	}
	if literal, ok := message.(*ast.BasicLit); ok {
		return literal.Value
	}
	return ""
}
