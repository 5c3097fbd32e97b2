// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"errors"
	"fmt"
	"go/ast"
	"strings"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/pullrequest"
	"github.com/kinformer/kinformer/internal/units"
)

// ErrPackedNotCopied is the error for a program whose packed objects controller-runtime does not
// copy. Each read decodes its own object, so that what the program expects of shared ones is lost.
var ErrPackedNotCopied = errors.New("UnsafeDisableDeepCopy shares objects, which packed informers cannot: remove it, or Packed")

// usage of the program that decides whether its informers may be packed, outside of tests.
type packing struct {
	packed, notCopied string // the first place with each option, or empty
	lists             int    // calls of a method List, or of a similar one
	keys              int    // uses of keys in place of objects
}

// findPacking finds what a source says about packing.
func (a *adopter) findPacking(s *source) {
	if s.isTest() || s.generated {
		return
	}
	place := func(n ast.Node) string { return fmt.Sprintf("%s:%d", s.name, s.line(n.Pos())) }
	set := func(at *string, n ast.Node) {
		if *at == "" {
			*at = place(n)
		}
	}
	option := func(n ast.Node, name string, value ast.Expr) {
		switch {
		case value != nil && strings.Contains(s.textOf(value), "false"):
		case name == "Packed" && s.imported(clientgoPath) != nil:
			set(&a.packing.packed, n)
		case name == "UnsafeDisableDeepCopy", name == "DefaultUnsafeDisableDeepCopy":
			set(&a.packing.notCopied, n)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			option(n, identName(n.Key), n.Value)
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if field, ok := to.(*ast.SelectorExpr); ok && len(n.Lhs) == len(n.Rhs) {
					option(n, field.Sel.Name, n.Rhs[i])
				}
			}
		case *ast.SelectorExpr:
			a.packing.count(n.Sel.Name)
			if s.isQualified(n, runtimePath+"/pkg/client", "UnsafeDisableDeepCopy") {
				set(&a.packing.notCopied, n)
			}
		}
		return true
	})
}

// count counts the use of a method or a function.
func (p *packing) count(name string) {
	switch name {
	case "List", "ByIndex", "ByNamespace":
		p.lists++
	case "MetaNamespaceKeyFunc", "DeletionHandlingMetaNamespaceKeyFunc", "MetaObjectToName", "ObjectToName", "SplitMetaNamespaceKey", "ParseObjectName", "Reconcile":
		p.keys++
	}
}

// checkPacking returns an error if the program, or the command, packs what is not copied.
func (a *adopter) checkPacking() error {
	packed := a.packing.packed
	if packed == "" && a.options.packed {
		packed = "--packed"
	}
	if packed == "" || a.packing.notCopied == "" {
		return nil
	}
	return fmt.Errorf("pack the informers (%s): %s: %w", packed, a.packing.notCopied, ErrPackedNotCopied)
}

// suggestPacked returns the reasons to pack the informers, if they are not packed.
func (a *adopter) suggestPacked(cost *pullrequest.Cost) (reasons []string) {
	if a.options.packed || a.packing.packed != "" || a.packing.notCopied != "" {
		return nil
	}
	if cost != nil {
		for _, r := range cost.Resources {
			if r.IsPacked() {
				reasons = append(reasons, fmt.Sprintf("cost chooses packed for %s, which saves %s", r.Resource, units.Bytes(r.SavedBytes)))
			}
		}
	}
	if a.packing.keys > 0 && a.packing.lists == 0 {
		reasons = append(reasons, "the named packages use keys and never list objects")
	}
	return reasons
}
