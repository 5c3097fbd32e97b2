// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

func TestQuarantineRemembersTheCause(t *testing.T) {
	for name, store := range map[string]func(*harness){
		"by an event": func(h *harness) { h.apply(watch.Modified, obj("a/1@2").with("decode")) },
		"by a list":   func(h *harness) { h.relist("2", obj("a/1@2").with("decode"), obj("b/1@1")) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness()
			h.relist("1", obj("a/1@1"), obj("b/1@1"))
			store(h)
			err := h.KeyError("a")
			if !errors.Is(err, ErrNotStored) || !errors.Is(err, errInjected) {
				t.Errorf("KeyError(a) = %v, want ErrNotStored and the cause", err)
			}
			if err := h.KeyError("b"); err != nil {
				t.Errorf("KeyError(b) = %v for a good object", err)
			}
			h.apply(watch.Modified, obj("a/1@3"))
			if err := h.KeyError("a"); err != nil {
				t.Errorf("KeyError(a) = %v after a good state", err)
			}
		})
	}
}

func TestQuarantineRemembersThatAnEntryIsUnreadable(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	h.corrupt("a")
	h.Get("a")
	if err := h.KeyError("a"); !errors.Is(err, ErrNotStored) || !strings.Contains(err.Error(), "decode cached object") {
		t.Errorf("KeyError(a) = %v, want ErrNotStored and the cause", err)
	}
}

func TestQuarantinedKeysAreTheFirstInOrder(t *testing.T) {
	h := newHarness()
	for _, key := range []string{"c", "a", "d", "b"} {
		h.apply(watch.Added, obj(key+"/1@1").with("decode"))
	}
	for limit, want := range map[int][]string{0: {}, 2: {"a", "b"}, 9: {"a", "b", "c", "d"}} {
		keys := []string{}
		for _, failed := range h.QuarantinedKeys(limit) {
			keys = append(keys, failed.Key)
			if !errors.Is(failed.Err, ErrNotStored) || !errors.Is(failed.Err, errInjected) {
				t.Errorf("the error of %q is %v, want ErrNotStored and the cause", failed.Key, failed.Err)
			}
		}
		if !slices.Equal(keys, want) {
			t.Errorf("QuarantinedKeys(%d) = %q, want %q", limit, keys, want)
		}
	}
}

func TestObjectsWithoutKeyAreCountedApart(t *testing.T) {
	unnamed := func() feed.Item {
		item := obj("@2").with("decode").item()
		if item.Key != "" {
			t.Fatal("the item has a key")
		}
		return item
	}
	check := func(h *harness, wantKeys, wantUnnamed int) {
		t.Helper()
		if keys, n := h.QuarantineSize(); keys != wantKeys || n != wantUnnamed {
			t.Errorf("%d keys quarantined and %d objects without a key, want %d and %d", keys, n, wantKeys, wantUnnamed)
		}
		if got := h.Quarantined(); got != wantKeys+wantUnnamed {
			t.Errorf("Quarantined() = %d, want %d", got, wantKeys+wantUnnamed)
		}
		if err := h.KeyError(""); err != nil {
			t.Errorf(`KeyError("") = %v`, err)
		}
	}
	h := newHarness()
	h.relist("1", obj("a/1@1"))
	for _, eventType := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
		if got := h.Apply(eventType, unnamed()); got != feed.Quarantined {
			t.Errorf("outcome %v of a %s event without a key, want Quarantined", got, eventType)
		}
	}
	if got := h.reported(); len(got) != 3 || !strings.HasPrefix(got[0], ": ") {
		t.Errorf("reported %q, want three objects without a key", got)
	}
	h.apply(watch.Modified, obj("a/1@3").with("decode"))
	check(h, 1, 3)

	next := h.Begin()
	next.Add(unnamed())
	next.Add(obj("a/1@3").item())
	check(h, 1, 3)
	next.Commit("4")
	check(h, 0, 1)
	h.relist("5", obj("a/1@3"))
	check(h, 0, 0)
	if got := contents(h.Snapshot()); !slices.Equal(got, []string{"a/1@3"}) {
		t.Errorf("the store has %q, want a", got)
	}
}

// An object without a key that can be decoded is not stored under an empty key.
func TestObjectWithEmptyNameIsNotStored(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("/1@1"), obj("a/1@1"))
	if keys, unnamed := h.QuarantineSize(); keys != 0 || unnamed != 1 || h.Len() != 1 {
		t.Errorf("%d keys quarantined, %d without a key, %d stored, want 0, 1 and 1", keys, unnamed, h.Len())
	}
}

// Only a list says which objects without a key there are. A write of the program does not.
func TestReplaceKeepsTheCountOfObjectsWithoutKey(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("@1").with("decode"))
	if err := h.Replace([]any{obj("a/1@1")}, "2"); err != nil {
		t.Fatal(err)
	}
	if _, unnamed := h.QuarantineSize(); unnamed != 1 {
		t.Errorf("%d objects without a key after Replace, want 1", unnamed)
	}
}
