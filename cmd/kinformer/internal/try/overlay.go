// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package try

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// Names of the environment variables that the overlay's files read.
const (
	sideVariable  = "KINFORMER_TRY"           // "kinformer" selects kinformer's informers
	countVariable = "KINFORMER_TRY_INFORMERS" // a file, to which each new informer appends a byte
)

// Bytes in the file of countVariable.
const (
	madeByClientGo  = 'c'
	madeByKinformer = 'k'
)

// addedFile is the name of the files that the overlay adds to packages.
const addedFile = "zz_kinformer_try"

//go:embed overlay/toolscache.go.tmpl
var toolsCacheText string

//go:embed overlay/package_test.go.tmpl
var testFileText string

// constructors are the functions of client-go's tools/cache that make informers by themselves, and
// their types. The others call one of these.
func constructors() map[string]string {
	const arguments = "ListerWatcher, runtime.Object, time.Duration, ResourceEventHandler"
	return map[string]string{
		"NewSharedIndexInformerWithOptions": "func(ListerWatcher, runtime.Object, SharedIndexInformerOptions) SharedIndexInformer",
		"NewInformerWithOptions":            "func(InformerOptions) (Store, Controller)",
		"NewInformer":                       "func(" + arguments + ") (Store, Controller)",
		"NewIndexerInformer":                "func(" + arguments + ", Indexers) (Indexer, Controller)",
		"NewTransformingInformer":           "func(" + arguments + ", TransformFunc) (Store, Controller)",
		"NewTransformingIndexerInformer":    "func(" + arguments + ", Indexers, TransformFunc) (Indexer, Controller)",
	}
}

// overlay collects the files that replace others, or are added, while a test is compiled.
type overlay struct {
	folder  string // of the files that are written
	written int
	replace map[string]string // paths of the files that are read, by those that the go command sees
	err     error
}

// writeOverlay writes the files into a folder, and returns the path of the file for -overlay.
//
// The folder copied has a copy of client-go that only the overlay contains: the go command does not
// replace files of the module cache. In the copy, a file of tools/cache declares a variable, and
// the constructors call it if it is set. A test file of each package sets the variable, as
// tools/cache cannot import kinformer, which imports tools/cache.
func writeOverlay(folder string, p *program, original, copied string, o *options) (string, error) {
	v := &overlay{folder: folder, replace: map[string]string{}}
	v.copyModule(original, copied)
	v.instrument(filepath.Join(original, "tools", "cache"), filepath.Join(copied, "tools", "cache"))
	for _, pkg := range p.packages {
		if pkg.hasCache {
			v.addTemplate(filepath.Join(pkg.dir, addedFile+"_test.go"), testFileText, map[string]any{
				"Package": pkg.packageName, "Variable": sideVariable, "Kinformer": kinformer, "Constructors": constructors(),
				"Options": fmt.Sprintf("kinformerTryClientgo.Options{Packed: %v, OmitFields: %#v}", o.packed, o.omitFields),
			})
		}
	}
	return v.write()
}

// write writes the file for -overlay, and returns its path.
func (v *overlay) write() (string, error) {
	content, err := json.Marshal(map[string]any{"Replace": v.replace})
	path := filepath.Join(v.folder, "overlay.json")
	return path, errors.Join(v.err, err, os.WriteFile(path, content, 0o600))
}

// copyModule adds the files of a module.
func (v *overlay) copyModule(from, to string) {
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		v.replace[filepath.Join(to, strings.TrimPrefix(path, from))] = path
		return nil
	})
	v.err = errors.Join(v.err, err)
}

func (v *overlay) add(path string, content []byte) {
	source := filepath.Join(v.folder, fmt.Sprint(v.written, ".go"))
	v.written++
	v.replace[path] = source
	v.err = errors.Join(v.err, os.WriteFile(source, content, 0o600))
}

func (v *overlay) addTemplate(path, text string, values any) {
	var content bytes.Buffer
	v.err = errors.Join(v.err, template.Must(template.New(path).Parse(text)).Execute(&content, values))
	v.add(path, content.Bytes())
}

// instrument adds the changed files of client-go's tools/cache.
func (v *overlay) instrument(original, copied string) {
	missing := constructors()
	paths, err := filepath.Glob(filepath.Join(original, "*.go"))
	v.err = errors.Join(v.err, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil {
			content, err = editConstructors(path, content, missing)
		}
		v.err = errors.Join(v.err, err)
		if content != nil {
			v.add(filepath.Join(copied, filepath.Base(path)), content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		v.err = errors.Join(v.err, fmt.Errorf("edit %s: function %s not found", original, name))
	}
	v.addTemplate(filepath.Join(copied, addedFile+".go"), toolsCacheText, map[string]any{"Variable": countVariable, "Constructors": constructors()})
}

// editConstructors inserts a statement at the beginning of each constructor of a file, and removes
// the constructors from missing. Lines keep their numbers. It returns nil if the file has none.
func editConstructors(path string, content []byte, missing map[string]string) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var edited []byte
	for _, decl := range slices.Backward(file.Decls) { // so that offsets remain valid
		function, ok := decl.(*ast.FuncDecl)
		if !ok || function.Recv != nil || function.Body == nil {
			continue
		}
		name := function.Name.Name
		want, ok := missing[name]
		if !ok {
			continue
		}
		delete(missing, name)
		got, parameters := signature(function.Type)
		switch {
		case len(parameters) != function.Type.Params.NumFields():
			return nil, fmt.Errorf("edit %s: parameter of function %s without a name", path, name)
		case got != want:
			return nil, fmt.Errorf("edit %s: function %s has the type %s, want %s", path, name, got, want)
		}
		statement := fmt.Sprintf(" if KinformerTry.%s != nil { kinformerTryCount(%q); return KinformerTry.%s(%s) }; kinformerTryCount(%q);",
			name, madeByKinformer, name, strings.Join(parameters, ", "), madeByClientGo)
		content = slices.Insert(content, set.Position(function.Body.Lbrace).Offset+1, []byte(statement)...)
		edited = content
	}
	return edited, nil
}

// signature returns the text of a function's type, and the names of its parameters.
func signature(function *ast.FuncType) (text string, parameters []string) {
	var in, out []string
	for _, field := range function.Params.List {
		for _, name := range field.Names {
			if name.Name != "_" {
				parameters = append(parameters, name.Name)
			}
		}
		in = append(in, slices.Repeat([]string{types.ExprString(field.Type)}, max(1, len(field.Names)))...)
	}
	if function.Results != nil {
		for _, field := range function.Results.List {
			out = append(out, slices.Repeat([]string{types.ExprString(field.Type)}, max(1, len(field.Names)))...)
		}
	}
	text = "func(" + strings.Join(in, ", ") + ")"
	if len(out) == 1 {
		return text + " " + out[0], parameters
	}
	return text + " (" + strings.Join(out, ", ") + ")", parameters
}
