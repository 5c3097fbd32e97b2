// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"github.com/kinformer/kinformer/internal/scope"
)

// Scope is a part of a collection: the objects of a namespace, those that selectors match, or those
// whose hash is in a range. A field that is empty does not restrict it, so that the zero value is
// the whole collection. Two Scopes with equal selectors, in whatever form, are the same scope.
type Scope struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	Hash          HashRange
}

// HashRange is a range of hashes of a field's value, by 64-bit FNV-1a as in the shard selector of a
// list or watch (KEP-5866, https://kep.k8s.io/5866). The zero value does not restrict a Scope.
type HashRange struct {
	// Field is the field that is hashed.
	Field HashField
	// First and Last are the ends of the range. Both belong to it: 0 and math.MaxUint64 are all hashes.
	First, Last uint64
}

// HashField is a field whose value can be hashed.
type HashField string

// The fields whose values can be hashed. Objects of resources without namespaces all have the
// hash of an empty namespace.
const (
	HashUID       HashField = scope.UID
	HashNamespace HashField = scope.Namespace
)

// String describes the scope.
func (s Scope) String() string { return s.internal().String() }

func (s Scope) internal() scope.Scope {
	hash := scope.Range{Field: string(s.Hash.Field), First: s.Hash.First, Last: s.Hash.Last}
	return scope.Scope{Namespace: s.Namespace, LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector, Hash: hash}
}

func scopeOf(s scope.Scope) Scope {
	hash := HashRange{HashField(s.Hash.Field), s.Hash.First, s.Hash.Last}
	return Scope{s.Namespace, s.LabelSelector, s.FieldSelector, hash}
}

func internalScopes(scopes []Scope) []scope.Scope {
	converted := make([]scope.Scope, 0, len(scopes))
	for _, s := range scopes {
		converted = append(converted, s.internal())
	}
	return converted
}

// Scopes is a set of disjoint scopes that may change while informers run. It is the
// InformerOptions.Scopes of one informer or several, which then hold the objects of these scopes
// and no others. Its methods are safe for concurrent use.
//
// Each scope is listed and watched on its own. Handlers receive the objects of an added scope as one
// initial list, while the delivery of other scopes goes on. Scopes that differ in their hash ranges
// only share watches.
//
// Scopes are disjoint if their namespaces or hash ranges are, or if their selectors contradict each other in
// one label or field, such as "env=dev" and "env!=dev". An object that moves from one scope of the
// set to another, by a change of its labels, is updated. As the server sends the same event for such
// a move and for a deletion, the deletion of an object of a scope with selectors is delivered once the other
// scopes into which it may have moved have reached its version, for which an idle one needs a bookmark:
// up to a minute.
type Scopes struct {
	set scope.Set
}

// NewScopes returns a set of scopes. Run of an informer returns an error for scopes that are invalid
// or overlap.
func NewScopes(scopes ...Scope) *Scopes {
	s := &Scopes{}
	if err := s.set.Add(internalScopes(scopes)...); err != nil {
		s.set.Fail(err)
	}
	return s
}

// Add adds scopes; those that the set has already are ignored. If a scope is invalid, or overlaps
// with another one, Add returns an error that names them and adds none.
func (s *Scopes) Add(scopes ...Scope) error { return s.set.Add(internalScopes(scopes)...) }

// Remove removes scopes. Their objects leave the stores, all at once, and handlers receive deletions
// with Event.LeftScope: the objects still exist. Scopes that the set does not have are ignored,
// unless they are invalid, which is an error.
func (s *Scopes) Remove(scopes ...Scope) error {
	return s.set.Remove(scope.Removed, internalScopes(scopes)...)
}

// Set makes scopes the whole set. A scope that is not among them, but overlaps with some, is kept until these have
// been listed, so that an object that is in a scope before and after is not deleted in between. The
// errors are those of Add.
func (s *Scopes) Set(scopes ...Scope) error { return s.set.Replace(internalScopes(scopes)...) }

// All returns the scopes in the order in which they were added, with their selectors in canonical
// form.
func (s *Scopes) All() (scopes []Scope) {
	for _, held := range s.set.All() {
		scopes = append(scopes, scopeOf(held))
	}
	return scopes
}

// internalSet returns the set, nil if s is nil.
func (s *Scopes) internalSet() *scope.Set {
	if s == nil {
		return nil
	}
	return &s.set
}

// ScopeSet is called by package clientgo, for its informers. The result is of an internal type.
func (s *Scopes) ScopeSet() *scope.Set { return s.internalSet() }
