// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// adoptFactories edits the functions that make a factory of another module's clientset and ask it
// for informers, and notes the other uses of such factories.
func (a *adopter) adoptFactories(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		i := s.importOf(call.Fun)
		if i == nil || a.dropIns[i.path] != nil ||
			!s.isQualified(call.Fun, i.path, "NewSharedInformerFactory", "NewFilteredSharedInformerFactory", "NewSharedInformerFactoryWithOptions") ||
			!a.program.isGeneratedBy("informer-gen", i.path) {
			return true
		}
		switch of := a.program.listed[i.path]; {
		case !of.inMain():
			a.adoptFactory(s, call, i)
		case of.DepOnly: // its InformerFor is not edited
			a.note(s, call, "the factory's package belongs to this module and was not named: kinformer adopt "+of.ImportPath)
		}
		return true
	})
}

// adoptFactory edits a function that makes a factory and asks it for informers.
func (a *adopter) adoptFactory(s *source, call *ast.CallExpr, of *imported) {
	f := &factory{source: s, name: "factory", groups: a.program.readGroups(of.path)}
	f.find(call)
	switch {
	case s.isGenerated(f.name):
	case f.variable == nil || len(f.always) == 0:
		a.noteFactory(f, call, a.program.accessors(f.groups))
	default:
		generated := a.insertGenerated(f, of)
		if len(f.sometimes) > 0 {
			var write []string
			for _, c := range f.sometimes {
				write = append(write, c.line(a.program.nameOf(f.groups[c.group]), generated))
			}
			a.note(s, call, "this factory is asked under a condition: there, ask for the informer first", write...)
		}
	}
}

// insertGenerated inserts the lines that ask a factory for what it is asked for always. It returns
// the name of the variable for the result of clientgo.Generated.
func (a *adopter) insertGenerated(f *factory, of *imported) string {
	s := f.source
	clientgo, generated, indent := s.useClientgo(of), s.generatedName(f.block), s.indentOf(f.made)
	lines := []string{"", fmt.Sprintf("%s := %s.Generated(%s, %s.Options{})", generated, clientgo, f.name, clientgo)}
	for _, c := range f.always {
		path, name := f.groups[c.group], a.program.nameOf(f.groups[c.group])
		lines = append(lines, c.line(s.use(path, of, name, name+"informers"), generated))
	}
	s.insert(f.made.End(), strings.Join(lines, "\n"+indent))
	return generated
}

// noteFactory notes a factory of which informers have to be asked for by hand.
func (a *adopter) noteFactory(f *factory, call *ast.CallExpr, asked []accessor) {
	write := []string{importLine("", clientgoPath)}
	var lines []string
	for _, c := range asked {
		path := f.groups[c.group]
		if line := importLine("", path); !slices.Contains(write, line) {
			write = append(write, line)
		}
		lines = append(lines, c.line(a.program.nameOf(path), "generated"))
	}
	if len(lines) == 0 { // what asks for informers is in packages that were not named
		lines = append(lines, "group.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Objects().Informer()")
	}
	write = append(write, fmt.Sprintf("generated := clientgo.Generated(%s, clientgo.Options{})", f.name))
	a.note(f.source, call, "a factory of another module: once it is made, ask for each informer that it is asked for later", append(write, lines...)...)
}

// factory is a call that makes a factory, and what the function does with it.
type factory struct {
	source   *source
	groups   map[string]string // the methods of the factory that return a group, and the group's import path
	name     string            // of what the factory is assigned to
	variable *ast.Ident        // nil if that is not a new variable
	made     ast.Stmt          // the statement that declares the variable
	block    ast.Node          // of the statement
	// What the variable is asked for, each once: whenever it is made, or under a condition.
	always, sometimes []accessor
}

// find finds the statement of a call, and what its variable is asked for.
func (f *factory) find(call *ast.CallExpr) {
	ast.Inspect(f.source.file, func(n ast.Node) bool {
		for _, statement := range statementsOf(n) {
			assignment, ok := statement.(*ast.AssignStmt)
			if !ok || len(assignment.Lhs) != 1 || len(assignment.Rhs) != 1 || assignment.Rhs[0] != ast.Expr(call) {
				continue
			}
			f.name = f.source.textOf(assignment.Lhs[0])
			if variable, ok := assignment.Lhs[0].(*ast.Ident); ok && assignment.Tok == token.DEFINE {
				f.variable, f.made, f.block = variable, statement, n
				f.findAccessors()
			}
		}
		return true
	})
}

