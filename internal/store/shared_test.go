// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/scope"
)

// byText indexes objects by a new string of each, beside the index by group.
func byText(c *Config) {
	c.Indexers["text"] = func(o any) ([]string, error) { return []string{strings.Clone(o.(*object).Text)}, nil }
}

// distinctValues counts the indexValues that a store's entries refer to, of the index at a
// position.
func (h *harness) distinctValues(i int) int {
	distinct := map[*indexValues]bool{}
	for _, item := range h.Snapshot().entries.All() {
		distinct[item.Meta.shared.element(i).values] = true
	}
	return len(distinct)
}

// node returns the i-th of objects whose combinations of groups and text all differ.
func node(i, version int) *object {
	o := obj(fmt.Sprintf("%d/1@%d", i, version), fmt.Sprintf("a-%d", i/100), fmt.Sprintf("b-%d", i/100))
	o.Text = fmt.Sprintf("node-%d", i%100)
	return o
}

// Entries under one value of an index share it, whatever their values are under the others, however
// the entries came in.
func TestEntriesShareEqualIndexValues(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": {byText}, "packed": {byText, packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			check := func(when string) {
				t.Helper()
				if groups, texts := h.distinctValues(0), h.distinctValues(1); groups != 10 || texts != 100 {
					t.Errorf("%s: %d lists of groups and %d texts, want 10 and 100", when, groups, texts)
				}
				if err := h.validate(); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			var all []*object
			for i := range 1000 {
				all = append(all, node(i, 1))
			}
			h.relist("1", all...)
			check("list")
			h.relist("2", all...)
			check("unchanged list")
			for i := range 1000 {
				moved := node(i, 3)
				moved.Text = fmt.Sprintf("node-%d", (i+i/100)%100)
				h.apply(watch.Modified, moved)
			}
			check("updates")
			for i := range 500 {
				h.apply(watch.Deleted, node(2*i, 4))
				h.apply(watch.Added, node(2*i, 5))
			}
			check("additions")
			if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
				t.Fatal(err)
			}
			check("AddIndexers")
		})
	}
}

// An entry that shares its values with one that has changed or is gone keeps them.
func TestSharedValuesStayWithTheirEntries(t *testing.T) {
	h := newHarness(byText)
	a, b, c := obj("a/1@1", "x", "y"), obj("b/1@1", "x", "y"), obj("c/1@1", "x")
	h.relist("1", a, b, c)
	before := h.Snapshot()
	h.apply(watch.Modified, obj("a/1@2", "y", "z"))
	h.apply(watch.Deleted, obj("c/1@2", "x"))
	h.expectFound(t, "group", "x", "b")
	h.expectFound(t, "group", "y", "a", "b")
	h.expectFound(t, "group", "z", "a")
	if keys, err := before.IndexKeys("group", "x"); err != nil || len(keys) != 3 {
		t.Errorf("the snapshot has %q under x, %v, want a, b and c", keys, err)
	}
	if got := before.Entry("a").shared.element(0).list(); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("the snapshot's entry has the groups %q, want x and y", got)
	}
}

// The entries of a scope share its origin and index values, if the program has written them, too.
func TestEntriesOfScopeShareTheirMeta(t *testing.T) {
	name := scope.Scope{Namespace: "a"}
	h := newHarness(func(c *Config) { c.ScopeOf = func(_, _, _ string) (scope.Scope, error) { return name, nil } })
	c := h.AddScope(name)
	list := h.NewFeed(FeedConfig{Scopes: []*Scope{c}}).Begin()
	for i := range 100 {
		list.Add(obj(fmt.Sprintf("a/%d/1@1", i), "x").item())
	}
	if err := list.Commit("1"); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := h.Put(obj(fmt.Sprintf("a/%d/1@2", i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.distinctMetas(); got > 3 { // the first entry of the value may have one of its own
		t.Errorf("%d metas, want one of the list, one of the program, and at most one more", got)
	}
	for _, item := range h.Snapshot().entries.All() {
		if item.Meta.scope() != c {
			t.Errorf("the entry records the scope %v", item.Meta.scope())
		}
	}
}

func TestIndexValuesAreSortedAndWithoutDuplicates(t *testing.T) {
	for _, c := range []struct{ in, want []string }{
		{nil, nil}, {[]string{""}, []string{""}}, {[]string{"a"}, []string{"a"}}, {[]string{"b", "b"}, []string{"b"}},
		{[]string{"b", "a", "b"}, []string{"a", "b"}},
	} {
		values := newIndexValues(c.in, nil)
		if !slices.Equal(values.list(), c.want) || newIndexValues(c.in, values) != values {
			t.Errorf("the values of %q are %q, want %q, and the same of the same again", c.in, values.list(), c.want)
		}
	}
}
