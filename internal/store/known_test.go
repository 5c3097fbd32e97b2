// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// needsIdentity calls Needs as a reflector does, and returns the item without its bytes.
func needsIdentity(t *testing.T, next feed.Replacement, o *object) feed.Item {
	t.Helper()
	item := o.item()
	need, known := next.Needs(item)
	if need != feed.NeedsIdentity || known == nil {
		t.Fatalf("Needs(%v) = %v, %v, want NeedsIdentity and the entry", o, need, known)
	}
	item.Raw, item.Known = nil, known
	return item
}

// The bytes of an item are dropped if the store has its version when it arrives. It is stored all
// the same if the live state has changed when it is added.
func TestKnownItemIsStoredWhateverHappensToTheLiveEntry(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*harness)
		log    []string
	}{
		"nothing":     {func(*harness) {}, nil},
		"deleted":     {func(h *harness) { _ = h.Remove(obj("a/1@1")) }, []string{"add a/1@1"}},
		"updated":     {func(h *harness) { _ = h.Put(obj("a/1@5")) }, []string{"update a/1@5→/1@1"}},
		"replaced":    {func(h *harness) { _ = h.Replace([]any{obj("b/1@1")}, "1") }, []string{"add a/1@1"}},
		"recreated":   {func(h *harness) { _ = h.Put(obj("a/2@5")) }, []string{"delete a/2@5, add a/1@1"}},
		"indexed":     {func(h *harness) { _ = h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}) }, nil},
		"quarantined": {func(h *harness) { h.apply(watch.Modified, obj("a/1@2").with("decode")) }, nil},
	} {
		for mode, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
			t.Run(name+", "+mode, func(t *testing.T) {
				h := newHarness(options...)
				listed := obj("a/1@1", "g")
				listed.Text = "whole"
				h.relist("1", listed, obj("b/1@1"))
				next := h.Begin()
				a, b := needsIdentity(t, next, listed), needsIdentity(t, next, obj("b/1@1"))
				row.change(h)
				h.batches()
				next.Add(a)
				next.Add(b)
				if err := next.Commit("2"); err != nil {
					t.Fatal(err)
				}
				h.expect(t, row.log, "a/1@1", "b/1@1")
				if a, ok := h.Get("a"); !ok || a.Text != "whole" {
					t.Errorf("the store has %+v, want the whole object", a)
				}
				if found, err := h.Snapshot().ByIndex("group", "g"); err != nil || len(found) != 1 {
					t.Errorf("the index has %v, %v, want a", found, err)
				}
				if got := h.Quarantined(); got != 0 {
					t.Errorf("%d quarantined, want 0", got)
				}
			})
		}
	}
}

// An entry that is found unreadable after Needs has returned it stays quarantined, and is replaced
// by the next list.
func TestKnownEntryFoundUnreadableStaysQuarantined(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	next := h.Begin()
	known := needsIdentity(t, next, obj("a/1@1"))
	h.corrupt("a")
	h.Get("a")
	next.Add(known)
	if err := next.Commit("2"); err != nil {
		t.Fatal(err)
	}
	if got := h.Quarantined(); got != 1 {
		t.Errorf("%d quarantined, want 1: the entry is still corrupt", got)
	}
	h.relist("3", obj("a/1@1"))
	h.expect(t, []string{"add a/1@1 (initial)"}, "a/1@1")
}

// Most items of a relist are unchanged. Keeping their entries must not allocate for each.
func TestKnownItemsShareAllocations(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"))
	next, item := h.Begin(), obj("a/1@1").item()
	allocations := testing.AllocsPerRun(100, func() {
		for range 4 * maxKnownChunk {
			if _, known := next.Needs(item); known == nil {
				t.Fatal("the item is not known")
			}
		}
	})
	if allocations > 5 { // as the chunks of all runs have grown
		t.Errorf("%v allocations for %d items, want 5", allocations, 4*maxKnownChunk)
	}
}
