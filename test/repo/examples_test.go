// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package repo_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample are the functions that need no Example, with the reason.
var withoutExample = map[string]string{
	"cache.ID":                   "tells views apart, for programs that draw pages as package debug does",
	"cache.NewAdaptedController": "package clientgo calls it",
	"fake.ListsMostRecent":       "package cache calls it",
}

// mainTypes are the types whose exported methods need an Example, by package.
var mainTypes = map[string][]string{
	"cache":  {"SharedInformer", "Registration", "Snapshot", "Lister", "NamespaceLister", "Factory", "InformerRef", "Group", "View"},
	"fake":   {"ListerWatcher", "APIServer"},
	"follow": {"Follower"},
	"shard":  {"Member", "Slot"},
}

// TestEveryEntryPointHasAnExample checks that the Examples of each package use its exported
// functions and the methods of its main types. It compares names only.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	for _, dir := range []string{"cache", "clientgo", "debug", "fake", "follow", "metrics", "shard", "simulate/simulatecr"} {
		functions, used := functionsAndUses(t, dir)
		for _, name := range functions {
			if _, allowed := withoutExample[dir+"."+name]; used[name] == allowed {
				t.Errorf("%s.%s: used in an Example: %t; in withoutExample: %t", dir, name, used[name], allowed)
			}
		}
	}
}

// functionsAndUses returns the exported functions of a package and methods of its main types, and
// the names that its Examples select: of functions of packages, and of methods.
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
			if ok && function.Name.IsExported() && !strings.HasSuffix(path, "_test.go") && isEntryPoint(dir, function) {
				functions = append(functions, function.Name.Name)
			}
		}
	}
	return functions, used
}

// isEntryPoint reports whether a function is one of a package, or a method of one of its main
// types.
func isEntryPoint(dir string, function *ast.FuncDecl) bool {
	return function.Recv == nil || slices.Contains(mainTypes[dir], receiverOf(function))
}
