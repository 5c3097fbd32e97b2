// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/gomod"
)

// site is a call site, in the rewritten program, of an informer, a factory or a reflector.
type site struct {
	file string // relative to the folder of go.mod
	line int
	need need
}

// need is what an informer needs to stream.
type need int

const (
	needsNothing need = iota // it reads from a copy of the program's client
	needsClient              // a client that is made after EnableStreaming
	needsOption              // such a client and, as its functions are the program's, Options.Streaming
	needsEdit                // it is client-go's: an edit by hand
)

// write returns what to write, or nothing. prepared reports whether the program calls
// EnableStreaming.
func (n need) write(prepared bool) string {
	const (
		client    = "cache.EnableStreaming(config) before config is used"
		functions = "list functions of the program: clientgo.With(clientgo.Options{Streaming: true})"
	)
	switch {
	case n == needsEdit:
		return "may be client-go's: kinformer adopt prints the lines to write"
	case n == needsOption && prepared:
		return functions
	case n == needsOption:
		return functions + ", and " + client
	case n == needsClient && !prepared:
		return client
	}
	return ""
}

// streaming returns which of the sites stream.
func (a *adopter) streaming() *Streaming {
	slices.SortStableFunc(a.sites, func(x, y site) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
	all := &Streaming{Informers: len(a.sites)}
	for _, s := range a.sites {
		if write := s.need.write(a.prepared); write != "" {
			all.NotStreaming = append(all.NotStreaming, NotStreaming{s.file, s.line, write})
		}
	}
	return all
}

// addSite adds a site, unless it is in a test, whose client may be a fake.
func (a *adopter) addSite(s *source, at node, n need) {
	if !s.isTest() {
		a.sites = append(a.sites, site{s.name, s.line(at.Pos()), n})
	}
}

// addSites adds the sites of a source that call kinformer's functions, or will after the edit of an
// import.
func (a *adopter) addSites(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if n, ok := a.needOf(s, selector); ok {
			a.addSite(s, selector, n)
		}
		a.prepared = a.prepared || !s.isTest() && s.isQualified(selector, gomod.Kinformer+"/cache", "EnableStreaming")
		return true
	})
}

// needOf returns what the informers of a function need. It reports false for functions that make
// none. Those in generated files that import client-go's packages are not edited.
func (a *adopter) needOf(s *source, function *ast.SelectorExpr) (n need, ok bool) {
	options := a.optionsOf(s, function.X)
	i, name := s.importOf(function), function.Sel.Name
	if i != nil && i.path == clientgoPath && name == "Adopt" {
		return needsClient, true
	}
	for importPath, d := range a.dropIns {
		c, exists := d.constructors[name]
		isCalled := options != nil || i != nil && (i.path == d.path || i.path == importPath && !s.generated)
		switch {
		case !isCalled || !exists || c.onlyStore || !strings.HasPrefix(name, "New"):
		case importPath != toolsCache:
			return needsNothing, true
		case options != nil && isStreaming(options):
			return needsClient, true
		default:
			return needsOption, true
		}
	}
	return needsNothing, false
}

// isStreaming reports whether a literal of clientgo.Options sets Streaming.
func isStreaming(options ast.Expr) bool {
	literal, ok := options.(*ast.CompositeLit)
	return ok && identName(field(literal, "Streaming")) == "true"
}

// findConstructors finds the variables that a source sets to constructors with options.
func (a *adopter) findConstructors(s *source) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		var names, values []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			names, values = n.Lhs, n.Rhs
		case *ast.ValueSpec:
			for _, name := range n.Names {
				names = append(names, name)
			}
			values = n.Values
		}
		for i, value := range values[:min(len(names), len(values))] {
			if name, ok := names[i].(*ast.Ident); ok && a.optionsOf(s, value) != nil {
				a.constructors[s.objectOf(name)] = a.optionsOf(s, value)
			}
		}
		return true
	})
}

// optionsOf returns the options of constructors: of a variable of the package, of clientgo.With, or
// of a method of them. It returns nil for other expressions.
func (a *adopter) optionsOf(s *source, constructors ast.Expr) ast.Expr {
	switch e := constructors.(type) {
	case *ast.Ident:
		return a.constructors[s.info.Uses[e]]
	case *ast.CallExpr:
		if s.isQualified(e.Fun, clientgoPath, "With") && len(e.Args) == 1 {
			return e.Args[0]
		}
		if method, ok := e.Fun.(*ast.SelectorExpr); ok && method.Sel.Name == "Metadata" {
			return a.optionsOf(s, method.X)
		}
	}
	return nil
}
