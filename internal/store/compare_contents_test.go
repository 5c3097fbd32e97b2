// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// relistComparingContents is relist from a server that has gone back in time.
func (h *harness) relistComparingContents(t *testing.T, version string, objects ...*object) {
	t.Helper()
	next := h.Begin()
	next.CompareContents(true)
	for _, o := range objects {
		if need, known := next.Needs(o.item()); need == feed.NeedsIdentity || known != nil {
			t.Errorf("Needs(%v) = NeedsIdentity", o)
		}
		next.Add(o.item())
	}
	if err := next.Commit(version); err != nil {
		t.Error(err)
	}
}

// After CompareContents, an equal object keeps its entry, and a different one is an update,
// whatever its version.
func TestCompareContentsIgnoresVersions(t *testing.T) {
	for name, option := range map[string]func(*Config){"live": func(*Config) {}, "packed": packing, "without item keys": withoutItemKeys} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(option)
			h.relist("10", obj("a/1@1", "x"), obj("b/1@2"), obj("c/1@3"))
			h.batches()
			kept := h.entries.Get("a")
			changed := obj("b/1@2")
			changed.Text = "other"
			h.relistComparingContents(t, "5", obj("a/1@1", "x"), changed, obj("c/1@3"))
			h.expect(t, []string{"update b/1@2→/1@2"}, "a/1@1", "b/1@2", "c/1@3")
			if h.entries.Get("a") != kept {
				t.Error("the entry of an equal object was replaced")
			}
			if b, _ := h.Get("b"); b.Text != "other" {
				t.Errorf("b has the text %q, want %q", b.Text, "other")
			}
		})
	}
}

// An index that is added between Begin and Commit changes every entry, but no object.
func TestAddIndexersDuringReplacementEmitsNoUpdates(t *testing.T) {
	h := newHarness()
	h.relist("10", obj("a/1@1"), obj("b/1@2"))
	h.batches()
	next := h.Begin()
	next.CompareContents(true)
	next.Add(obj("a/1@1").item())
	next.Add(obj("b/1@2").item())
	if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
		t.Fatal(err)
	}
	if err := next.Commit("5"); err != nil {
		t.Fatal(err)
	}
	h.expect(t, nil, "a/1@1", "b/1@2")
}

// An object whose state after a restore cannot be stored keeps the state from before the restore,
// which has a higher version. Later states are not stale.
func TestStateFromBeforeRestoreDoesNotMakeLaterStatesStale(t *testing.T) {
	h := newHarness()
	h.relist("60", obj("a/1@57"))
	h.batches()
	h.relistComparingContents(t, "5", obj("a/1@4").with("decode"))
	h.expect(t, nil, "a/1@57")
	if outcome := h.apply(watch.Modified, obj("a/1@6")); outcome != feed.Applied {
		t.Errorf("outcome %v of the update after the restore, want Applied", outcome)
	}
	h.expect(t, []string{"update a/1@57→/1@6"}, "a/1@6")
	if n := h.Quarantined(); n != 0 {
		t.Errorf("%d keys quarantined, want 0", n)
	}
}