// findAccessors finds what the variable is asked for in its block.
func (f *factory) findAccessors() {
	var visit func(n ast.Node, list *[]accessor) bool
	inspect := func(n ast.Node, list *[]accessor) {
		ast.Inspect(n, func(n ast.Node) bool { return visit(n, list) })
	}
	visit = func(n ast.Node, list *[]accessor) bool {
		if isBlock(n) && n != f.block && list == &f.always { // conditional, or in another function
			inspect(n, &f.sometimes)
			return false
		}
		if call, ok := n.(*ast.CallExpr); ok {
			c, ok := accessorOf(call)
			if ok && f.groups[c.group] != "" && f.isVariable(c.factory) && !slices.Contains(*list, c.accessor) {
				*list = append(*list, c.accessor)
			}
		}
		return true
	}
	inspect(f.block, &f.always)
	f.sometimes = slices.DeleteFunc(f.sometimes, func(c accessor) bool { return slices.Contains(f.always, c) })
}

// isGenerated reports whether the file passes a factory to clientgo.Generated.
func (s *source) isGenerated(factory string) (found bool) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && len(call.Args) == 2 && s.isQualified(call.Fun, clientgoPath, "Generated") && s.textOf(call.Args[0]) == factory
		return !found
	})
	return found
}

func (f *factory) isVariable(e ast.Expr) bool {
	x, ok := e.(*ast.Ident)
	return ok && f.source.info.Uses[x] != nil && f.source.info.Uses[x] == f.source.info.Defs[f.variable]
}

// accessor is a call of a factory that returns an informer: factory.Group().Version().Resource().
type accessor struct{ group, version, resource string }

// line returns the line that makes the informer.
func (c accessor) line(group, generated string) string {
	return fmt.Sprintf("%[1]s.New(%[2]s, %[2]s.Namespace(), %[2]s.TweakListOptions()).%[3]s().%[4]s().Informer()", group, generated, c.version, c.resource)
}

// accessorCall is an accessor and the expression of its factory.
type accessorCall struct {
	accessor
	factory ast.Expr
}

// accessorOf returns the accessor that a call is.
func accessorOf(e ast.Expr) (accessorCall, bool) {
	c := accessorCall{factory: e}
	for _, name := range []*string{&c.resource, &c.version, &c.group} {
		call, ok := c.factory.(*ast.CallExpr)
		if !ok || len(call.Args) > 0 {
			return c, false
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return c, false
		}
		*name, c.factory = selector.Sel.Name, selector.X
	}
	return c, versionName.MatchString(c.version)
}

// versionName matches the methods of a group that return a version.
var versionName = regexp.MustCompile(`^V\d+((alpha|beta)\d+)?$`)

// accessors returns what the program asks factories with certain groups for. It is more than one
// factory is asked for, if there are several.
func (p *program) accessors(groups map[string]string) (all []accessor) {
	for _, pkg := range p.packages {
		for _, s := range pkg.sources {
			if s.generated || s.isTest() {
				continue
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					c, ok := accessorOf(call)
					if ok && groups[c.group] != "" && p.hasResource(groups[c.group], c.accessor) && !slices.Contains(all, c.accessor) {
						all = append(all, c.accessor)
					}
				}
				return true
			})
		}
	}
	return all
}

// hasResource reports whether a generated group has an accessor, which another factory's group of
// the same name may have.
func (p *program) hasResource(group string, c accessor) bool {
	for _, method := range p.methods(group + "/" + strings.ToLower(c.version)) {
		if method.Name.Name == c.resource {
			return true
		}
	}
	return false
}

// readGroups returns the methods of a generated factory that return a group, and the import paths of
// the groups.
func (p *program) readGroups(importPath string) map[string]string {
	groups := map[string]string{}
	for _, method := range p.methods(importPath) {
		if method.Body == nil || len(method.Body.List) != 1 {
			continue
		}
		ast.Inspect(method.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if function, ok := call.Fun.(*ast.SelectorExpr); ok && function.Sel.Name == "New" {
				groups[method.Name.Name] = method.imports[identName(function.X)]
			}
			return false
		})
	}
	return groups
}

// method is a method of a generated package, and the imports of its file by their names.
type method struct {
	*ast.FuncDecl
	imports map[string]string
}

// methods returns the methods of a package.
func (p *program) methods(importPath string) (all []method) {
	l := p.listed[importPath]
	if l == nil {
		return nil
	}
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		imports := map[string]string{}
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				name := p.nameOf(path)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				imports[name] = path
			}
		}
		for _, declaration := range file.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv != nil {
				all = append(all, method{function, imports})
			}
		}
	}
	return all
}

// identName returns the name that an expression is, or "".
func identName(e ast.Expr) string {
	if x, ok := e.(*ast.Ident); ok {
		return x.Name
	}
	return ""
}
