// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// adoptClientGo edits the files of a package that make informers or reflectors with the functions
// of client-go.
func (a *adopter) adoptClientGo(p *pkg) {
	reflectors := false
	for _, s := range p.sources {
		if !a.isEdited(s) {
			continue
		}
		for _, i := range s.imports {
			switch {
			case a.dropIns[i.path] == nil || i.name == "_":
			case i.name == ".":
				a.note(s, i.spec, "a dot import, whose calls are not recognized", importLine(".", a.dropIns[i.path].path))
			case !s.generated:
				reflectors = a.adoptImport(s, i) || reflectors
			case !isBy("informer-gen", s.text): // whose informers the factory adopts
				a.noteGenerated(s, i)
			}
		}
	}
	if !reflectors {
		return
	}
	for _, s := range p.sources {
		if !s.generated && a.isEdited(s) {
			s.adoptReflectorTypes()
		}
	}
}

// adoptImport makes the file use kinformer's constructors in place of an import's. It reports
// whether any of them makes a reflector.
//
// If kinformer's package has all that the file uses, the import changes. Otherwise the file gets
// kinformer's package, too, and the calls of its constructors change.
func (a *adopter) adoptImport(s *source, i *imported) (reflectors bool) {
	d := a.dropIns[i.path]
	var calls []*ast.SelectorExpr
	needed, complete := false, s.imported(d.path) == nil
	for _, use := range i.uses {
		c, ok := d.constructors[use.Sel.Name]
		if ok {
			calls = append(calls, use)
			needed, reflectors = needed || !c.onlyStore, reflectors || c.reflector
		}
		complete = complete && d.names[use.Sel.Name]
		a.noteNew(s, i, use)
	}
	switch {
	case !needed:
		return false
	case a.options.packed:
		a.adoptPacked(s, i, calls)
		return reflectors
	case complete:
		s.replace(i.spec.Path, strconv.Quote(d.path))
		return reflectors
	}
	for _, call := range calls {
		s.requalify(i, call, s.useDropIn(d, i))
	}
	return reflectors
}

// adoptPacked makes calls those of constructors with options.
func (a *adopter) adoptPacked(s *source, i *imported, calls []*ast.SelectorExpr) {
	for _, call := range calls {
		if !strings.HasPrefix(call.Sel.Name, "New") { // no constructor
			s.requalify(i, call, s.useDropIn(a.dropIns[i.path], i))
			continue
		}
		clientgo := s.useClientgo(i)
		constructors := clientgo + ".With(" + a.optionsLiteral(clientgo) + ")"
		if i.path == metadataInformer {
			constructors += ".Metadata()"
		}
		s.requalify(i, call, constructors)
	}
}

// useDropIn returns the name of kinformer's package in a source that keeps client-go's.
func (s *source) useDropIn(d *dropIn, near *imported) string {
	return s.use(d.path, near, "k"+path.Base(d.path), "kinformer"+path.Base(d.path))
}

// noteNew notes a use of cache.New, which makes an informer of client-go. Kinformer has no
// counterpart.
func (a *adopter) noteNew(s *source, i *imported, use *ast.SelectorExpr) {
	if i.path == toolsCache && use.Sel.Name == "New" {
		a.note(s, use, i.name+".New makes an informer of client-go", importLine("", a.dropIns[toolsCache].path),
			"store, controller := cache.NewInformerWithOptions(cache.InformerOptions{ListerWatcher: lw, ObjectType: example, Handler: handler})")
	}
}

// noteGenerated notes the first call of a constructor in a generated file.
func (a *adopter) noteGenerated(s *source, i *imported) {
	d := a.dropIns[i.path]
	for _, use := range i.uses {
		if c, ok := d.constructors[use.Sel.Name]; ok && !c.onlyStore {
			a.note(s, use, "generated: change the import after each generation, or the generator", importLine(i.name, d.path))
			return
		}
	}
}

// importLine returns the declaration of an import.
func importLine(name, importPath string) string {
	if name == "" || name == path.Base(importPath) {
		return "import " + strconv.Quote(importPath)
	}
	return "import " + name + " " + strconv.Quote(importPath)
}

// adoptReflectorTypes changes the types of variables, fields and results for reflectors, which the
// constructors of kinformer return as another type. It leaves the parameter of watch error
// handlers, which is client-go's type.
func (s *source) adoptReflectorTypes() {
	handlers := map[ast.Node]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if function, ok := n.(*ast.FuncType); ok && takesError(function) {
			for _, parameter := range function.Params.List {
				handlers[parameter.Type] = true
			}
		}
		pointer, ok := n.(*ast.StarExpr)
		if !ok || handlers[n] || !s.isQualified(pointer.X, toolsCache, "Reflector") {
			return true
		}
		i := s.importOf(pointer.X)
		name := s.use(clientgoPath, i, "clientgo", "kinformerclientgo")
		s.requalify(i, pointer.X.(*ast.SelectorExpr), name)
		return false
	})
}

// takesError reports whether a parameter of a function is an error.
func takesError(function *ast.FuncType) bool {
	return slices.ContainsFunc(function.Params.List, func(parameter *ast.Field) bool {
		x, ok := parameter.Type.(*ast.Ident)
		return ok && x.Name == "error"
	})
}
