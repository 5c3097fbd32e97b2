// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"go/ast"
	"go/token"
	"iter"
	"strings"
)

// Import paths of controller-runtime.
const (
	runtimePath = "sigs.k8s.io/controller-runtime"
	managerPath = runtimePath + "/pkg/manager"
	clusterPath = runtimePath + "/pkg/cluster"
	cachePath   = runtimePath + "/pkg/cache"
)

// adoptManagers sets the option NewInformer of controller-runtime's caches where they are made: in
// the arguments of cache.New, and of the functions that make a manager or a cluster, whose options
// have a field Cache. It notes all other uses of these functions.
func (a *adopter) adoptManagers(s *source) {
	calls := map[ast.Expr]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		for _, statement := range statementsOf(n) {
			a.adoptCalls(&cacheCall{source: s, statement: statement}, calls)
		}
		return true
	})
	for _, i := range s.imports {
		for _, use := range i.uses {
			if path, ok := optionPath(i.path, use.Sel.Name); ok && !calls[use] {
				a.noteOptions(s, use, path)
			}
		}
	}
}

// optionPath returns where the options of a function of controller-runtime that makes a cache have
// NewInformer. It reports false for other functions.
func optionPath(importPath, function string) (path string, ok bool) {
	switch importPath + "." + function {
	case runtimePath + ".NewManager", managerPath + ".New", clusterPath + ".New":
		return "Cache.", true
	case cachePath + ".New":
		return "", true
	}
	return "", false
}

// cacheCall is a call that makes a cache.
type cacheCall struct {
	source    *source
	statement ast.Stmt  // that has the call
	runtime   *imported // the package of controller-runtime
}

// adoptCalls edits the calls of a statement that make a cache, and adds their functions to calls.
// Statements within it are left to their own blocks.
func (a *adopter) adoptCalls(c *cacheCall, calls map[ast.Expr]bool) {
	ast.Inspect(c.statement, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !isBlock(n)
		}
		if c.runtime = c.source.importOf(call.Fun); c.runtime == nil {
			return true
		}
		notes := len(a.notes)
		path, ok := optionPath(c.runtime.path, call.Fun.(*ast.SelectorExpr).Sel.Name)
		switch {
		case !ok:
			return true
		case c.runtime.path == clusterPath:
			a.adoptCluster(c, call)
		case len(call.Args) == 2:
			a.adoptOptions(c, call.Args[1], path)
		default:
			return true
		}
		calls[call.Fun] = true
		if len(a.notes) == notes {
			a.addSite(c.source, call, needsClient)
		}
		return true
	})
}

// newInformer returns the value of the option. clientgo is the name of the package.
func (a *adopter) newInformer(clientgo string) string {
	return a.optionsLiteral(clientgo) + ".NewInformer"
}

// adoptCluster adds an option to a call of cluster.New, before those of the program, which have
// precedence.
func (a *adopter) adoptCluster(c *cacheCall, call *ast.CallExpr) {
	s := c.source
	if strings.Contains(s.textOf(call), "Cache.NewInformer") {
		return
	}
	option := "func(o *" + c.runtime.name + ".Options) { o.Cache.NewInformer = %s }"
	if call.Ellipsis.IsValid() {
		a.note(s, call, "a cluster of controller-runtime, of which the options are not listed here: add one",
			importLine("", clientgoPath), fmt.Sprintf(option, a.newInformer("clientgo")))
		return
	}
	s.insert(call.Args[0].End(), ", "+fmt.Sprintf(option, a.newInformer(s.useClientgo(c.runtime))))
}

// adoptOptions sets NewInformer in the options of a call, which have it at a path.
func (a *adopter) adoptOptions(c *cacheCall, options ast.Expr, path string) {
	switch e := options.(type) {
	case *ast.CompositeLit:
		a.adoptLiteral(c, e, path)
	case *ast.Ident:
		a.adoptVariable(c, e, path)
	default:
		a.noteOptions(c.source, options, path)
	}
}

// adoptVariable sets NewInformer in a variable of options: where it is declared or, if a later
// assignment replaces that, before the call.
func (a *adopter) adoptVariable(c *cacheCall, variable *ast.Ident, path string) {
	s, target := c.source, variable.Name+"."+path+"NewInformer"
	v := c.valueOf(variable, target)
	literal, isLiteral := v.value.(*ast.CompositeLit)
	switch {
	case v.state == isSet:
	case v.state == isUnknown || v.declaration == nil:
		a.noteOptions(s, variable, path)
	case isLiteral && !v.isReplaced:
		a.adoptLiteral(&cacheCall{source: s, statement: v.declaration, runtime: c.runtime}, literal, path)
	case v.value != nil && !isLiteral: // such as the result of a function
		a.noteOptions(s, variable, path)
	case v.isReplaced:
		s.insert(c.statement.Pos(), fmt.Sprintf("%s = %s\n%s", target, a.newInformer(s.useClientgo(c.runtime)), s.indentOf(c.statement)))
	case !a.adopted[v.declaration]:
		a.adopted[v.declaration] = true
		s.insert(s.endWithComment(v.declaration.End()), fmt.Sprintf("\n%s%s = %s", s.indentOf(v.declaration), target, a.newInformer(s.useClientgo(c.runtime))))
	}
}

// noteOptions notes a use of options of controller-runtime, or of a function that takes them.
func (a *adopter) noteOptions(s *source, at node, path string) {
	a.note(s, at, "options of controller-runtime that may be set elsewhere: set this one where they are made, unless they have it",
		importLine("", clientgoPath), fmt.Sprintf("options.%sNewInformer = %s", path, a.newInformer("clientgo")))
}

// optionState is what is known of an option when a call is made.
type optionState int

