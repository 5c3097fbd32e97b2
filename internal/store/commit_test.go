// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"testing"
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

// The program may write an object that more than one scope may hold. The next list of one of these
// removes the object, unless the list has it.
func TestListRemovesWhatTheProgramWrote(t *testing.T) {
	for _, row := range []struct {
		name        string
		moves       bool
		steps       string
		want, store string
	}{
		{"a list without it", false, "a list 20", "add p/1@15; delete p/1@15", ""},
		{"a list of the other scope without it", false, "b list 20", "add p/1@15; delete p/1@15", ""},
		{"a list with it", false, "a list 20 p/1@15; b list 20", "add p/1@15", "p/1@15"},
		{"a list of a scope from which it may have moved", true, "a list 20", "add p/1@15", "p/1@15"},
		{"lists of both scopes", true, "a list 20; b list 20", "add p/1@15; delete p/1@15", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness(row.moves)
			if err := h.Put(obj("p/1@15")); err != nil {
				t.Fatal(err)
			}
			h.run(t, row.steps)
			if got, want := h.batches(), strings.Split(row.want, "; "); !slices.Equal(got, want) {
				t.Errorf("the log received %q, want %q", got, want)
			}
			h.expect(t, nil, strings.Fields(row.store)...)
		})
	}
}
