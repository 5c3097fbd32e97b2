// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
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

// Each relation is symmetric.
func TestRelationsOfScopes(t *testing.T) {
	hashA := HashOf("a")
	for _, row := range []struct {
		name          string
		a, b          Scope
		overlap, keys bool
		move          bool
	}{
		{"the whole collection and a namespace", Scope{}, in("a"), true, true, false},
		{"two namespaces", in("a"), in("b"), false, false, false},

		{"two values of a label", labeled("env=dev"), labeled("env=prod"), false, true, true},
		{"values that meet", labeled("env in (dev,test)"), labeled("env in (prod,test)"), true, true, true},
		{"a value and all others", labeled("env=dev"), labeled("env!=dev"), false, true, true},
		{"a value more than is excluded", labeled("env in (dev,test)"), labeled("env!=dev"), true, true, true},
		{"no label and any value", labeled("!env"), labeled("env"), false, true, true},
		{"no label and one value", labeled("!env"), labeled("env=dev"), false, true, true},
		{"no label and not one value", labeled("!env"), labeled("env!=dev"), true, true, true},
		{"two labels", labeled("env=dev"), labeled("tier=web"), true, true, true},
		{"a contradiction in the second label", labeled("env=dev,tier=web"), labeled("env=dev,tier=db"), false, true, true},
		{"labels of two namespaces", Scope{Namespace: "a", LabelSelector: "env=dev"}, Scope{Namespace: "b", LabelSelector: "env=prod"}, false, false, false},

		{"two names", fielded("metadata.name=x"), fielded("metadata.name=y"), false, true, true},
		{"a name and all others", fielded("metadata.name=x"), fielded("metadata.name!=x"), false, true, true},
		{"two excluded names", fielded("metadata.name!=x"), fielded("metadata.name!=y"), true, true, true},
		{"a label and a field", labeled("env=dev"), fielded("metadata.name=x"), true, true, true},

		// A recreated object has the same key and another UID.
		{"two ranges of UIDs", byUID(0, 9), byUID(10, 19), false, true, false},
		{"ranges that share one hash", byUID(0, 10), byUID(10, 19), true, true, false},
		{"ranges of UIDs with labels", Scope{LabelSelector: "a=b", Hash: byUID(0, 9).Hash}, Scope{LabelSelector: "a=c", Hash: byUID(10, 19).Hash}, false, true, false},
		{"two ranges of namespaces", byNamespace(0, 9), byNamespace(10, 19), false, false, false},
		{"ranges of UIDs and of namespaces", byUID(0, 9), byNamespace(10, 19), true, true, false},
		{"a range with a namespace", byNamespace(hashA, hashA), in("a"), true, true, false},
		{"a range without a namespace", byNamespace(hashA+1, math.MaxUint64), in("a"), false, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, pair := range [][2]Scope{{row.a, row.b}, {row.b, row.a}} {
				a, b := pair[0], pair[1]
				overlap, keys, move := Overlap(a, b), ShareKeys(a, b), CanMove(a, b)
				if overlap != row.overlap || keys != row.keys || move != row.move {
					t.Errorf("%v and %v: Overlap %v, ShareKeys %v, CanMove %v, want %v, %v, %v", a, b, overlap, keys, move, row.overlap, row.keys, row.move)
				}
			}
		})
	}
}

func TestScopeCovers(t *testing.T) {
	hashA, hashU := HashOf("a"), HashOf("u")
	for _, row := range []struct {
		scope Scope
		want  bool // of an object with namespace a and UID u
	}{
		{Scope{}, true},
		{in("a"), true},
		{in("b"), false},
		{byUID(hashU, hashU), true},
		{byUID(hashU+1, math.MaxUint64), false},
		{byNamespace(0, hashA), true},
		{byNamespace(0, hashA-1), false},
		{Scope{Namespace: "b", Hash: byUID(hashU, hashU).Hash}, false},
		{labeled("no=label"), true}, // which it may come to have
	} {
		if got := row.scope.Covers("a", "u"); got != row.want {
			t.Errorf("%v: %v", row.scope, got)
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

func TestInvalidScopesNameTheField(t *testing.T) {
	for _, row := range []struct {
		scope Scope
		want  string
	}{
		{labeled("env in"), `LabelSelector "env in"`},
		{fielded("metadata.name"), `FieldSelector "metadata.name"`},
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
