// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// TestDocumentsCompile checks the types of every block of Go in the documents.
func TestDocumentsCompile(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{}
	for _, path := range append(paths, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents[filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))] = string(text)
	}
	checked, errs := check(t, documents)
	for _, err := range errs {
		t.Error(err)
	}
	if checked < 40 {
		t.Errorf("checked %d programs, want at least 40", checked)
	}
}

// TestErrorsNameDocumentAndLine checks documents with one error each.
func TestErrorsNameDocumentAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"```go\nctx.Missing()\n```":                                      "d.md:2: ctx.Missing undefined",
		"```go\n// before\n\n// after\ncache.DeletedFinalStateUnknown{}": "d.md:5: undefined: cache.DeletedFinalStateUnknown",
		"```go\n// before\ncache.ByObject\n// after\n```":                "d.md:3: undefined: cache.ByObject",
		"text\n\n```go\nfunc g() {\n}\nimport \"fmt\"\ng(1)\n```":        "d.md:7: too many arguments in call to g",
		"```go\npackage p\n\nimport \"fmt\"\n```":                        `d.md:4: "fmt" imported and not used`,
		"```go\nreturn errors.New(\n```":                                 "d.md:3: expected operand",
	} {
		_, errs := check(t, map[string]string{"d.md": text})
		if len(errs) == 0 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%q: %v, want %q", text, errs, want)
		}
	}
}

// check checks the types of every block of Go in documents, given by their paths. It returns the
// number of programs that they are.
func check(t *testing.T, documents map[string]string) (checked int, errs []error) {
	t.Helper()
	files := token.NewFileSet()
	var sources []*ast.File
	var programs []program
	for _, path := range slices.Sorted(maps.Keys(documents)) {
		for _, block := range blocksOf(path, documents[path]) {
			for _, program := range block.programs() {
				source, err := parser.ParseFile(files, "", program.source, parser.SkipObjectResolution)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				sources, programs = append(sources, source), append(programs, program)
			}
		}
	}
	if len(sources) == 0 {
		return 0, errs
	}
	imports, err := newImporter(t, files, sources)
	if err != nil {
		t.Fatal(err)
	}
	for i, source := range sources {
		config := types.Config{Importer: imports, Error: func(err error) {
			if !programs[i].isFragment || !isUnused(err) {
				errs = append(errs, err)
			}
		}}
		_, _ = config.Check("document", files, []*ast.File{source}, nil) // Error receives each error
	}
	return len(sources), errs
}

// isUnused reports whether an error is that a variable, an import or a value is not used.
func isUnused(err error) bool {
	failed, ok := errors.AsType[types.Error](err)
	return ok && (failed.Soft || strings.HasSuffix(failed.Msg, "is not used"))
}
