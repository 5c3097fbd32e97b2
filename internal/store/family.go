// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/kinformer/kinformer/internal/scope"
)

// family is the scopes of a store that differ only in their ranges of hashes. Which scopes are
// related is kept by family: of a thousand ranges, that would be a million pairs.
type family struct {
	scopes   []*Scope
	keysWith []*family // whose scopes may hold the same keys; itself, too
	movesTo  []*family // into whose scopes an object can move

	hashesNamespaces bool
}

// families has the families of the scopes that are held, by widest. It is guarded as scopes is.
type families map[scope.Scope]*family

// join adds a scope to its family.
func (all families) join(c *Scope) {
	name := widest(c.Name)
	if all[name] == nil {
		all.found(name)
	}
	c.family = all[name]
	c.family.scopes = append(c.family.scopes, c)
}

// found adds a family.
func (all families) found(name scope.Scope) {
	added := &family{hashesNamespaces: name.Hash.Field == scope.Namespace}
	added.keysWith = append(added.keysWith, added)
	for other, f := range all {
		if scope.ShareKeys(name, other) {
			added.keysWith, f.keysWith = append(added.keysWith, f), append(f.keysWith, added)
		}
		if scope.CanMove(name, other) {
			added.movesTo, f.movesTo = append(added.movesTo, f), append(f.movesTo, added)
		}
	}
	all[name] = added
}

// part removes a scope from its family. The scope keeps its relations, for the deletions that refer
// to it.
func (all families) part(c *Scope) {
	f := c.family
	if f.scopes = slices.DeleteFunc(f.scopes, func(other *Scope) bool { return other == c }); len(f.scopes) > 0 {
		return
	}
	delete(all, widest(c.Name))
	isIt := func(other *family) bool { return other == f }
	for _, other := range slices.Clone(f.keysWith) {
		other.keysWith = slices.DeleteFunc(other.keysWith, isIt)
	}
	for _, other := range f.movesTo {
		other.movesTo = slices.DeleteFunc(other.movesTo, isIt)
	}
}

// widest returns a scope with the range of all hashes, if it has one. It stands for its family.
func widest(name scope.Scope) scope.Scope {
	if name.Hash.Field != "" {
		name.Hash.First, name.Hash.Last = 0, math.MaxUint64
	}
	return name
}

// keysWith yields the other scopes of the store that may hold the same keys. The caller holds mu.
func (c *Scope) keysWith() iter.Seq[*Scope] {
	return func(yield func(*Scope) bool) {
		for _, f := range c.family.keysWith {
			all := !c.family.hashesNamespaces && !f.hashesNamespaces // whatever its range
			for _, other := range f.scopes {
				if other != c && (all || scope.ShareKeys(c.Name, other.Name)) && !yield(other) {
					return
				}
			}
		}
	}
}

// movesTo yields the scopes into which an object can move. The caller holds mu.
func (c *Scope) movesTo() iter.Seq[*Scope] {
	return func(yield func(*Scope) bool) {
		for _, f := range c.family.movesTo {
			for _, other := range f.scopes {
				if scope.CanMove(c.Name, other.Name) && !yield(other) {
					return
				}
			}
		}
	}
}

// mayHold reports whether objects with a key may be in the scope.
func (c *Scope) mayHold(key string) bool {
	if c.Name.Namespace == "" && !c.family.hashesNamespaces {
		return true
	}
	namespace, _, namespaced := strings.Cut(key, "/")
	return !namespaced || scope.ShareKeys(c.Name, scope.Scope{Namespace: namespace})
}

func (c *Scope) mayShareKeysWith(other *Scope) bool {
	return other != c && scope.ShareKeys(c.Name, other.Name)
}
