// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// storeFaults holds the faults for which an object cannot be stored, and the options they need.
var storeFaults = map[string][]func(*Config){
	"decode":       nil,
	"decode panic": nil,
	"key":          {withoutItemKeys},
	"key panic":    {withoutItemKeys},
	"pack":         {packing},
	"pack panic":   {packing},
}

func TestLastGoodStateRemains(t *testing.T) {
	for fault, options := range storeFaults {
		t.Run(fault, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("1", obj("a/1@1"), obj("b/1@1"))
			h.batches()
			if got := h.apply(watch.Modified, obj("a/1@2").with(fault)); got != feed.Quarantined {
				t.Errorf("outcome %v, want Quarantined", got)
			}
			if got := h.reported(); len(got) != 1 || !strings.HasPrefix(got[0], "a: ") || !strings.Contains(got[0], errInjected.Error()) {
				t.Errorf("reported %q, want one report of a", got)
			}
			h.expect(t, nil, "a/1@1", "b/1@1")
			if got := h.Quarantined(); got != 1 {
				t.Errorf("%d quarantined, want 1", got)
			}
			if got := h.ResourceVersion(); got != "2" {
				t.Errorf("resourceVersion %q, want 2: a bad object must not hold up the collection", got)
			}

			h.relist("3", obj("a/1@2").with(fault), obj("b/1@1"), obj("c/1@3").with(fault))
			h.expect(t, nil, "a/1@1", "b/1@1")
			if got := h.Quarantined(); got != 2 {
				t.Errorf("%d quarantined after a list with two bad objects", got)
			}
			h.relist("4", obj("a/1@2"), obj("b/1@1"))
			h.expect(t, []string{"update a/1@1→/1@2"}, "a/1@2", "b/1@1")
			if got := h.Quarantined(); got != 0 {
				t.Errorf("%d quarantined after a good list", got)
			}
		})
	}
}

func TestQuarantineIsReleased(t *testing.T) {
	for name, release := range map[string]func(*harness){
		"by a good state":                    func(h *harness) { h.apply(watch.Modified, obj("a/1@3")) },
		"by a deletion":                      func(h *harness) { h.apply(watch.Deleted, obj("a/1@3")) },
		"by a list without it":               func(h *harness) { h.relist("3") },
		"by a list with the last good state": func(h *harness) { h.relist("3", obj("a/1@1")) },
		"by the state that failed":           func(h *harness) { h.apply(watch.Modified, obj("a/1@2")) },
	} {
		h := newHarness()
		h.relist("1", obj("a/1@1"))
		h.apply(watch.Modified, obj("a/1@2").with("decode"))
		if release(h); h.Quarantined() != 0 {
			t.Errorf("the key was not released %s", name)
		}
	}
	h := newHarness()
	h.apply(watch.Added, obj("new/1@2").with("decode"))
	if h.apply(watch.Deleted, obj("new/1@3")); h.Quarantined() != 0 {
		t.Error("the key of an object that was never stored was not released by its deletion")
	}
}

// Replaying the last good state does not replace the state that could not be stored.
func TestReplayDoesNotReleaseQuarantine(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"))
	h.apply(watch.Modified, obj("a/1@2").with("decode"))
	h.batches()
	if got := h.apply(watch.Modified, obj("a/1@1")); got != feed.Unchanged {
		t.Errorf("outcome %v for a replayed state, want Unchanged", got)
	}
	h.expect(t, nil, "a/1@1")
	if got := h.Quarantined(); got != 1 {
		t.Errorf("%d quarantined, want 1: version 2 is still missing", got)
	}
}

func TestCorruptPackedEntryIsQuarantined(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1", "g"), obj("b/1@1", "g"))
	h.batches()
	h.corrupt("a")
	if got, ok := h.Get("a"); ok {
		t.Errorf("Get() = %v for corrupt bytes", got)
	}
	if got := h.reported(); len(got) != 1 || !strings.HasPrefix(got[0], "a: decode cached object") {
		t.Errorf("reported %q, want one report of a", got)
	}
	snapshot := h.Snapshot()
	if _, ok := snapshot.Get("a"); ok {
		t.Error("Snapshot().Get() returned a value for corrupt bytes")
	}
	if got := snapshot.List(); len(got) != 1 {
		t.Errorf("List() = %v, want only b", got)
	}
	if got, err := snapshot.ByIndex("group", "g"); err != nil || len(got) != 1 {
		t.Errorf("ByIndex() = %v, %v, want only b", got, err)
	}
	if got := h.reported(); got != nil {
		t.Errorf("reported %q again: reports of each read would flood the log", got)
	}
	if got := h.Quarantined(); got != 1 {
		t.Fatalf("%d quarantined, want 1", got)
	}

	h.relist("2", obj("a/1@1", "g"), obj("b/1@1", "g")) // its version is unchanged
	h.expect(t, nil, "a/1@1", "b/1@1")
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined after the next list", got)
	}
	if got, ok := snapshot.Get("a"); ok {
		t.Errorf("the old snapshot returned %v", got)
	}
	if got := h.Quarantined(); got != 0 {
		t.Errorf("reading an old snapshot quarantined a key whose live entry is good")
	}
}

func TestCorruptEntryIsRepairedByTheSameVersion(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	h.batches()
	h.corrupt("a")
	h.Get("a")
	h.apply(watch.Modified, obj("a/1@1"))
	h.expect(t, nil, "a/1@1") // no event: the state has not changed
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined after it was repaired", got)
	}
}

// A reader may find an entry corrupt after a replacement has already kept it.
func TestCorruptionFoundDuringReplacementStaysQuarantined(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	h.corrupt("a")
	next := h.Begin()
	next.Add(obj("a/1@1").item())
	h.Get("a")
	next.Commit("2")
	if got := h.Quarantined(); got != 1 {
		t.Fatalf("%d quarantined, want 1: the entry is still corrupt", got)
	}
	h.relist("3", obj("a/1@1"))
	h.expect(t, []string{"add a/1@1 (initial)"}, "a/1@1")
}

func TestUnreadableStateOfDeletedObjectIsNotQuarantined(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	old := h.Snapshot()
	h.corrupt("a")
	h.apply(watch.Deleted, obj("a/1@2"))
	if _, ok := old.Get("a"); ok {
		t.Error("Get() returned a value for corrupt bytes")
	}
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined, want 0: the object is deleted", got)
	}
	if got := h.reported(); len(got) != 1 {
		t.Errorf("reported %q, want one report", got)
	}
}

// TestListReleasesItsKeysAtItsVersion waits for the version of a list that has good states of keys
// whose states before could not be stored.
func TestListReleasesItsKeysAtItsVersion(t *testing.T) {
	const keys = 5000
	h := newHarness()
	states := func(version, fault string) (all []*object) {
		for i := range keys {
			all = append(all, obj(fmt.Sprintf("k%d/1@%s", i, version)).with(fault))
		}
		return all
	}
	h.relist("1", states("1", "decode")...)
	reached, cancel := h.Await(nil, "2")
	defer cancel()
	failed := make(chan int)
	go func() {
		<-reached
		n, _ := h.QuarantineSize()
		failed <- n
	}()
	h.relist("2", states("2", "")...)
	if n := <-failed; n != 0 {
		t.Errorf("%d keys have failed at the version of the list", n)
	}
}
