// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// distinctMetas counts the sharedMetas that a store's entries refer to.
func (h *harness) distinctMetas() int {
	distinct := map[*sharedMeta]bool{}
	for _, entry := range h.Snapshot().entries.All() {
		distinct[entry.Meta.shared] = true
	}
	return len(distinct)
}

func TestEntriesOfOneNamespaceShareTheirMeta(t *testing.T) {
	h := newHarness()
	var list []*object
	for i := range 1000 {
		list = append(list, obj(fmt.Sprintf("%d/1@1", i), fmt.Sprintf("namespace-%d", i/250)))
	}
	h.relist("1", list...)
	if got := h.distinctMetas(); got != 4 {
		t.Errorf("%d metas after a list of 4 namespaces, want 4", got)
	}
	for i := range 1000 {
		h.apply(watch.Modified, obj(fmt.Sprintf("%d/1@2", i), fmt.Sprintf("namespace-%d", i/250)))
	}
	if got := h.distinctMetas(); got != 4 {
		t.Errorf("%d metas after an update of each object, want 4", got)
	}
	if err := h.AddIndexers(map[string]IndexFunc{"text": func(o any) ([]string, error) { return []string{o.(*object).Text}, nil }}); err != nil {
		t.Fatal(err)
	}
	if got := h.distinctMetas(); got > 5 { // the first entry of a value may have one of its own
		t.Errorf("%d metas after adding an index, want at most 5", got)
	}
}

func TestEntryWithoutIndexHasNoMeta(t *testing.T) {
	h := newHarness(func(c *Config) { c.Indexers = nil })
	h.apply(watch.Added, obj("a/1@1"))
	if entry := h.Snapshot().Entry("a"); entry.shared != nil {
		t.Errorf("the entry has the meta %+v, want nil", entry.shared)
	}
}

// A transform may clear the UID and the version. The entry records those of the item.
func TestIdentityIsThatOfTheItem(t *testing.T) {
	h := newHarness(func(c *Config) {
		c.Identity = func(any) (string, string) { return "", "" }
	})
	h.relist("1", obj("a/1@1"))
	h.apply(watch.Modified, obj("a/1@1"))
	h.apply(watch.Modified, obj("a/1@2"))
	h.relist("3", obj("a/1@2"))
	h.apply(watch.Added, obj("a/2@4"))
	h.expect(t, []string{"add a/1@1 (initial)", "update a/1@1→/1@2", "delete a/1@2, add a/2@4"}, "a/2@4")
}

// An entry's identity does not pass on to the next state of the object.
func TestIdentityIsNotInherited(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		h := newHarness(append(options, func(c *Config) {
			c.Identity = func(value any) (string, string) {
				o := value.(*object)
				if o.Text == "cleared" {
					return "", ""
				}
				return o.UID, o.Version
			}
		})...)
		for i, text := range []string{"cleared", "", "cleared", ""} {
			o := obj(fmt.Sprintf("a/1@%d", i+1), "g")
			o.Text = text
			h.apply(watch.Modified, o)
			if uid, version := identified(h.Snapshot().Entry("a")); uid != "1" || version != o.Version {
				t.Errorf("%s: the entry of %v has the identity %q, %q", name, o, uid, version)
			}
		}
	}
}

// A caller that modifies a cached object, as controller-runtime's Update does with the server's
// response, must not make the store take the event for a stale one.
func TestMutatedCachedObjectHidesNoEvent(t *testing.T) {
	for _, version := range []string{"2", "3", "9", "", "x"} {
		h := newHarness()
		h.relist("1", obj("a/1@1"))
		cached, _ := h.Get("a")
		cached.Version = version
		h.apply(watch.Modified, obj("a/1@2"))
		if got := contents(h.Snapshot()); !slices.Equal(got, []string{"a/1@2"}) || len(h.batches()) != 2 {
			t.Errorf("version set to %q in the cached object: the store holds %q", version, got)
		}
		cached, _ = h.Get("a")
		cached.Version = version
		h.relist("3", obj("a/1@3"))
		if got := contents(h.Snapshot()); !slices.Equal(got, []string{"a/1@3"}) || len(h.batches()) != 1 {
			t.Errorf("version set to %q in the cached object: the store holds %q after a relist", version, got)
		}
	}
}

func TestPutAndRemove(t *testing.T) {
	h := newHarness()
	for _, o := range []*object{obj("a/1@5", "x"), obj("a/1@3", "y"), obj("a/1@3", "z"), obj("a/2@4")} {
		if err := h.Put(o); err != nil {
			t.Fatal(err)
		}
		if got, ok := h.Get("a"); !ok || got != o {
			t.Errorf("Get() = %v, want the object that was put", got)
		}
	}
	h.expectFound(t, "group", "z")
	for range 2 { // removing a missing key is no error
		if err := h.Remove(obj("a")); err != nil {
			t.Fatal(err)
		}
	}
	h.expect(t, []string{"add a/1@5", "update a/1@5→/1@3", "update a/1@3→/1@3", "delete a/1@3, add a/2@4", "delete a/2@4"})
	for _, fault := range []string{"key", "key panic"} {
		if err := h.Put(obj("b").with(fault)); err == nil {
			t.Errorf("Put: no error for a %s", fault)
		}
		if err := h.Remove(obj("b").with(fault)); err == nil {
			t.Errorf("Remove: no error for a %s", fault)
		}
	}
	if h.Quarantined() != 0 {
		t.Error("an error of the caller quarantined a key")
	}
}
