// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// unpackable returns an object that jsonPacker does not support.
func unpackable(id string, groups ...string) *object { return obj(id, groups...).with("unpackable") }

// TestUnsupportedValueIsKeptUnpacked stores values that the packer does not support beside others,
// by a list, an event and a write of the program. A key may change between both.
func TestUnsupportedValueIsKeptUnpacked(t *testing.T) {
	h := newHarness(packing)
	h.relist("2", obj("a/1@1", "x"), unpackable("b/2@2", "x"))
	h.expect(t, []string{"add a/1@1 (initial), add b/2@2 (initial)"}, "a/1@1", "b/2@2")
	kept, _ := h.Get("b")
	runtime.GC()
	if again, ok := h.Get("b"); !ok || again != kept || again.Fault != "unpackable" {
		t.Errorf("Get(b) = %v, %v, want the stored object", again, ok)
	}
	h.apply(watch.Modified, unpackable("a/1@3", "x", "y"))
	h.apply(watch.Modified, obj("b/2@4", "y"))
	h.expect(t, []string{"update a/1@1→/1@3", "update b/2@2→/2@4"}, "a/1@3", "b/2@4")
	for group, want := range map[string]string{"x": "a/1@3", "y": "a/1@3 b/2@4"} {
		found, err := h.Snapshot().ByIndex("group", group)
		var ids []string
		for _, o := range found {
			ids = append(ids, o.(*object).String())
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("the index has %q under %s, %v, want %q", got, group, err, want)
		}
	}
	if err := h.Put(unpackable("b/2@5")); err != nil {
		t.Error(err)
	}
	h.apply(watch.Deleted, unpackable("a/1@6"))
	h.expect(t, []string{"update b/2@4→/2@5", "delete a/1@3→/1@6"}, "b/2@5")
	h.relist("7", unpackable("b/2@5"))
	h.expect(t, nil, "b/2@5")
	if got := h.reported(); len(got) != 1 || !strings.HasPrefix(got[0], "b: objects of this type cannot be packed") {
		t.Errorf("reported %q, want one report", got)
	}
	if h.Quarantined() != 0 {
		t.Errorf("%d quarantined", h.Quarantined())
	}
}

// TestUnpackedValuesAreCompared relists after a restore of the server, when contents are compared.
func TestUnpackedValuesAreCompared(t *testing.T) {
	for name, test := range map[string]struct {
		before, after *object
		events        []string
	}{
		"equal":           {unpackable("a/1@1"), unpackable("a/1@1"), nil},
		"different":       {unpackable("a/1@1"), unpackable("a/1@1", "x"), []string{"update a/1@1→/1@1"}},
		"packed before":   {obj("a/1@1"), unpackable("a/1@1"), []string{"update a/1@1→/1@1"}},
		"unpacked before": {unpackable("a/1@1"), obj("a/1@1"), []string{"update a/1@1→/1@1"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(packing)
			h.relist("1", test.before)
			h.batches()
			next := h.Begin()
			next.CompareContents(true)
			next.Add(test.after.item())
			next.Commit("1")
			h.expect(t, test.events, "a/1@1")
		})
	}
}
