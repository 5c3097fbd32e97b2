// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/sharding"
)

func byUID(first, last uint64) Scope       { return Scope{Hash: Range{UID, first, last}} }
func byNamespace(first, last uint64) Scope { return Scope{Hash: Range{Namespace, first, last}} }
func in(namespace string) Scope            { return Scope{Namespace: namespace} }
func labeled(selector string) Scope        { return Scope{LabelSelector: selector} }
func fielded(selector string) Scope        { return Scope{FieldSelector: selector} }

// Each relation is symmetric. A set may have two scopes unless an object's key and UID leave open
// which of them it is in.
func TestRelationsOfScopes(t *testing.T) {
	hashA := HashOf("a")
	for _, row := range []struct {
		name         string
		a, b         Scope
		keys, beside bool
	}{
		{"the whole collection and a namespace", Scope{}, in("a"), true, false},
		{"two namespaces", in("a"), in("b"), false, true},
		{"two namespaces by field", fielded("metadata.namespace=a"), in("b"), false, true},
		{"a namespace twice", fielded("metadata.namespace=a"), fielded("metadata.namespace==a,spec.nodeName=n"), true, false},

		{"two values of a label", labeled("env=dev"), labeled("env=prod"), true, false},
		{"labels of two namespaces", Scope{Namespace: "a", LabelSelector: "env=dev"}, Scope{Namespace: "b", LabelSelector: "env=prod"}, false, true},
		{"two nodes", fielded("spec.nodeName=n"), fielded("spec.nodeName=m"), true, false},

		{"two names", fielded("metadata.name=x"), fielded("metadata.name=y"), false, true},
		{"two names of one namespace", Scope{Namespace: "a", FieldSelector: "metadata.name=x"}, Scope{Namespace: "a", FieldSelector: "metadata.name=y"}, false, true},
		{"one name of two namespaces", Scope{Namespace: "a", FieldSelector: "metadata.name=x"}, Scope{Namespace: "b", FieldSelector: "metadata.name=x"}, false, true},
		{"two names with other selectors", Scope{FieldSelector: "metadata.name=x", LabelSelector: "env=dev"}, fielded("metadata.name=y"), false, true},
		{"a name and all others", fielded("metadata.name=x"), fielded("metadata.name!=x"), true, false},
		{"a name and its namespace", Scope{Namespace: "a", FieldSelector: "metadata.name=x"}, in("a"), true, false},

		// A recreated object has the same key and another UID.
		{"two ranges of UIDs", byUID(0, 9), byUID(10, 19), true, true},
		{"ranges that share one hash", byUID(0, 10), byUID(10, 19), true, false},
		{"a range and all hashes", byUID(0, 10), Scope{}, true, false},
		{"ranges of UIDs with other labels", Scope{LabelSelector: "a=b", Hash: byUID(0, 9).Hash}, Scope{LabelSelector: "a=c", Hash: byUID(10, 19).Hash}, true, false},
		{"ranges of UIDs with equal labels", Scope{LabelSelector: "a=b", Hash: byUID(0, 9).Hash}, Scope{LabelSelector: "a = b", Hash: byUID(10, 19).Hash}, true, true},
		{"two ranges of namespaces", byNamespace(0, 9), byNamespace(10, 19), false, true},
		{"ranges of UIDs and of namespaces", byUID(0, 9), byNamespace(10, 19), true, false},
		{"a range of UIDs of a namespace that is in no range", Scope{Namespace: "a", Hash: byUID(0, 9).Hash}, byNamespace(hashA+1, math.MaxUint64), false, true},
		{"a range with a namespace", byNamespace(hashA, hashA), in("a"), true, false},
		{"a range without a namespace", byNamespace(hashA+1, math.MaxUint64), in("a"), false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, errA := row.a.Canonical()
			b, errB := row.b.Canonical()
			must(t, errors.Join(errA, errB))
			for _, pair := range [][2]Scope{{a, b}, {b, a}} {
				keys, err := MayShareKeys(pair[0], pair[1]), pair[0].checkTogether(pair[1])
				if keys != row.keys || (err == nil) != row.beside {
					t.Errorf("%v and %v: MayShareKeys %v, want %v; beside each other: %v, want none: %v", pair[0], pair[1], keys, row.keys, err, row.beside)
				}
			}
		})
	}
}

