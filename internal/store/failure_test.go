// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// expectNotStored checks that the object under a key is not taken for deleted.
func (h *harness) expectNotStored(t *testing.T, key string) {
	t.Helper()
	if o, found, err := h.Find(key); found || !errors.Is(err, ErrNotStored) {
		t.Errorf("Find(%q) = %v, %v, %v, want ErrNotStored", key, o, found, err)
	}
}

// The state of a deleted object is not the last good state of another one under the same key.
func TestRecreatedObjectThatCannotBeStoredReplacesTheDeletedOne(t *testing.T) {
	for name, recreate := range map[string]func(h *harness, o *object){
		"list":  func(h *harness, o *object) { h.relist("5", o) },
		"watch": func(h *harness, o *object) { h.apply(watch.Added, o) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness()
			h.relist("1", obj("a/u1@1"))
			h.batches()
			recreate(h, obj("a/u2@5").with("decode"))
			h.expect(t, []string{"delete a/u1@1"})
			h.expectNotStored(t, "a")
		})
	}
}

// A deletion of an earlier state, sent again, does not hide that a later one could not be stored.
func TestReplayedDeletionKeepsQuarantine(t *testing.T) {
	h := newHarness()
	h.relist("1")
	h.apply(watch.Added, obj("a/u2@20").with("decode"))
	if outcome := h.apply(watch.Deleted, obj("a/u1@15")); outcome != feed.Stale {
		t.Errorf("outcome %v, want Stale", outcome)
	}
	h.expectNotStored(t, "a")
	h.apply(watch.Deleted, obj("a/u2@25"))
	if _, found, err := h.Find("a"); found || err != nil {
		t.Errorf("after the deletion: %v, %v, want neither", found, err)
	}
}

// Only a state of the server ends a quarantine.
func TestWriteOfTheProgramKeepsQuarantine(t *testing.T) {
	for name, write := range map[string]func(h *harness) error{
		"Put":     func(h *harness) error { return h.Put(obj("a/u@1")) },
		"Remove":  func(h *harness) error { return h.Remove(obj("a/u@1")) },
		"Replace": func(h *harness) error { return h.Replace([]any{obj("b/u@1")}, "7") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness()
			h.relist("1", obj("b/u@1"), obj("a/u@1"))
			h.apply(watch.Modified, obj("a/u@5").with("decode"))
			if err := write(h); err != nil {
				t.Fatal(err)
			}
			if h.KeyError("a") == nil || h.Quarantined() != 1 {
				t.Errorf("%d quarantined, want a", h.Quarantined())
			}
			h.apply(watch.Modified, obj("a/u@6"))
			if err := h.KeyError("a"); err != nil {
				t.Errorf("after a good state: %v", err)
			}
		})
	}
}

// A list whose state of a renamed object cannot be stored keeps that object's last good state.
func TestRenamedObjectThatFailsInAListKeepsItsState(t *testing.T) {
	h := newHarness(transforming)
	list := func(version string, o *object) {
		item := o.item()
		item.Key = "own"
		next := h.Begin()
		next.Add(item)
		if err := next.Commit(version); err != nil {
			t.Fatal(err)
		}
	}
	list("1", obj("x/u@1"))
	list("2", obj("x/u@2").with("decode"))
	h.expect(t, []string{"add x/u@1 (initial)"}, "x/u@1")
}

// An older deletion does not release the failure of a newer state, also where transforms rename.
func TestOlderDeletionKeepsAFailure(t *testing.T) {
	h := newHarness(transforming)
	named := func(o *object) feed.Item { // which the transform renames
		item := o.item()
		item.Key = "own"
		return item
	}
	other := obj("x/9@5").item()
	other.Key = "another"
	h.Apply(watch.Added, other)
	h.Apply(watch.Added, named(obj("k/1@30").with("decode")))
	h.Apply(watch.Deleted, named(obj("k/1@20")))
	if h.KeyError("own") == nil {
		t.Error("the key has no error")
	}
}

// The key of an object determines its scope, so that a transform must not rename it.
func TestRenamedObjectFailsInAStoreWithScopes(t *testing.T) {
	renamed := obj("x/u@2").item()
	renamed.Key = "own"
	for name, store := range map[string]func(f *Feed) error{
		"event": func(f *Feed) error {
			_ = f.Begin().Commit("1")
			f.Apply(watch.Added, renamed)
			return nil
		},
		"list": func(f *Feed) error {
			list := f.Begin()
			list.Add(renamed)
			return list.Commit("2")
		},
	} {
		h := newHarness(scoped, transforming)
		if err := store(h.feedOfAll()); err != nil {
			t.Fatal(err)
		}
		if err := h.KeyError("own"); !errors.Is(err, errRenamed) || h.Len() != 0 {
			t.Errorf("%s: the store has %d objects, error %v", name, h.Len(), err)
		}
	}
}

// TestFailureIsVisibleWithItsVersion reads the version of the collection and the error of a key
// while states fail to be stored, of one object or of one that replaces it.
func TestFailureIsVisibleWithItsVersion(t *testing.T) {
	for _, uid := range []string{"1", "2"} {
		h := newHarness()
		h.relist("1", obj("a/1@1"))
		var done atomic.Bool
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() {
			defer done.Store(true)
			for version := 2; version < 10000; version += 2 {
				h.apply(watch.Modified, obj(fmt.Sprintf("a/%s@%d", uid, version)).with("decode"))
				h.apply(watch.Modified, obj(fmt.Sprintf("a/1@%d", version+1)))
			}
		})
		for !done.Load() {
			before := h.ResourceVersion()
			version, err := strconv.Atoi(before)
			if keyErr := h.KeyError("a"); err != nil || version%2 == 0 && keyErr == nil && h.ResourceVersion() == before {
				t.Fatalf("at version %s: no error of a state that could not be stored, %v", before, err)
			}
		}
	}
}

// A list, or the initial events of a WatchList, has the stored state of an object, and a later one
// that cannot be stored: the key is quarantined, although the entry is as it was.
func TestLaterStateOfAnUnchangedObjectFails(t *testing.T) {
	stored, later := obj("a/1@5"), obj("a/1@7").with("decode")
	for name, add := range map[string]func(r feed.Replacement){
		"list":           func(r feed.Replacement) { r.Add(stored.item()); r.Add(later.item()) },
		"initial events": func(r feed.Replacement) { r.Add(stored.item()); r.Update(later.item()) },
		"later first":    func(r feed.Replacement) { r.Add(later.item()); r.Add(stored.item()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness()
			h.relist("5", obj("a/1@5"), obj("b/1@5"))
			h.batches()
			list := h.Begin()
			add(list)
			list.Add(obj("b/1@5").item())
			if err := list.Commit("8"); err != nil {
				t.Fatal(err)
			}
			h.expect(t, nil, "a/1@5", "b/1@5")
			if h.Quarantined() != 1 || h.KeyError("a") == nil {
				t.Errorf("%d quarantined, a: %v", h.Quarantined(), h.KeyError("a"))
			}
		})
	}
}
