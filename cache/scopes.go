// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"

	"github.com/kinformer/kinformer/internal/scope"
)

// Scope is a part of a collection: the objects that are in a namespace, match selectors and have a
// hash in a range. An empty field selects every object, so that the zero value is the whole
// collection. Two Scopes whose selectors differ only in form are the same scope.
type Scope struct {
	Namespace     string
	LabelSelector string
	FieldSelector string
	Hash          HashRange
}

// HashRange is a range of hashes of a field's value, by 64-bit FNV-1a as in the shard selector of a
// list or watch (KEP-5866, https://kep.k8s.io/5866). The zero value selects every object.
type HashRange struct {
	// Field is the field that is hashed.
	Field HashField
	// First and Last are the ends of the range, which both belong to it. From 0 to math.MaxUint64,
	// the range has all hashes.
	First, Last uint64
}

// HashField is a field whose value can be hashed.
type HashField string

// The fields whose values can be hashed. Objects of resources without namespaces all have the hash
// of an empty namespace. Namespaces whose names differ only in their last two characters have
// nearly equal hashes, and are usually in the same range.
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
	return Scope{s.Namespace, s.LabelSelector, s.Fields(), hash}
}

// Scopes is a set of scopes that may change while informers run. As the InformerOptions.Scopes of
// one informer or several, it selects the objects that they hold. Its methods are safe for
// concurrent use. docs/scopes.md is a guide.
//
// Each scope is listed and watched on its own, but scopes that differ only in their hash ranges
// share requests. Handlers receive the objects of an added scope as one initial list, while the
// delivery of other scopes goes on.
//
// The namespace, the name and the UID of an object determine its scope, for its whole life. Two
// scopes that may hold objects of one namespace and name therefore have equal selectors, and ranges
// of hashes of UIDs without a common hash. The field selectors metadata.namespace=NAMESPACE and
// metadata.name=NAME select the namespace and the name: scopes of several names in one namespace
// may be in one set. For several values of a label in one namespace, use an informer each.
type Scopes struct {
	ownSet
	byNamespaces bool // kept by NamespaceScopes
}

type ownSet = scope.OwnSet

var errByNamespaces = errors.New("the Scopes of NamespaceScopes must not be changed")

// NewScopes returns a set of scopes. If scopes are invalid or may hold the same objects, the set is
// invalid, and Run of an informer that has it returns the error.
func NewScopes(scopes ...Scope) *Scopes {
	s := &Scopes{}
	if err := s.Add(scopes...); err != nil {
		s.internalSet().Fail(err)
	}
	return s
}

// Add adds scopes, and ignores those that the set has already. If a scope is invalid, or must not
// be in one set with another (see Scopes), Add returns an error that names them, and adds none.
func (s *Scopes) Add(scopes ...Scope) error { return s.change(scopes, s.internalSet().Add) }

// Remove removes scopes, and ignores those that the set does not have. The objects of a scope are
// removed from the stores, and handlers receive deletions with Event.LeftScope: the objects may
// still exist. Remove returns an error, and removes none, if a scope is invalid.
func (s *Scopes) Remove(scopes ...Scope) error {
	return s.change(scopes, func(removed ...scope.Scope) error { return s.internalSet().Remove(scope.Removed, removed...) })
}

// Set makes scopes the whole set. It first removes the scopes that are no longer in the set, as
// Remove does, and then adds the new ones, as Add does. An object that was in a removed scope and
// is in an added one is deleted with LeftScope, and added again. Scopes that stay are not affected.
// The errors are those of Add.
func (s *Scopes) Set(scopes ...Scope) error { return s.change(scopes, s.internalSet().Replace) }

// change changes the set, unless only NamespaceScopes may.
func (s *Scopes) change(scopes []Scope, change func(...scope.Scope) error) error {
	if s.byNamespaces {
		return errByNamespaces
	}
	converted := make([]scope.Scope, 0, len(scopes))
	for _, s := range scopes {
		converted = append(converted, s.internal())
	}
	return change(converted...)
}

// All returns the scopes in the order in which they were added, with their selectors in canonical
// form: a namespace that the FieldSelector required is in Namespace.
func (s *Scopes) All() (scopes []Scope) {
	for _, held := range s.internalSet().All() {
		scopes = append(scopes, scopeOf(held))
	}
	return scopes
}

// internalSet returns the set, nil if s is.
func (s *Scopes) internalSet() *scope.Set {
	if s == nil {
		return nil
	}
	return scope.SetOf(&s.ownSet)
}

// ScopeStatus describes one scope of an informer. Scopes that share requests have one
// phase, one error and one RequestStatus.
type ScopeStatus struct {
	Scope Scope
	// Status is that of the scope alone. Synced reports whether the scope has been listed. Before
	// that, FreshAt is when it was added. Requests counts lists, watches and events only, and Store
	// has only Objects, Quarantined and Unnamed.
	Status
	// Sharded reports whether the last list stated, by its shardInfo, that it has the requested
	// hash ranges alone. Servers send no shardInfo with custom resources and metadata-only objects,
	// nor in a WatchList.
	Sharded bool
	// OutOfScope is the number of objects that were skipped, undecoded, because they were outside
	// of the requested namespace or hash ranges: the server does not apply the shard selector, or
	// the ListerWatcher does not pass a selector on. It counts for the current requests, which
	// scopes may share, and starts at zero when scopes begin to share a watch.
	OutOfScope uint64
}
