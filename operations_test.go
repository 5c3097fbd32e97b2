// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/cache"
)

// TestOperationsNamesWhatAnOperatorSees checks that docs/operations.md names, in backquotes, each
// phase, error, effect and reason that an informer reports, each field of its Status, each metric,
// each alert and each log message.
func TestOperationsNamesWhatAnOperatorSees(t *testing.T) {
	operations := readText(t, "docs/operations.md")
	for _, seen := range []struct {
		kind  string
		names []string
		least int // that the source is known to have
	}{
		{"phase", typedConstants(t, "cache", "Phase"), 7},
		{"effect", typedConstants(t, "cache", "ObjectEffect"), 6},
		{"error", exportedErrors(t, "cache", "clientgo", "shard"), 19},
		{"reason", relistReasons(), 8},
		{"field of Status", fields[cache.Status](), 25},
		{"field of HandlerStatus", fields[cache.HandlerStatus](), 8},
		{"alert", submatches(t, "metrics/alerts.yaml", `(?m)^ +- alert: (\w+)$`), 8},
		{"metric", submatches(t, "docs/observing.md", "(?m)^\\| `(\\w+_\\w+)` \\| (?:gauge|counter) \\|"), 26},
		{"log message", logMessages(t), 40},
	} {
		if len(seen.names) < seen.least {
			t.Errorf("found %d names of kind %s, want at least %d: %q", len(seen.names), seen.kind, seen.least, seen.names)
		}
		for _, name := range seen.names {
			if !strings.Contains(operations, "`"+name) {
				t.Errorf("docs/operations.md does not name the %s %q", seen.kind, strings.TrimSuffix(name, "`"))
			}
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// submatches returns what the group of an expression matches in a file.
func submatches(t *testing.T, path, expression string) (found []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(expression).FindAllStringSubmatch(readText(t, path), -1) {
		found = append(found, match[1]+"`")
	}
	return found
}

func relistReasons() (names []string) {
	for _, reason := range cache.RelistReasons() {
		names = append(names, string(reason)+"`")
	}
	return names
}

// fields returns the names of a struct's fields.
func fields[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		names = append(names, field.Name+"`")
	}
	return names
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
		if !imports(file, "testing") {
			files = append(files, file)
		}
	}
	return files
}

func imports(file *ast.File, path string) bool {
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(path) {
			return true
		}
	}
	return false
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
			text, err := constantText(value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text+"`")
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
					names = append(names, name.Name+"`")
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
		receiver := method.Recv.List[0].Type
		if pointer, ok := receiver.(*ast.StarExpr); ok {
			receiver = pointer.X
		}
		if name, ok := receiver.(*ast.Ident); ok && name.IsExported() {
			names = append(names, name.Name+"`")
		}
	}
	return names
}

// logMessages returns the messages that the library logs. One that ends in a text known only at
// run time is its beginning.
func logMessages(t *testing.T) (messages []string) {
	t.Helper()
	for _, root := range []string{"cache", "clientgo", "shard", "debug", "metrics", "internal"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				messages = append(messages, folderMessages(t, path)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return messages
}

func folderMessages(t *testing.T, folder string) (messages []string) {
	t.Helper()
	files := sourceFiles(t, folder)
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			argument := messageArgument(node)
			if argument == nil {
				return true
			}
			texts, err := messageTexts(files, argument)
			if err != nil {
				t.Errorf("%s: %v", folder, err)
			}
			messages = append(messages, texts...)
			return true
		})
	}
	return messages
}

// messageArgument returns the message of a call of a logger, or nil for another node. The method
// Error of an error has no argument.
func messageArgument(node ast.Node) ast.Expr {
	call, ok := node.(*ast.CallExpr)
	if !ok {
		return nil
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case !ok:
	case (method.Sel.Name == "Info" || method.Sel.Name == "InfoS") && len(call.Args) > 0:
		return call.Args[0]
	case (method.Sel.Name == "Error" || method.Sel.Name == "ErrorS") && len(call.Args) > 1:
		return call.Args[1]
	}
	return nil
}

// messageTexts returns the texts that a message may have: a constant or its beginning, the values
// of a map, or the results of a function.
func messageTexts(files []*ast.File, message ast.Expr) ([]string, error) {
	if text, err := constantText(message); err == nil {
		return []string{text + "`"}, nil
	}
	switch m := message.(type) {
	case *ast.BinaryExpr:
		beginning, err := constantText(m.X)
		return []string{beginning}, err
	case *ast.IndexExpr:
		return declaredTexts(files, m.X, func(node ast.Node) []ast.Expr {
			if pair, ok := node.(*ast.KeyValueExpr); ok {
				return []ast.Expr{pair.Value}
			}
			return nil
		})
	case *ast.CallExpr:
		return declaredTexts(files, m.Fun, func(node ast.Node) []ast.Expr {
			if result, ok := node.(*ast.ReturnStmt); ok {
				return result.Results
			}
			return nil
		})
	}
	return nil, fmt.Errorf("the message of a log line is a %T, of which this test reads no text", message)
}

var errNotConstant = errors.New("not a constant text")

// constantText returns the value of a string literal, or of several that are added.
func constantText(expression ast.Expr) (string, error) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.BinaryExpr:
		first, err := constantText(e.X)
		if err != nil {
			return "", err
		}
		second, err := constantText(e.Y)
		return first + second, err
	}
	return "", errNotConstant
}

// declaredTexts returns the constant texts among the expressions that find returns of the nodes of
// a function or variable.
func declaredTexts(files []*ast.File, name ast.Expr, find func(ast.Node) []ast.Expr) (texts []string, err error) {
	identifier, ok := name.(*ast.Ident)
	if !ok {
		return nil, errNotConstant
	}
	for _, file := range files {
		for _, declaration := range file.Decls {
			if !declares(declaration, identifier.Name) {
				continue
			}
			ast.Inspect(declaration, func(node ast.Node) bool {
				for _, expression := range find(node) {
					text, notConstant := constantText(expression)
					err = errors.Join(err, notConstant)
					texts = append(texts, text+"`")
				}
				return true
			})
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no constant texts", identifier.Name)
	}
	return texts, err
}

// declares reports whether a declaration is that of a function or variable.
func declares(declaration ast.Decl, name string) bool {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		return d.Recv == nil && d.Name.Name == name
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if value, ok := spec.(*ast.ValueSpec); ok && value.Names[0].Name == name {
				return true
			}
		}
	}
	return false
}
