// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"go/ast"
	"slices"
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
// have a field Cache.
func (a *adopter) adoptManagers(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		statements := statementsOf(n)
		for _, statement := range statements {
			a.adoptCalls(s, &cacheCall{source: s, statements: statements, statement: statement})
		}
		return true
	})
}

// cacheCall is a call that makes a cache.
type cacheCall struct {
	source     *source
	statements []ast.Stmt // of the block
	statement  ast.Stmt   // that has the call
	of         *imported  // the package of controller-runtime
}

// adoptCalls edits the calls of a statement that make a cache. Statements within it are left to
// their own blocks.
func (a *adopter) adoptCalls(s *source, c *cacheCall) {
	ast.Inspect(c.statement, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !isBlock(n)
		}
		c.of = s.importOf(call.Fun)
		switch {
		case s.isQualified(call.Fun, clusterPath, "New"):
			a.adoptCluster(c, call)
		case len(call.Args) != 2:
		case s.isQualified(call.Fun, runtimePath, "NewManager"), s.isQualified(call.Fun, managerPath, "New"):
			a.adoptOptions(c, call.Args[1], "Cache.")
		case s.isQualified(call.Fun, cachePath, "New"):
			a.adoptOptions(c, call.Args[1], "")
		}
		return true
	})
}

// newInformer is the value of the option. Its argument is the name of package clientgo.
const newInformer = "%s.Options{}.NewInformer"

// adoptCluster adds an option to a call of cluster.New.
func (a *adopter) adoptCluster(c *cacheCall, call *ast.CallExpr) {
	last, s := call.Args[len(call.Args)-1], c.source
	if strings.Contains(s.textOf(last), "Cache.NewInformer") {
		return
	}
	option := "func(o *" + c.of.name + ".Options) { o.Cache.NewInformer = " + newInformer + " }"
	if call.Ellipsis.IsValid() {
		a.note(s, call, "a cluster of controller-runtime, of which the options are not listed here: add one",
			importLine("", clientgoPath), fmt.Sprintf(option, "clientgo"))
		return
	}
	s.insert(last.End(), ", "+fmt.Sprintf(option, s.useClientgo(c.of)))
}

// adoptOptions sets NewInformer in the options of a call, which have it at a path.
func (a *adopter) adoptOptions(c *cacheCall, options ast.Expr, path string) {
	s := c.source
	switch e := options.(type) {
	case *ast.CompositeLit:
		a.adoptLiteral(c, e, path)
	case *ast.Ident:
		target := e.Name + "." + path + "NewInformer"
		if !c.isAssigned(target) {
			s.insert(c.statement.Pos(), fmt.Sprintf("%s = "+newInformer+"\n%s", target, s.useClientgo(c.of), s.indentOf(c.statement)))
		}
	default:
		a.note(s, options, "options of controller-runtime that are made elsewhere: set the option there",
			importLine("", clientgoPath), fmt.Sprintf("options.%sNewInformer = "+newInformer, path, "clientgo"))
	}
}

// isAssigned reports whether a statement of the block assigns to a field of a variable.
func (c *cacheCall) isAssigned(target string) bool {
	return slices.ContainsFunc(c.statements, func(statement ast.Stmt) bool {
		assignment, ok := statement.(*ast.AssignStmt)
		return ok && c.source.textOf(assignment.Lhs[0]) == target
	})
}

// adoptLiteral sets NewInformer in a literal of options, which have it at a path.
func (a *adopter) adoptLiteral(c *cacheCall, literal *ast.CompositeLit, path string) {
	s := c.source
	switch {
	case path == "" && field(literal, "NewInformer") == nil:
		s.addField(literal, fmt.Sprintf("NewInformer: "+newInformer, s.useClientgo(c.of)))
	case path == "":
	case field(literal, "Cache") == nil:
		cache := s.use(cachePath, c.of, "cache", "ctrlcache")
		s.addField(literal, fmt.Sprintf("Cache: %s.Options{NewInformer: "+newInformer+"}", cache, s.useClientgo(c.of)))
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
		s.insert(at, "\n"+s.indentOf(literal.Elts[0])+text+",")
	}
}