func TestScopeMayHold(t *testing.T) {
	hashA, hashU := HashOf("a"), HashOf("u")
	for _, row := range []struct {
		scope     Scope
		want, any bool // of object x in namespace a, with UID u or any
	}{
		{Scope{}, true, true},
		{in("a"), true, true},
		{in("b"), false, false},
		{Scope{Name: "x"}, true, true},
		{Scope{Name: "y"}, false, false},
		{byUID(hashU, hashU), true, true},
		{byUID(hashU+1, math.MaxUint64), false, true},
		{byNamespace(0, hashA), true, true},
		{byNamespace(0, hashA-1), false, false},
		{Scope{Namespace: "b", Hash: byUID(hashU, hashU).Hash}, false, false},
		{labeled("no=label"), true, true}, // which it may come to have
	} {
		if got, anyUID := row.scope.MayHold("a", "x", "u"), row.scope.MayHold("a", "x", ""); got != row.want || anyUID != row.any {
			t.Errorf("%v: %v, of any UID %v", row.scope, got, anyUID)
		}
	}
}

func TestScopeMatches(t *testing.T) {
	object := labels.Set{"env": "dev"}
	for _, row := range []struct {
		scope Scope
		want  bool // of object x in namespace a
	}{
		{Scope{}, true},
		{labeled("env=dev"), true},
		{labeled("env!=dev"), false},
		{fielded("metadata.name=x"), true},
		{fielded("metadata.name!=x"), false},
		{fielded("metadata.namespace=b"), false},
		{fielded("metadata.name=x,metadata.namespace=b"), false},
		{fielded("spec.nodeName=n"), true}, // unknown here
		{Scope{LabelSelector: "env=dev", FieldSelector: "metadata.name=y"}, false},
		{labeled("env in"), false},
	} {
		if got := row.scope.Matches(object, "x", "a"); got != row.want {
			t.Errorf("%v: %v", row.scope, got)
		}
	}
}

func TestCanonicalScopesAreComparable(t *testing.T) {
	a, errA := Scope{LabelSelector: "env in (prod, dev), tier"}.Canonical()
	b, errB := Scope{LabelSelector: "tier,env in (dev,prod)"}.Canonical()
	if a != b || errA != nil || errB != nil {
		t.Errorf("%v, %v and %v, %v", a, errA, b, errB)
	}
}

func TestNamespaceAndNameOfFieldSelectorAreThoseOfTheScope(t *testing.T) {
	for _, row := range []struct{ scope, want Scope }{
		{fielded("metadata.namespace=a"), in("a")},
		{Scope{Namespace: "a", FieldSelector: "metadata.namespace=a,metadata.name=x"}, Scope{Namespace: "a", Name: "x"}},
		{fielded("spec.nodeName=n,metadata.name==x,status.phase!=Failed"), Scope{Name: "x", FieldSelector: "spec.nodeName=n,status.phase!=Failed"}},
		{fielded("metadata.name!=x"), fielded("metadata.name!=x")},
		{fielded("metadata.namespace="), fielded("metadata.namespace=")}, // of cluster-scoped objects
		{Scope{Name: "x"}, Scope{Name: "x"}},
	} {
		if got, err := row.scope.Canonical(); got != row.want || err != nil {
			t.Errorf("%v: %v, %v; want %v", row.scope, got, err, row.want)
		}
	}
}

func TestInvalidScopesNameTheField(t *testing.T) {
	for _, row := range []struct {
		scope Scope
		want  string
	}{
		{labeled("env in"), `LabelSelector "env in"`},
		{fielded("metadata.name"), `FieldSelector "metadata.name"`},
		{Scope{Namespace: "a", FieldSelector: "metadata.namespace=b"}, `metadata.namespace=b, and "a"`},
		{fielded("metadata.name=x,metadata.name=y"), `metadata.name=y, and "x"`},
		{Scope{Hash: Range{"metadata.uid", 0, 1}}, `Hash.Field must be "object.metadata.uid"`},
		{Scope{Hash: Range{"", 0, 1}}, "Hash.Field"},
		{byUID(2, 1), "First 0000000000000002 is greater than Last 0000000000000001"},
	} {
		if _, err := row.scope.Canonical(); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v: error %v, want %q", row.scope, err, row.want)
		}
	}
}

func TestHashIsThatOfServer(t *testing.T) {
	for _, value := range []string{"", "a", "kube-system", "6f1b3a9e-0c1d-4a57-9d64-2f3f3b1f0a11"} {
		want, err := strconv.ParseUint(sharding.HashField(value), 16, 64)
		if got := HashOf(value); err != nil || got != want {
			t.Errorf("%q: %x, want %x (%v)", value, got, want, err)
		}
	}
}
