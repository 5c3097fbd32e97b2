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

// factoryFunc matches the functions of generated packages that make a factory.
var factoryFunc = regexp.MustCompile(`^New(Filtered)?SharedInformerFactory(WithOptions)?$`)

// adoptFactories edits the functions that make a factory of another module's clientset and use its
// informers, and notes the other uses of such factories.
func (a *adopter) adoptFactories(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		i := s.importOf(call.Fun)
		if i == nil || a.dropIns[i.path] != nil ||
			!factoryFunc.MatchString(call.Fun.(*ast.SelectorExpr).Sel.Name) ||
			!a.program.isGeneratedBy("informer-gen", i.path) {
			return true
		}
		switch l := a.program.lookup(i.path); {
		case !l.inMain():
			notes := len(a.notes)
			if a.adoptFactory(s, call, i); len(a.notes) == notes {
				a.addSite(s, call, needsNothing)
			}
		case !l.isNamed: // its InformerFor is not edited
			a.note(s, call, "the factory's package belongs to this module and was not named: kinformer adopt "+l.ImportPath)
			a.addSite(s, call, needsEdit)
		}
		return true
	})
}

// adoptFactory edits a function that makes a factory and uses its informers. clientset is the
// import of the factory's package.
func (a *adopter) adoptFactory(s *source, call *ast.CallExpr, clientset *imported) {
	f := &factory{source: s, name: "factory", groups: a.program.readGroups(clientset.path)}
	f.find(call)
	switch {
	case f.isGenerated():
	case f.variable == nil || len(f.always) == 0:
		a.noteFactory(f, call, a.program.accessors(f.groups))
	default:
		if f.isPassed() {
			f.sometimes = append(f.sometimes, a.program.accessors(f.groups)...)
		}
		generated := a.insertGenerated(f, clientset)
		var write []string
		for _, c := range f.sometimes {
			line := c.line(a.program.nameOf(f.groups[c.group]), generated)
			if !slices.Contains(f.always, c) && !slices.Contains(write, line) {
				write = append(write, line)
			}
		}
		if len(write) > 0 {
			a.note(s, call, "informers of this factory that the function may not use: where it does, make each before its first use", write...)
		}
	}
}

// insertGenerated inserts the lines that make the informers of a factory that are always used. It
// returns the name of the variable for the result of clientgo.Generated.
func (a *adopter) insertGenerated(f *factory, clientset *imported) string {
	s := f.source
	clientgo, generated, indent := s.useClientgo(clientset), s.generatedName(f.block), s.indentOf(f.made)
	lines := []string{"", fmt.Sprintf("%s := %s.Generated(%s, %s)", generated, clientgo, f.name, a.optionsLiteral(clientgo))}
	for _, c := range f.always {
		path, name := f.groups[c.group], a.program.nameOf(f.groups[c.group])
		lines = append(lines, c.line(s.use(path, clientset, name, name+"informers"), generated))
	}
	s.insert(s.endWithComment(f.made.End()), strings.Join(lines, "\n"+indent))
	return generated
}

// noteFactory notes a factory of which the informers have to be made by hand.
func (a *adopter) noteFactory(f *factory, call *ast.CallExpr, accessors []accessor) {
	write := []string{importLine("", clientgoPath)}
	var lines []string
	for _, c := range accessors {
		path := f.groups[c.group]
		if line := importLine("", path); !slices.Contains(write, line) {
			write = append(write, line)
		}
		lines = append(lines, c.line(a.program.nameOf(path), "generated"))
	}
	if len(lines) == 0 { // the calls are in packages that were not named
		lines = append(lines, "group.New(generated, generated.Namespace(), generated.TweakListOptions()).V1().Objects().Informer()")
	}
	write = append(write, fmt.Sprintf("generated := clientgo.Generated(%s, %s)", f.name, a.optionsLiteral("clientgo")))
	a.note(f.source, call, "a factory of another module: once it is made, make each informer that the program uses", append(write, lines...)...)
}

// factory is a call that makes a factory, and what the function does with it.
type factory struct {
	source   *source
	groups   map[string]string // the methods of the factory that return a group, and the group's import path
	target   ast.Expr          // that the factory is assigned to, or nil
	name     string            // of the target
	variable *ast.Ident        // the target if it is a new variable of a function, or nil
	function ast.Node          // the declaration that has the call
	made     ast.Stmt          // the statement that declares the variable
	block    ast.Node          // of the statement
	// The informers of the variable that are used: whenever it is made, each once, or not always.
	always, sometimes []accessor
}

