// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/scope"
)

// An object that the program writes is one of every scope that may hold it.
func TestProgramWritesLeaveWithTheirScopes(t *testing.T) {
	for _, row := range []struct{ name, object, steps, want string }{
		{"a list that lacks it", "a/k/1@5", "a list 11", ""},
		{"a list of another scope", "a/k/1@5", "b list 11", "a/k/1@5"},
		{"a list that has it", "a/k/1@5", "a list 11 a/k/1@5", "a/k/1@5"},
		{"its deletion", "a/k/1@5", "a delete a/k/1@11", ""},
		{"a later state, with a lower version", "a/k/1@99", "a list 11 a/k/1@11", "a/k/1@11"},
		{"its scope is removed", "a/k/1@5", "a leave", ""},
		{"another scope is removed", "a/k/1@5", "b leave", "a/k/1@5"},
		{"its scope retires and is removed", "a/k/1@5", "a retire; a leave", ""},
		{"its scope has retired before, and is removed", "c/k/1@5", "a retire; program put a/k/1@5; a leave", "c/k/1@5"},
		{"no scope may hold it", "c/k/1@5", "a list 11", ""},
		{"no scope may hold it, and one is removed", "c/k/1@5", "a leave", "c/k/1@5"},
		{"it replaces an object of the server", "a/l/2@50", "a list 11 a/l/2@11", "a/l/2@11"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &scopedHarness{newHarness(scoped), false, make(map[string]*Scope), make(map[string]*Feed)}
			h.joinScope("a", scope.Scope{Namespace: "a"})
			h.joinScope("b", scope.Scope{Namespace: "b"})
			h.MarkSynced()
			if err := h.Put(obj(row.object)); err != nil {
				t.Fatal(err)
			}
			h.run(t, row.steps)
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.want {
				t.Errorf("the store has %q, want %q", got, row.want)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An object that the program writes again, with a UID, is no longer one of every range of hashes.
func TestProgramWritesBelongToTheRangeOfTheirUID(t *testing.T) {
	h := &scopedHarness{newHarness(scoped), false, make(map[string]*Scope), make(map[string]*Feed)}
	half := uint64(1) << 63
	h.joinScope("low", scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}})
	h.joinScope("high", scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}})
	h.MarkSynced()
	own, other := "low", "high"
	if scope.HashOf("u") >= half {
		own, other = other, own
	}
	h.run(t, "program put k; program put k/u@5; "+other+" list 11")
	if got := strings.Join(contents(h.Snapshot()), " "); got != "k/u@5" {
		t.Errorf("after a list of the other range, the store has %q", got)
	}
	h.run(t, own+" list 12")
	if got := h.Len(); got != 0 {
		t.Errorf("after a list that lacks it, the store has %d objects", got)
	}
}

// An object without a UID is one of every range of hashes.
func TestProgramWriteLeavesWithTheLastScopeThatMayHoldIt(t *testing.T) {
	h := &scopedHarness{newHarness(scoped), false, make(map[string]*Scope), make(map[string]*Feed)}
	half := uint64(1) << 63
	h.joinScope("low", scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}})
	h.joinScope("high", scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}})
	h.MarkSynced()
	h.run(t, "program put k; high retire; low leave")
	if got := h.Len(); got != 1 {
		t.Errorf("while a retiring scope may hold it, the store has %d objects", got)
	}
	h.run(t, "high leave")
	if got := h.Len(); got != 0 {
		t.Errorf("after the last scope, the store has %d objects", got)
	}
}
