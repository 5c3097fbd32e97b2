// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// toolsCache is the import path of client-go's package with the constructors of single informers.
const toolsCache = "k8s.io/client-go/tools/cache"

// metadataInformer is that of the package with factories of metadata.
const metadataInformer = "k8s.io/client-go/metadata/metadatainformer"

// clientGoPaths returns the import paths of client-go for which kinformer has a package of the same
// name, below package clientgo.
func clientGoPaths() []string {
	return []string{
		"k8s.io/client-go/dynamic/dynamicinformer", "k8s.io/client-go/informers", metadataInformer, toolsCache,
	}
}

// dropIn is a package of kinformer that has the exported names of one of client-go.
type dropIn struct {
	path  string          // its import path
	names map[string]bool // exported
	// The functions that are kinformer's own. All other names are client-go's.
	constructors map[string]constructor
}

// constructor is a function that is kinformer's own.
type constructor struct {
	reflector bool // a result is a *clientgo.Reflector
	onlyStore bool // the only result is a store, which is equal to client-go's
}

// readDropIns reads the packages from the source of kinformer in a folder.
func readDropIns(root string) (map[string]*dropIn, error) {
	all := map[string]*dropIn{}
	for _, importPath := range clientGoPaths() {
		name := importPath[strings.LastIndexByte(importPath, '/')+1:]
		d := &dropIn{path: clientgoPath + "/" + name, names: map[string]bool{}, constructors: map[string]constructor{}}
		if err := d.read(filepath.Join(root, "clientgo", name), importPath); err != nil {
			return nil, fmt.Errorf("read %s: %w", d.path, err)
		}
		all[importPath] = d
	}
	return all, nil
}

// read reads the source of the package. importPath is that of client-go's package.
func (d *dropIn) read(folder, importPath string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("%s: %w", folder, fs.ErrNotExist)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		clientGo := nameOfImport(file, importPath)
		for _, declaration := range file.Decls {
			d.add(declaration, clientGo)
		}
	}
	return nil
}

// nameOfImport returns the name that a file gives to an import.
func nameOfImport(file *ast.File, importPath string) string {
	for _, spec := range file.Imports {
		if spec.Path.Value == strconv.Quote(importPath) && spec.Name != nil {
			return spec.Name.Name
		}
	}
	return importPath[strings.LastIndexByte(importPath, '/')+1:]
}

// add adds the exported names of a declaration. clientGo is the name of client-go's package.
func (d *dropIn) add(declaration ast.Decl, clientGo string) {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		if declaration.Recv != nil || !declaration.Name.IsExported() {
			return
		}
		d.names[declaration.Name.Name] = true
		if !forwards(declaration, clientGo) {
			d.constructors[declaration.Name.Name] = constructorOf(declaration)
		}
	case *ast.GenDecl:
		for _, spec := range declaration.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				d.names[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					d.names[name.Name] = true
				}
			}
		}
	}
}

// forwards reports whether a function refers to that of client-go with the same name.
func forwards(function *ast.FuncDecl, clientGo string) (found bool) {
	ast.Inspect(function.Body, func(n ast.Node) bool {
		found = found || isSelector(n, clientGo, function.Name.Name)
		return !found
	})
	return found
}

func constructorOf(function *ast.FuncDecl) (c constructor) {
	if function.Type.Results == nil {
		return c
	}
	results := function.Type.Results.List
	for _, result := range results {
		if pointer, ok := result.Type.(*ast.StarExpr); ok && isSelector(pointer.X, "clientgo", "Reflector") {
			c.reflector = true
		}
	}
	c.onlyStore = len(results) == 1 && isSelector(results[0].Type, "clientcache", "Store", "Indexer")
	return c
}

// isSelector reports whether a node is one of the names of a package.
func isSelector(n ast.Node, qualifier string, names ...string) bool {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, selector.Sel.Name) {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == qualifier
}
