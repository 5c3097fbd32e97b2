// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/sharding"

	"github.com/kinformer/kinformer/cache"
)

// Which sets of scopes are permitted, by definition: the namespace, the name and the UID of an
// object determine its scope, and scopes that may hold one key have equal selectors. The keys and
// UIDs are those of a sample, which has a namespace and a UID with a hash in each sixteenth of all
// hashes, so that it tells the ranges of the families apart.

// identity identifies an object for its whole life.
type identity struct{ namespace, name, uid string }

// sampled are the identities that mayBeBeside tries.
var sampled = sampleIdentities()

func sampleIdentities() (all []identity) {
	namespaces, uids := append(sampleHashes("n-"), "a", "b", "c", "d"), sampleHashes("u-")
	for _, namespace := range namespaces {
		for _, name := range []string{"w", "x", "y", "z", "other"} {
			for _, uid := range uids {
				all = append(all, identity{namespace, name, uid})
			}
		}
	}
	return all
}

// sampleHashes returns values with a hash in each sixteenth of all hashes.
func sampleHashes(prefix string) (values []string) {
	var found [16]bool
	for n := 0; len(values) < len(found); n++ {
		value := fmt.Sprint(prefix, n*n*n)
		if sixteenth := hashOf(value) >> 60; !found[sixteenth] {
			found[sixteenth] = true
			values = append(values, value)
		}
	}
	return values
}

func hashOf(value string) uint64 {
	hash, err := strconv.ParseUint(sharding.HashField(value), 16, 64)
	if err != nil {
		panic(err)
	}
	return hash
}

// mayHold reports whether an object may be in a canonical scope, whatever its labels and other
// fields are. An empty UID stands for any.
func mayHold(scope cache.Scope, id identity) bool {
	hashed := id.uid
	if scope.Hash.Field == cache.HashNamespace {
		hashed = id.namespace
	}
	anyHash := scope.Hash.Field == "" || scope.Hash.Field == cache.HashUID && id.uid == ""
	name, named := nameOf(scope)
	return (scope.Namespace == "" || scope.Namespace == id.namespace) && (!named || name == id.name) &&
		(anyHash || scope.Hash.First <= hashOf(hashed) && hashOf(hashed) <= scope.Hash.Last)
}

// nameOf returns the name that a scope requires.
func nameOf(scope cache.Scope) (name string, named bool) {
	return fields.ParseSelectorOrDie(scope.FieldSelector).RequiresExactMatch("metadata.name")
}

// besides remembers the results of mayBeBeside, by both scopes.
var besides sync.Map

// mayBeBeside reports whether a set may have both of two canonical scopes.
func mayBeBeside(a, b cache.Scope) bool {
	both := [2]cache.Scope{a, b}
	if known, ok := besides.Load(both); ok {
		return known.(bool)
	}
	equalSelectors := a.LabelSelector == b.LabelSelector && otherFields(a) == otherFields(b)
	may := !slices.ContainsFunc(sampled, func(id identity) bool {
		if !equalSelectors {
			id.uid = "" // one key is enough
		}
		return mayHold(a, id) && mayHold(b, id)
	})
	besides.Store(both, may)
	return may
}

// otherFields returns the field selector of a scope without its name.
func otherFields(scope cache.Scope) string {
	name, named := nameOf(scope)
	if !named {
		return scope.FieldSelector
	}
	return strings.Trim(strings.Replace(scope.FieldSelector, "metadata.name="+name, "", 1), ",")
}

// mayHave reports whether a set may have all of some canonical scopes.
func mayHave(set []cache.Scope) bool {
	for i, scope := range set {
		if slices.ContainsFunc(set[:i], func(other cache.Scope) bool { return !mayBeBeside(scope, other) }) {
			return false
		}
	}
	return true
}

// canonical returns scopes in the form in which a set has them, each once: a namespace that a field
// selector requires is the scope's.
func canonical(scopes []cache.Scope) (all []cache.Scope) {
	for _, scope := range scopes {
		if namespace, ok := fields.ParseSelectorOrDie(scope.FieldSelector).RequiresExactMatch("metadata.namespace"); ok {
			scope.Namespace = namespace
			scope.FieldSelector = strings.Trim(strings.Replace(scope.FieldSelector, "metadata.namespace="+namespace, "", 1), ",")
		}
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

// setAfter returns the set after a change by a step, and whether the change is permitted: a refused
// one changes nothing.
func setAfter(before []cache.Scope, op string, scopes []cache.Scope) (after []cache.Scope, permitted bool) {
	switch scopes = canonical(scopes); op {
	case opScopesAdd:
		after = canonical(slices.Concat(before, scopes))
	case opScopesRemove:
		return slices.DeleteFunc(slices.Clone(before), func(scope cache.Scope) bool { return slices.Contains(scopes, scope) }), true
	case opScopesSet:
		after = scopes
	}
	if !mayHave(after) {
		return before, false
	}
	return after, true
}

// scopeOf returns the only scope of a set that may hold an object. It returns false if none may, or
// several.
func scopeOf(set []cache.Scope, id identity) (scope cache.Scope, only bool) {
	n := 0
	for _, other := range set {
		if mayHold(other, id) {
			scope = other
			n++
		}
	}
	return scope, n == 1
}

// identity returns the identity of a state's object.
func (s scopedState) identity() identity {
	namespace, name, _ := strings.Cut(s.key, "/")
	return identity{namespace, name, s.uid}
}

// TestFamiliesAreRefusedInPart checks that programs meet sets that are permitted, and others that
// are refused.
func TestFamiliesAreRefusedInPart(t *testing.T) {
	for family, scopes := range scopeFamilies() {
		permitted, refused := 0, 0
		for i, a := range scopes {
			for _, b := range scopes[:i] {
				if mayHave(canonical([]cache.Scope{a, b})) {
					permitted++
				} else {
					refused++
				}
			}
		}
		if permitted < 3 || refused < 3 && family != selectedNamespaces {
			t.Errorf("%s: %d pairs of scopes are permitted, %d refused", family, permitted, refused)
		}
	}
}
