// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// found returns the sorted keys that an index has under a value.
func (h *harness) found(t *testing.T, index, value string) []string {
	t.Helper()
	snapshot := h.Snapshot()
	keys, err := snapshot.IndexKeys(index, value)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := snapshot.ByIndex(index, value)
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, o := range objects {
		listed = append(listed, o.(*object).Key)
	}
	slices.Sort(keys)
	slices.Sort(listed)
	if !slices.Equal(keys, listed) {
		t.Errorf("IndexKeys returned %q, ByIndex %q", keys, listed)
	}
	return keys
}

func (h *harness) expectFound(t *testing.T, index, value string, want ...string) {
	t.Helper()
	if got := h.found(t, index, value); !slices.Equal(got, want) {
		t.Errorf("index %q has %q under %q, want %q", index, got, value, want)
	}
}

func TestIndexIsUpdatedWithItsObjects(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1", "x", "y", "x"), obj("b/1@1", "x"))
	h.expectFound(t, "group", "x", "a", "b")
	h.expectFound(t, "group", "y", "a")
	h.apply(watch.Modified, obj("a/1@2", "z", "y"))
	h.expectFound(t, "group", "x", "b")
	h.expectFound(t, "group", "y", "a")
	h.expectFound(t, "group", "z", "a")
	h.apply(watch.Deleted, obj("a/1@3", "never seen"))
	h.expectFound(t, "group", "y")
	h.expectFound(t, "group", "z")
	h.relist("5", obj("c/1@5", "x"), obj("d/1@5"))
	h.expectFound(t, "group", "x", "c")
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

// An index must not keep a value that no object has any more, or a store of changing values grows
// without bound.
func TestEmptyIndexValuesDisappear(t *testing.T) {
	h := newHarness()
	for i := range 100 {
		group := strings.Repeat("g", i+1)
		h.apply(watch.Added, obj("a/1@", group))
		got, err := h.Snapshot().IndexValues("group")
		if err != nil || !slices.Equal(got, []string{group}) {
			t.Fatalf("IndexValues() = %q, %v, want only %q", got, err, group)
		}
	}
	h.apply(watch.Deleted, obj("a/1@"))
	if got, err := h.Snapshot().IndexValues("group"); err != nil || len(got) != 0 {
		t.Errorf("IndexValues() = %q, %v for an empty store", got, err)
	}
}

// A caller may modify a cached object, so the store records the values that an entry is indexed
// under and does not compute them again.
func TestMutatedObjectLeavesNoStaleIndexEntry(t *testing.T) {
	for name, end := range map[string]func(*harness){
		"deleted":  func(h *harness) { h.apply(watch.Deleted, obj("a/1@2", "y")) },
		"removed":  func(h *harness) { _ = h.Remove(obj("a")) },
		"modified": func(h *harness) { h.apply(watch.Modified, obj("a/1@2", "z")) },
		"relisted": func(h *harness) { h.relist("2") },
	} {
		h := newHarness()
		h.relist("1", obj("a/1@1", "x"))
		cached, _ := h.Get("a")
		cached.Groups[0], cached.Text = "y", "changed"
		end(h)
		h.expectFound(t, "group", "x")
		h.expectFound(t, "group", "y")
		if err := h.validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An index function may return the same slice each time. The store neither keeps nor sorts it.
func TestIndexFunctionMayReturnSharedSlice(t *testing.T) {
	shared := []string{"b", "a", "b"}
	h := newHarness(func(c *Config) {
		c.Indexers = map[string]IndexFunc{
			"shared": func(any) ([]string, error) { return shared, nil },
			"one":    func(any) ([]string, error) { return shared[:1], nil },
		}
	})
	h.apply(watch.Added, obj("k/1@1"))
	if !slices.Equal(shared, []string{"b", "a", "b"}) {
		t.Fatalf("the function's slice was modified to %q", shared)
	}
	shared[0], shared[1], shared[2] = "c", "c", "c"
	h.expectFound(t, "shared", "a", "k")
	h.expectFound(t, "one", "b", "k")
	h.apply(watch.Modified, obj("k/1@2"))
	h.expectFound(t, "shared", "a")
	h.expectFound(t, "shared", "c", "k")
	h.expectFound(t, "one", "b")
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

func TestFailingIndexFunctionAffectsOneIndex(t *testing.T) {
	for _, fault := range []string{"index", "index panic"} {
		for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
			h := newHarness(append(options, func(c *Config) { c.Indexers["uid"] = keyAndUID })...)
			h.relist("1", obj("a/1@1", "x"))
			h.apply(watch.Modified, obj("a/1@2", "x").with(fault))
			if got := h.reported(); len(got) != 1 || !strings.Contains(got[0], `index "group"`) {
				t.Errorf("%s, %s: reported %q, want one report with the index's name", fault, name, got)
			}
			h.expectFound(t, "group", "x")
			h.expectFound(t, "uid", "1", "a")
			h.expect(t, []string{"add a/1@1 (initial)", "update a/1@1→/1@2"}, "a/1@2")
			h.apply(watch.Modified, obj("a/1@3", "x"))
			h.expectFound(t, "group", "x", "a")
		}
	}
}

func TestAddIndexers(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("7", obj("a/1@1", "x"), obj("b/2@1", "x").with("index panic"))
			h.batches()
			before := h.Snapshot()
			if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
				t.Fatal(err)
			}
			h.expectFound(t, "uid", "2", "b")
			h.expectFound(t, "group", "x", "a")
			h.expect(t, nil, "a/1@1", "b/2@1")
			if got := h.ResourceVersion(); got != "7" {
				t.Errorf("resourceVersion %q, want 7", got)
			}
			if _, err := before.ByIndex("uid", "2"); err == nil || !strings.Contains(err.Error(), `"uid"`) {
				t.Errorf("snapshot from before AddIndexers: %v, want an error that names the index", err)
			}
			err := h.AddIndexers(map[string]IndexFunc{"more": groupsOf, "uid": keyAndUID})
			if err == nil || !strings.Contains(err.Error(), `"uid"`) {
				t.Errorf("AddIndexers of an existing name: %v", err)
			}
			if _, err := h.Snapshot().IndexKeys("more", "x"); err == nil {
				t.Error("AddIndexers failed but added an index")
			}
		})
	}
}

func TestAddIndexersDuringReplacement(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("1", obj("a/1@1", "x"), obj("b/1@1", "x"), obj("e/1@"))
			h.batches()
			next := h.Begin()
			next.Add(obj("a/1@1", "x").item())
			next.Add(obj("e/1@").with("decode").item())
			if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
				t.Fatal(err)
			}
			next.Add(obj("b/1@1", "x").item())
			next.Add(obj("c/2@2", "x").item())
			next.Commit("2")
			h.expect(t, []string{"add c/2@2"}, "a/1@1", "b/1@1", "c/2@2", "e/1@")
			h.expectFound(t, "uid", "1", "a", "b", "e")
			h.expectFound(t, "uid", "2", "c")
			h.expectFound(t, "group", "x", "a", "b", "c")
		})
	}
}