const (
	isUnset optionState = iota
	isSet
	isUnknown
)

// variableValue is what is known of a variable of the function when a call is made.
type variableValue struct {
	declaration ast.Stmt    // nil if the function does not declare the variable
	value       ast.Expr    // of the declaration, or nil if it has none
	state       optionState // of the field, by the assignments after the declaration
	isReplaced  bool        // one of these replaces the whole value, or that of a field above
}

// valueOf returns what is known of a variable and of one of its fields, such as
// "options.Cache.NewInformer". The state is unknown unless all assignments are seen.
func (c *cacheCall) valueOf(variable *ast.Ident, target string) (v variableValue) {
	s := c.source
	object := s.info.Uses[variable]
	if object == nil || object.Pos() > c.statement.Pos() || object.Parent() == s.scope {
		return variableValue{state: isUnknown}
	}
	certain := c.precedingStatements()
	states := map[optionState]bool{}
	assign := func(n ast.Node, to, value ast.Expr) {
		root := rootOf(to)
		if root == nil || root.Name != variable.Name || s.objectOf(root) != object && s.objectOf(root) != nil { // nil is not known
			return
		}
		state := stateAfter(s.textOf(to), value, target)
		if state == isSet && !certain[n] {
			state = isUnknown
		}
		states[state] = true
		v.isReplaced = v.isReplaced || strings.HasPrefix(target, s.textOf(to)+".")
	}
	declare := func(statement ast.Stmt, names []ast.Expr, values []ast.Expr) {
		for i, name := range names {
			x, ok := name.(*ast.Ident)
			switch {
			case ok && s.info.Defs[x] == object && len(values) > 0:
				v.declaration, v.value = statement, values[min(i, len(values)-1)]
			case ok && s.info.Defs[x] == object:
				v.declaration = statement
			case len(names) == len(values):
				assign(statement, name, values[i])
			default:
				assign(statement, name, nil)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			declare(n, n.Lhs, n.Rhs)
		case *ast.DeclStmt:
			for names, values := range declaredBy(n) {
				declare(n, names, values)
			}
		case *ast.RangeStmt:
			assign(n, n.Key, nil)
			assign(n, n.Value, nil)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				assign(n, n.X, nil)
			}
		}
		return true
	})
	switch {
	case states[isSet]:
		v.state = isSet
	case states[isUnknown]:
		v.state = isUnknown
	}
	return v
}

// declaredBy returns the variables of a declaration, with their values.
func declaredBy(statement *ast.DeclStmt) iter.Seq2[[]ast.Expr, []ast.Expr] {
	return func(yield func(names, values []ast.Expr) bool) {
		for _, spec := range statement.Decl.(*ast.GenDecl).Specs {
			spec, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			var names []ast.Expr
			for _, name := range spec.Names {
				names = append(names, name)
			}
			if !yield(names, spec.Values) {
				return
			}
		}
	}
}

// precedingStatements returns the statements that are run before that of the call: those before it
// in its block and in the blocks around it.
func (c *cacheCall) precedingStatements() map[ast.Node]bool {
	preceding := map[ast.Node]bool{}
	ast.Inspect(c.source.file, func(n ast.Node) bool {
		if n == nil || n.Pos() > c.statement.Pos() || n.End() < c.statement.End() {
			return false
		}
		for _, statement := range statementsOf(n) {
			if statement.Pos() < c.statement.Pos() {
				preceding[statement] = true
			}
		}
		return true
	})
	return preceding
}

// stateAfter returns the state of a field after an assignment. A nil value is not known.
func stateAfter(to string, value ast.Expr, target string) optionState {
	if to == target {
		return isSet
	}
	path, ok := strings.CutPrefix(target, to+".")
	if !ok { // another field
		return isUnset
	}
	for name := range strings.SplitSeq(path, ".") {
		literal, ok := value.(*ast.CompositeLit)
		if !ok {
			return isUnknown
		}
		if value = field(literal, name); value == nil {
			return isUnset
		}
	}
	return isSet
}

// rootOf returns the variable of a chain of fields, or nil.
func rootOf(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// adoptLiteral sets NewInformer in a literal of options, which have it at a path.
func (a *adopter) adoptLiteral(c *cacheCall, literal *ast.CompositeLit, path string) {
	s := c.source
	switch {
	case a.adopted[literal]: // for another call
	case path == "" && field(literal, "NewInformer") == nil:
		a.adopted[literal] = true
		s.addField(literal, "NewInformer: "+a.newInformer(s.useClientgo(c.runtime)))
	case path == "":
	case field(literal, "Cache") == nil:
		a.adopted[literal] = true
		cache := s.use(cachePath, c.runtime, "cache", "ctrlcache")
		s.addField(literal, fmt.Sprintf("Cache: %s.Options{NewInformer: %s}", cache, a.newInformer(s.useClientgo(c.runtime))))
	default:
		a.adoptOptions(c, field(literal, "Cache"), "")
	}
}

// field returns the value of a field of a literal, or nil.
func field(literal *ast.CompositeLit, name string) ast.Expr {
	for _, element := range literal.Elts {
		if pair, ok := element.(*ast.KeyValueExpr); ok && identName(pair.Key) == name {
			return pair.Value
		}
	}
	return nil
}

// addField adds a field to a literal of a struct, as the first one.
func (s *source) addField(literal *ast.CompositeLit, text string) {
	at := literal.Lbrace + 1
	switch {
	case len(literal.Elts) == 0:
		s.insert(at, text)
	case s.line(literal.Lbrace) == s.line(literal.Elts[0].Pos()):
		s.insert(at, text+", ")
	default:
		s.insert(s.endWithComment(at), "\n"+s.indentOf(literal.Elts[0])+text+",")
	}
}
