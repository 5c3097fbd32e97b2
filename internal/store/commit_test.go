// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/scope"
)

// A commit that releases the writer's lock does the keys again that were written meanwhile: the log
// has each change once, from the state that it replaces. The list of scope a at version 12 has k and l.
func TestCommitRedoesKeysWrittenMeanwhile(t *testing.T) {
	for _, row := range []struct {
		name, steps string
		write       func(*Store[*object]) error
		want, store string
	}{
		{"nothing", "", nil, "update k/1@11→/1@12, add l/2@12", "k/1@12 l/2@12"},
		{"a later object of the other scope", "b put k/2@13", nil, "delete k/1@11, add k/2@13; add l/2@12", "k/2@13 l/2@12"},
		{"an older object of the other scope", "b put k/2@11", nil, "delete k/1@11, add k/2@11; delete k/2@11, add l/2@12, add k/1@12", "k/1@12 l/2@12"},
		{"an object of the other scope that the list lacks", "b put m/3@11", nil, "add m/3@11; update k/1@11→/1@12, add l/2@12", "k/1@12 l/2@12 m/3@11"},
		{
			"an update by the program", "", func(s *Store[*object]) error { return s.Put(obj("k/1@20")) },
			"update k/1@11→/1@20; add l/2@12, update k/1@20→/1@12", "k/1@12 l/2@12",
		},
		{
			"a deletion by the program", "", func(s *Store[*object]) error { return s.Remove(obj("k/1@11")) },
			"delete k/1@11; add l/2@12, add k/1@12", "k/1@12 l/2@12",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness(false)
			h.run(t, "a put k/1@11")
			h.batches()
			list := h.feeds["a"].BeginReplacement()
			list.Add(obj("k/1@12").item())
			list.Add(obj("l/2@12").item())
			c := newCommit(list, list.feed, "12")
			var view entryView
			if err := c.begin(&view); err != nil {
				t.Fatal(err)
			}
			c.inPieces(c.steps(view))
			if row.steps != "" {
				h.run(t, row.steps)
			}
			if row.write != nil {
				if err := row.write(h.Store); err != nil {
					t.Fatal(err)
				}
			}
			c.finish()
			if got, want := h.batches(), strings.Split(row.want, "; "); !slices.Equal(got, want) {
				t.Errorf("the log received %q, want %q", got, want)
			}
			h.expect(t, nil, strings.Fields(row.store)...)
		})
	}
}

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
		{"no scope may hold it", "c/k/1@5", "a list 11", ""},
		{"no scope may hold it, and one is removed", "c/k/1@5", "a leave", "c/k/1@5"},
		{"it replaces an object of the server", "a/l/2@50", "a list 11 a/l/2@11", "a/l/2@11"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &scopedHarness{newHarness(scoped), false, make(map[string]*Scope), make(map[string]*Feed[*object])}
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
