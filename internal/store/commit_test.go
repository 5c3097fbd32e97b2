// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kinformer/kinformer/internal/scope"
)

// newHarnessOf returns a store whose scopes are those of a set with two, a and b, of which only
// listed ones were added.
func newHarnessOf(t *testing.T, a, b scope.Scope, listed ...string) *scopedHarness {
	var set scope.Set
	if err := set.Add(a, b); err != nil {
		t.Fatal(err)
	}
	h := &scopedHarness{newHarness(func(c *Config) { c.ScopeOf = set.Of }), make(map[string]*Scope), make(map[string]*Feed)}
	for _, name := range listed {
		h.joinScope(name, map[string]scope.Scope{"a": a, "b": b}[name])
	}
	return h
}

// An object that the program writes is one of the scope that may hold it, also before the informer
// runs.
func TestProgramWritesBelongToTheirScopes(t *testing.T) {
	for _, row := range []struct{ name, object, steps, want string }{
		{"a list that lacks it", "a/k/1@5", "a list 11", ""},
		{"a list of another scope", "a/k/1@5", "b list 11", "a/k/1@5"},
		{"a list that has it", "a/k/1@5", "a list 11 a/k/1@5", "a/k/1@5"},
		{"its deletion", "a/k/1@5", "a delete a/k/1@11", ""},
		{"a later state, with a lower version", "a/k/1@99", "a list 11 a/k/1@11", "a/k/1@11"},
		{"its scope is removed", "a/k/1@5", "a leave", ""},
		{"another scope is removed", "a/k/1@5", "b leave", "a/k/1@5"},
		{"it replaces an object of the server", "a/l/2@50", "a list 11 a/l/2@11", "a/l/2@11"},
	} {
		for _, early := range []bool{false, true} {
			h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"})
			put := func() {
				if err := h.Put(obj(row.object)); err != nil {
					t.Fatal(err)
				}
			}
			if early {
				put()
			}
			h.add("a", scope.Scope{Namespace: "a"})
			h.add("b", scope.Scope{Namespace: "b"})
			if !early {
				put()
			}
			h.run(t, row.steps)
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.want {
				t.Errorf("%s (early: %v): the store has %q, want %q", row.name, early, got, row.want)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestProgramWritesBelongToTheRangeOfTheirUID(t *testing.T) {
	half := uint64(1) << 63
	low, high := scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}}, scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}}
	h := newHarnessOf(t, low, high, "a", "b")
	own, other := "a", "b"
	if scope.HashOf("u") >= half {
		own, other = other, own
	}
	if err := h.Put(obj("k")); !errors.Is(err, scope.ErrNotSelected) {
		t.Errorf("an object without a UID, which either range may hold: %v", err)
	}
	h.Store.config.Now = time.Now
	h.run(t, "program put k/u@5; "+other+" list 11")
	if got := strings.Join(contents(h.Snapshot()), " "); got != "k/u@5" {
		t.Errorf("after a list of the other range, the store has %q", got)
	}
	h.run(t, own+" list 12")
	if got := h.Len(); got != 0 {
		t.Errorf("after a list that lacks it, the store has %d objects", got)
	}
	if h.HasSeenDeletion("k") {
		t.Error("the server has not had the object, and its deletion was seen")
	}
	h.run(t, own+" put k/u@13; "+own+" list 14")
	if !h.HasSeenDeletion("k") {
		t.Error("the deletion of an object of the server was not seen")
	}
}

func TestRefusedProgramWritesChangeNothing(t *testing.T) {
	h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"}, "a")
	h.run(t, "program put a/k/1@5")
	if err := h.Put(obj("c/k/1@5")); !errors.Is(err, scope.ErrNotSelected) {
		t.Errorf("an object of no scope: %v", err)
	}
	if err := h.Replace([]any{obj("a/l/1@5")}, "9"); err == nil {
		t.Error("a store with scopes was replaced")
	}
	if got := strings.Join(contents(h.Snapshot()), " "); got != "a/k/1@5" {
		t.Errorf("the store has %q", got)
	}
	if err := h.Remove(obj("a/k/1@5")); err != nil || h.Len() != 0 {
		t.Errorf("%d objects after the removal: %v", h.Len(), err)
	}
}

// The set may lose a scope before the informer has added it.
func TestWrittenEntriesOfScopesThatWereNotAddedAreRemoved(t *testing.T) {
	h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"})
	h.run(t, "program put a/k/1@5; program put b/k/2@5")
	h.RemovePendingScopes(func(name scope.Scope) bool { return name.Namespace == "b" })
	if got := strings.Join(contents(h.Snapshot()), " "); got != "b/k/2@5" {
		t.Errorf("the store has %q", got)
	}
	h.pauseAfter(1, func() { h.run(t, "program put b/l/3@6") }) // while its scope is being removed
	h.run(t, "program put b/k/2@5; program put b/m/2@5")
	h.RemovePendingScopes(func(name scope.Scope) bool { return false })
	if got := strings.Join(contents(h.Snapshot()), " "); got != "b/l/3@6" {
		t.Errorf("the store has %q", got)
	}
	h.joinScope("b", scope.Scope{Namespace: "b"})
	if got := h.Len(); got != 0 {
		t.Errorf("after a list that lacks it, the store has %d objects", got)
	}
}

// The informer may be about to add the scope of an object that the program writes.
func TestObjectWrittenBeforeItsScopeIsAddedLeavesWithIt(t *testing.T) {
	h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"})
	h.run(t, "program put a/k/1@5")
	added := h.AddScope(scope.Scope{Namespace: "a"})
	h.run(t, "program put a/l/2@6")
	h.RemovePendingScopes(func(scope.Scope) bool { return false })
	if got := h.ScopeSize(added); got != 2 {
		t.Errorf("the scope has %d objects", got)
	}
	h.RemoveScopes([]*Scope{added}, true)
	if got := h.Len(); got != 0 {
		t.Errorf("after its removal, the store has %d objects", got)
	}
}

// The set may lose a scope while the program writes an object of it.
func TestObjectWrittenWhileItsScopeIsRemovedDoesNotStay(t *testing.T) {
	for range 100 {
		var s *Store
		removed := make(chan struct{})
		s = newHarness(func(c *Config) {
			c.ScopeOf = func(string, string, string) (scope.Scope, error) {
				go func() {
					defer close(removed)
					s.RemovePendingScopes(func(scope.Scope) bool { return false })
				}()
				for range 100 {
					runtime.Gosched()
				}
				return scope.Scope{Namespace: "a"}, nil
			}
		}).Store
		if err := s.Put(obj("a/k/1@5")); err != nil {
			t.Fatal(err)
		}
		<-removed
		if got := s.Len(); got != 0 {
			t.Fatalf("the store has %d objects", got)
		}
	}
}
