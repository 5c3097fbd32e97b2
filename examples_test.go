// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// withoutExample are the functions that need no Example, with the reason.
var withoutExample = map[string]string{
	"cache.ControllerOf":  "package clientgo calls it",
	"cache.RelistReasons": "package metrics calls it",
}

// TestEveryEntryPointHasAnExample checks that the Examples of each package use its exported
// functions, and those of package cache the methods of its main types. It compares names only.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	for _, dir := range []string{"cache", "clientgo", "debug", "fake", "metrics"} {
		functions, used := functionsAndUses(t, dir)
		if dir == "cache" {
			for _, of := range []reflect.Type{
				reflect.TypeFor[*cache.SharedInformer[*corev1.Pod]](), reflect.TypeFor[cache.Store[*corev1.Pod]](),
				reflect.TypeFor[cache.Lister[*corev1.Pod]](), reflect.TypeFor[*cache.Factory](),
			} {
				for method := range of.Methods() {
					functions = append(functions, method.Name)
				}
			}
		}
		for _, name := range functions {
			if _, allowed := withoutExample[dir+"."+name]; used[name] == allowed {
				t.Errorf("%s.%s: used in an Example: %t; in withoutExample: %t", dir, name, used[name], allowed)
			}
		}
	}
}

// functionsAndUses returns the exported functions of a package, and the names that its Examples
// select: of functions of packages, and of methods.
func functionsAndUses(t *testing.T, dir string) (functions []string, used map[string]bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(dir, err)
	}
	used = make(map[string]bool)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range doc.Examples(file) {
			ast.Inspect(example.Code, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok {
					used[selector.Sel.Name] = true
				}
				return true
			})
		}
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.IsExported() && !strings.HasSuffix(path, "_test.go") {
				functions = append(functions, function.Name.Name)
			}
		}
	}
	return functions, used
}
