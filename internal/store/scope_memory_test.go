// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"strconv"
	"testing"
	"weak"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/scope"
)

// Scopes that come and go, of which two are held at a time, leave no memory behind. What still
// refers to a removed scope, as an index value of an old entry, must not keep those that came after
// it.
func TestRemovedScopesAreFreed(t *testing.T) {
	h := newHarness(scoped)
	added := 0
	add := func() *Scope {
		added++
		scope := h.AddScope(scope.Scope{Namespace: strconv.Itoa(added)})
		return scope
	}
	first := add()
	feed := h.NewFeed(FeedConfig{Scopes: []*Scope{first}})
	feed.Apply(watch.Added, obj("a/1@1").item())
	feed.Close()
	var removed []weak.Pointer[Scope]
	for before, n := first, 0; n < 100; n++ {
		scope := add()
		h.RemoveScopes([]*Scope{before}, true)
		removed, before = append(removed, weak.Make(before)), scope
	}
	runtime.GC()
	held := 0
	for _, scope := range removed {
		if scope.Value() != nil {
			held++
		}
	}
	if held > 1 {
		t.Errorf("%d removed scopes take memory", held)
	}
	runtime.KeepAlive(h)
}
