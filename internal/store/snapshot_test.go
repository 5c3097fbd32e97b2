// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/watch"
)

func TestSnapshotIsImmutable(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1", "x"), obj("b/1@1", "x"))
	old := h.Snapshot()
	h.apply(watch.Modified, obj("a/1@2", "y"))
	h.apply(watch.Deleted, obj("b/1@3"))
	h.apply(watch.Added, obj("c/1@4", "x"))
	h.relist("5", obj("d/1@5"))
	if got := contents(old); !slices.Equal(got, []string{"a/1@1", "b/1@1"}) {
		t.Errorf("the old snapshot has %q", got)
	}
	keys, err := old.IndexKeys("group", "x")
	if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("the old snapshot's index has %q, %v", keys, err)
	}
	if old.Len() != 2 || old.ResourceVersion() != "1" {
		t.Errorf("the old snapshot has %d entries at resourceVersion %q", old.Len(), old.ResourceVersion())
	}
}

func TestSnapshotIsSharedUntilNextChange(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"))
	first := h.Snapshot()
	h.apply(watch.Modified, obj("a/1@1"))
	h.AdvanceVersion("1")
	if h.Snapshot() != first {
		t.Error("a new snapshot, though nothing has changed")
	}
	h.apply(watch.Modified, obj("a/1@2"))
	if h.Snapshot() == first {
		t.Error("the same snapshot after a change")
	}
}

// A bookmark changes only the version. The next write must not copy a page for it, nor the next
// reader sort the keys.
func TestAdvanceVersionSharesSnapshotData(t *testing.T) {
	h := newHarness()
	for i := range 100 {
		h.apply(watch.Added, obj(fmt.Sprintf("k%02d/1@1", i)))
	}
	first := h.Snapshot()
	sorted := first.sortedKeys()
	h.AdvanceVersion("2")
	second := h.Snapshot()
	if first.ResourceVersion() != "1" || second.ResourceVersion() != "2" {
		t.Errorf("snapshots at %q and %q, want 1 and 2", first.ResourceVersion(), second.ResourceVersion())
	}
	if first.snapshotData != second.snapshotData {
		t.Error("the second snapshot has snapshotData of its own")
	}
	if unsafe.SliceData(sorted) != unsafe.SliceData(second.sortedKeys()) {
		t.Error("the keys were sorted again")
	}
}

func TestAllIteratesInKeyOrderAndStops(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("c/1@1"), obj("a/1@1"), obj("b/1@1"))
	var keys []string
	for key, o := range h.Snapshot().All() {
		if keys = append(keys, key); o.(*object).Key == "b" {
			break
		}
	}
	if !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("iterated over %q, want a and b", keys)
	}
}

func TestEmptySnapshot(t *testing.T) {
	snapshot := newHarness().Snapshot()
	if got, ok := snapshot.Get("a"); ok || got != nil {
		t.Errorf("Get() = %v, %v", got, ok)
	}
	if snapshot.Len() != 0 || len(snapshot.List()) != 0 || len(snapshot.Keys()) != 0 || snapshot.ResourceVersion() != "" {
		t.Error("an empty store is not empty")
	}
	for _, err := range []error{
		second(snapshot.ByIndex("none", "x")), second(snapshot.IndexKeys("none", "x")), second(snapshot.IndexValues("none")),
	} {
		if err == nil {
			t.Error("no error for a missing index")
		}
	}
	if got, err := snapshot.ByIndex("group", "x"); err != nil || len(got) != 0 {
		t.Errorf("ByIndex() = %v, %v", got, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCursorStartsAfterSnapshot(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"))
	snapshot, cursor := h.SnapshotAndCursor()
	h.apply(watch.Added, obj("b/1@2"))
	if got := contents(snapshot); !slices.Equal(got, []string{"a/1@1"}) {
		t.Errorf("the snapshot has %q", got)
	}
	batch, ok := cursor.TryNext()
	if !ok || len(batch) != 1 || batch[0].Key != "b" {
		t.Errorf("the cursor's first batch is %v, want b", batch)
	}
	if _, ok := cursor.TryNext(); ok {
		t.Error("the cursor has more than one batch")
	}
}
