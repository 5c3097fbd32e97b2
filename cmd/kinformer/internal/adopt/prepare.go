// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// configFuncs are the functions that return a client's config, by import path.
func configFuncs() map[string][]string {
	return map[string][]string{
		"k8s.io/client-go/rest":            {"InClusterConfig"},
		"k8s.io/client-go/tools/clientcmd": {"BuildConfigFromFlags", "BuildConfigFromKubeconfigGetter", "RESTConfigFromKubeConfig"},
		runtimePath:                        {"GetConfig", "GetConfigOrDie"},
		runtimePath + "/pkg/client/config": {"GetConfig", "GetConfigOrDie", "GetConfigWithContext"},
	}
}

// kinformerCache is the import path of the package that prepares a config.
const kinformerCache = gomod.Kinformer + "/cache"

// isConfig reports whether a call returns the config of clients.
func (s *source) isConfig(e ast.Expr) (near *imported, ok bool) {
	call, isCall := e.(*ast.CallExpr)
	if !isCall {
		return nil, false
	}
	for importPath, names := range configFuncs() {
		if s.isQualified(call.Fun, importPath, names...) {
			return s.importOf(call.Fun), true
		}
	}
	function, isMethod := call.Fun.(*ast.SelectorExpr)
	if isMethod && len(call.Args) == 0 && (function.Sel.Name == "ClientConfig" || function.Sel.Name == "ToRESTConfig") && s.importOf(function) == nil {
		return s.imports[0], len(s.imports) > 0
	}
	return nil, false
}

// prepareClients prepares the configs of the program, if informers need it.
func (a *adopter) prepareClients() {
	if a.prepared || !slices.ContainsFunc(a.sites, func(s site) bool { return s.need == needsClient || s.need == needsOption }) {
		return
	}
	for _, p := range a.program.packages {
		for _, s := range p.sources {
			a.prepareConfigs(s)
		}
	}
	a.prepared = a.options.streaming && len(a.configs) > 0 && len(a.otherConfigs) == 0
}

// prepareConfigs finds the configs that a source makes, and inserts EnableStreaming after each if
// the options say so. Only statements whose next line has a usable config are edited.
func (a *adopter) prepareConfigs(s *source) {
	if s.isTest() || s.generated {
		return
	}
	seen := map[ast.Expr]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		statements := statementsOf(n)
		for i, statement := range statements {
			assignment, ok := statement.(*ast.AssignStmt)
			if !ok || len(assignment.Rhs) != 1 {
				a.prepareArguments(s, statement, seen)
				continue
			}
			near, ok := s.isConfig(assignment.Rhs[0])
			if !ok {
				a.prepareArguments(s, statement, seen)
				continue
			}
			seen[assignment.Rhs[0]] = true
			after, ok := afterCheck(assignment, statements[i+1:])
			config := identName(assignment.Lhs[0])
			if !ok || config == "" || config == "_" {
				a.noteConfig(s, assignment)
				continue
			}
			a.prepare(s, assignment, func() {
				s.insert(s.endWithComment(after.End()), fmt.Sprintf("\n%s%s.EnableStreaming(%s)", s.indentOf(assignment), s.use(kinformerCache, near, "cache", "kcache"), config))
			})
		}
		return true
	})
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !seen[call] {
			if _, ok := s.isConfig(call); ok {
				a.noteConfig(s, call)
			}
		}
		return true
	})
}

// prepareArguments prepares a config that is an argument in a statement, as that of NewManager, by
// a variable of its own. Functions with a second result are no arguments. Expressions that may not
// be evaluated are left, as GetConfigOrDie may end the process.
func (a *adopter) prepareArguments(s *source, statement ast.Stmt, seen map[ast.Expr]bool) {
	switch statement.(type) {
	case *ast.AssignStmt, *ast.ExprStmt, *ast.IfStmt:
	default:
		return
	}
	ast.Inspect(statement, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if n != statement { // of an else
				return false
			}
		case *ast.BinaryExpr:
			if n.Op == token.LAND || n.Op == token.LOR {
				return false
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !isBlock(n)
		}
		for _, argument := range call.Args {
			near, ok := s.isConfig(argument)
			if !ok || seen[argument] {
				continue
			}
			seen[argument] = true
			a.prepare(s, argument, func() {
				name, indent := s.unused("config", "restConfig", "clientConfig"), s.indentOf(statement)
				s.insert(statement.Pos(), fmt.Sprintf("%s := %s\n%s%s.EnableStreaming(%s)\n%s", name, s.textOf(argument), indent, s.use(kinformerCache, near, "cache", "kcache"), name, indent))
				s.replace(argument, name)
			})
		}
		return true
	})
}

// prepare edits the place of a config, or remembers it for the offer to do so.
func (a *adopter) prepare(s *source, at ast.Node, edit func()) {
	a.configs = append(a.configs, fmt.Sprintf("%s:%d", s.name, s.line(at.Pos())))
	if a.options.streaming {
		edit()
	}
}

// noteConfig remembers a config after which nothing can be inserted.
func (a *adopter) noteConfig(s *source, at ast.Node) {
	a.otherConfigs = append(a.otherConfigs, fmt.Sprintf("%s:%d", s.name, s.line(at.Pos())))
}

// afterCheck returns the statement after which a config can be used: the assignment or, if that has
// an error as well, the if statement that follows and returns the error.
func afterCheck(assignment *ast.AssignStmt, next []ast.Stmt) (ast.Stmt, bool) {
	if len(assignment.Lhs) == 1 {
		return assignment, true
	}
	if len(next) == 0 {
		return nil, false
	}
	check, ok := next[0].(*ast.IfStmt)
	return check, ok && check.Init == nil && check.Else == nil && isFailure(check.Cond, identName(assignment.Lhs[len(assignment.Lhs)-1])) && endsFlow(check.Body)
}

// isFailure reports whether a condition is true if a variable is an error. A program that returns
// if there is none, and goes on to another config, has no config after that.
func isFailure(condition ast.Expr, variable string) bool {
	e, ok := ast.Unparen(condition).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if e.Op == token.LOR {
		return isFailure(e.X, variable) || isFailure(e.Y, variable)
	}
	return e.Op == token.NEQ && identName(e.X) == variable && identName(e.Y) == "nil"
}

// endsFlow reports whether the statements after a block are not run after it: it ends with a
// return, a branch, or the end of the process.
func endsFlow(block *ast.BlockStmt) bool {
	if len(block.List) == 0 {
		return false
	}
	switch last := block.List[len(block.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	case *ast.ExprStmt:
		call, ok := last.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		name := identName(call.Fun)
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			name = selector.Sel.Name
		}
		return slices.Contains([]string{"panic", "Exit", "Fatal", "Fatalf", "Fatalln", "FlushAndExit", "ExitDepth", "CheckErr"}, name)
	}
	return false
}
