// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// documentImporter imports compiled packages, and others from their declarations.
type documentImporter struct {
	compiled types.Importer
	declared map[string]*types.Package
}

// Import returns a package.
func (i documentImporter) Import(path string) (*types.Package, error) {
	if declared, ok := i.declared[path]; ok {
		return declared, nil
	}
	return i.compiled.Import(path)
}

// newImporter returns an importer of the packages that files import.
func newImporter(t *testing.T, files *token.FileSet, sources []*ast.File) (types.Importer, error) {
	t.Helper()
	paths := map[string]bool{"k8s.io/client-go/kubernetes": true} // of a declaration
	for _, source := range sources {
		for _, spec := range source.Imports {
			if path := strings.Trim(spec.Path.Value, `"`); declarations()[path] == "" {
				paths[path] = true
			}
		}
	}
	exports, err := exportFiles(t, slices.Sorted(maps.Keys(paths)))
	if err != nil {
		return nil, err
	}
	i := documentImporter{declared: map[string]*types.Package{}, compiled: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("package %s has no export data", path)
		}
		return os.Open(exports[path])
	})}
	for path, text := range declarations() {
		source, err := parser.ParseFile(files, path, text, 0)
		if err != nil {
			return nil, err
		}
		if i.declared[path], err = (&types.Config{Importer: i}).Check(path, files, []*ast.File{source}, nil); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// exportFiles compiles packages. It returns the files with the types of these and of the packages
// that they depend on.
func exportFiles(t *testing.T, paths []string) (map[string]string, error) {
	t.Helper()
	var failure bytes.Buffer
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Export"}, paths...)...)
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, failure.Bytes())
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct{ ImportPath, Export string }
		switch err := decoder.Decode(&listed); {
		case errors.Is(err, io.EOF):
			return exports, nil
		case err != nil:
			return nil, err
		}
		exports[listed.ImportPath] = listed.Export
	}
}