// find finds the statement of a call, and which informers of its variable are used.
func (f *factory) find(call *ast.CallExpr) {
	for _, declaration := range f.source.file.Decls {
		if declaration.Pos() <= call.Pos() && call.Pos() < declaration.End() {
			f.function = declaration
		}
	}
	ast.Inspect(f.function, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 && spec.Values[0] == ast.Expr(call) {
			f.target, f.name = spec.Names[0], spec.Names[0].Name
		}
		for _, statement := range statementsOf(n) {
			assignment, ok := statement.(*ast.AssignStmt)
			if !ok || len(assignment.Lhs) != 1 || len(assignment.Rhs) != 1 || assignment.Rhs[0] != ast.Expr(call) {
				continue
			}
			f.target, f.name = assignment.Lhs[0], f.source.textOf(assignment.Lhs[0])
			if variable, ok := assignment.Lhs[0].(*ast.Ident); ok && assignment.Tok == token.DEFINE {
				f.variable, f.made, f.block = variable, statement, n
				f.findAccessors()
			}
		}
		return true
	})
}

// findAccessors finds which informers of the variable are used in its block: by a method that makes
// one, or in another way, such as an argument.
func (f *factory) findAccessors() {
	exit := f.firstExit()
	conditional, used := map[ast.Node]bool{}, map[ast.Node]bool{}
	var visit func(n ast.Node, always bool) bool
	inspect := func(n ast.Node, always bool) {
		ast.Inspect(n, func(n ast.Node) bool { return visit(n, always) })
	}
	visit = func(n ast.Node, always bool) bool {
		if always && (isBlock(n) && n != f.block || conditional[n]) { // also another function
			inspect(n, false)
			return false
		}
		switch n := n.(type) {
		case *ast.IfStmt:
			conditional[n.Else] = n.Else != nil
		case *ast.BinaryExpr:
			conditional[n.Y] = n.Op == token.LAND || n.Op == token.LOR
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && (method.Sel.Name == "Informer" || method.Sel.Name == "Lister") {
				used[method.X] = true
			}
			c, ok := accessorOf(n)
			if !ok || f.groups[c.group] == "" || !f.isTarget(c.factory) {
				return true
			}
			if !always || !used[n] || n.Pos() > exit {
				f.sometimes = append(f.sometimes, c.accessor)
			} else if !slices.Contains(f.always, c.accessor) {
				f.always = append(f.always, c.accessor)
			}
		}
		return true
	}
	inspect(f.block, true)
}

// isPassed reports whether the function passes the variable on, so that others may use informers.
func (f *factory) isPassed() (found bool) {
	receivers := map[ast.Node]bool{}
	ast.Inspect(f.block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			receivers[n.X] = true
		case *ast.Ident:
			found = found || !receivers[n] && f.source.info.Uses[n] != nil && f.isTarget(n)
		}
		return true
	})
	return found
}

// firstExit returns the end of the first statement after which the rest of the block may not be
// run.
func (f *factory) firstExit() token.Pos {
	exit := f.block.End()
	ast.Inspect(f.block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt, *ast.BranchStmt:
			if n.Pos() > f.made.Pos() {
				exit = min(exit, n.End())
			}
		}
		return true
	})
	return exit
}

// isGenerated reports whether the file passes the factory to clientgo.Generated.
func (f *factory) isGenerated() (found bool) {
	ast.Inspect(f.source.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && len(call.Args) == 2 && f.source.isQualified(call.Fun, clientgoPath, "Generated") && f.isTarget(call.Args[0])
		return !found
	})
	return found
}

// isTarget reports whether an expression is what the factory is assigned to: the same variable, or
// the same text in the same function.
func (f *factory) isTarget(e ast.Expr) bool {
	x, ok := e.(*ast.Ident)
	if variable, isVariable := f.target.(*ast.Ident); ok && isVariable {
		object := f.source.objectOf(x)
		return object != nil && object == f.source.objectOf(variable)
	}
	return f.target != nil && e.Pos() >= f.function.Pos() && e.End() <= f.function.End() && f.source.textOf(e) == f.name
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

// accessors returns the accessors that the program calls of factories with certain groups. If there
// are several factories, these are the accessors of all.
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

// readGroups returns the methods of a generated factory that return a group, and the import paths
// of the groups.
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
	l := p.lookup(importPath)
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
