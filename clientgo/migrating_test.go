// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMigratingDocumentHasEachName checks the first column of the tables of docs/migrating.md: it
// has each exported name of client-go's tools/cache once, and marks those that only the newest
// version has.
func TestMigratingDocumentHasEachName(t *testing.T) {
	oldest, newest := clientGoVersions[0], clientGoVersions[len(clientGoVersions)-1]
	before := exportedNames(t, filepath.Join(clientGoSource(t, oldest), "tools/cache"))
	after := exportedNames(t, filepath.Join(clientGoSource(t, newest), "tools/cache"))
	var want []string
	for _, name := range after {
		if !slices.Contains(before, name) {
			name += " (" + newest[:strings.LastIndex(newest, ".")] + ")"
		}
		want = append(want, name)
	}
	for _, name := range before { // those that the newest version no longer has
		if !slices.Contains(after, name) {
			want = append(want, name)
		}
	}
	compareNames(t, documentedNames(t, "tools/cache"), want)
}

// TestMigratingDocumentHasEachMethod checks the same for the methods of informers and stores.
func TestMigratingDocumentHasEachMethod(t *testing.T) {
	root := filepath.Join(clientGoSource(t, clientGoVersions[0]), "tools/cache")
	compareNames(t, documentedNames(t, "method of an informer"), methodsOf(t, root, "SharedInformer", "SharedIndexInformer"))
	compareNames(t, documentedNames(t, "method of a store"), methodsOf(t, root, "Store", "Indexer"))
}

// TestMigratingDocumentNamesWhatExists checks the second column: its names are declared in package
// cache.
func TestMigratingDocumentNamesWhatExists(t *testing.T) {
	declared := map[string]bool{}
	inspectPackage(t, "../cache", func(node ast.Node) {
		for _, name := range declaredBy(node) {
			declared[name] = true
		}
	})
	named := 0
	for _, title := range []string{"tools/cache", "method of an informer", "method of a store"} {
		for _, row := range tableRows(t, title) {
			for _, name := range namesOfCache(row[1]) {
				named++
				if !declared[name] {
					t.Errorf("package cache does not declare %s, which is in place of %s", name, row[0])
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("found %d names only", named)
	}
}

// compareNames reports names that a document lacks, has twice, or has wrongly.
func compareNames(t *testing.T, documented, want []string) {
	t.Helper()
	for i, name := range documented {
		if slices.Contains(documented[:i], name) {
			t.Errorf("docs/migrating.md has %s twice", name)
		}
		if !slices.Contains(want, name) {
			t.Errorf("docs/migrating.md has %s, which client-go does not have", name)
		}
	}
	for _, name := range want {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/migrating.md does not have %s", name)
		}
	}
}

// documentedNames returns the names in the first column of the tables with a title, with the
// version that marks them, if any.
func documentedNames(t *testing.T, title string) (names []string) {
	t.Helper()
	for _, row := range tableRows(t, title) {
		for _, match := range regexp.MustCompile("`(\\w+)`( \\(v[0-9.]+\\))?").FindAllStringSubmatch(row[0], -1) {
			names = append(names, match[1]+match[2])
		}
	}
	return names
}

// namesOfCache returns the identifiers in a cell, but for those of other packages.
func namesOfCache(cell string) (names []string) {
	for _, match := range regexp.MustCompile("`([A-Z][^`]*)`").FindAllStringSubmatch(cell, -1) {
		names = append(names, regexp.MustCompile(`\w+`).FindAllString(match[1], -1)...)
	}
	return names
}

// tableRows returns the cells of the tables of docs/migrating.md whose first column has a title.
func tableRows(t *testing.T, title string) (rows [][]string) {
	t.Helper()
	document, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	inTable := false
	for line := range strings.Lines(string(document)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case cells[0] == title:
			inTable = true
		case inTable && !strings.HasPrefix(line, "|---"):
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Errorf("docs/migrating.md has no table %q", title)
	}
	return rows
}

// methodsOf returns the methods that interfaces of a package declare themselves.
func methodsOf(t *testing.T, directory string, interfaces ...string) (methods []string) {
	t.Helper()
	inspectPackage(t, directory, func(node ast.Node) {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || !slices.Contains(interfaces, spec.Name.Name) {
			return
		}
		for _, field := range spec.Type.(*ast.InterfaceType).Methods.List {
			for _, name := range field.Names { // none for an embedded interface
				methods = append(methods, name.Name)
			}
		}
	})
	return methods
}

// declaredBy returns the names of functions, methods, types, values and fields that a node
// declares.
func declaredBy(node ast.Node) (names []string) {
	var identifiers []*ast.Ident
	switch node := node.(type) {
	case *ast.FuncDecl:
		identifiers = []*ast.Ident{node.Name}
	case *ast.TypeSpec:
		identifiers = []*ast.Ident{node.Name}
	case *ast.ValueSpec:
		identifiers = node.Names
	case *ast.Field:
		identifiers = node.Names
	}
	for _, identifier := range identifiers {
		names = append(names, identifier.Name)
	}
	return names
}

// inspectPackage calls visit for each node of the package in a directory, without its tests.
func inspectPackage(t *testing.T, directory string, visit func(ast.Node)) {
	t.Helper()
	for _, file := range parsePackage(t, directory) {
		ast.Inspect(file, func(node ast.Node) bool {
			visit(node)
			return true
		})
	}
}

// parsePackage returns the files of the package in a directory, without its tests.
func parsePackage(t *testing.T, directory string) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", directory, len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
