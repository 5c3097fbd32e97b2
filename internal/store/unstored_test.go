// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

func emittingUnstored(c *Config) { c.EmitUnstoredDeletions = true }

// eachUnstoredOption runs test with a store that has the object a/1@1 and emits the deletions of
// objects that were never stored.
func eachUnstoredOption(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	for name, options := range skipOptions {
		t.Run(name, func(t *testing.T) {
			h := newHarness(append([]func(*Config){emittingUnstored}, options...)...)
			h.relist("1", obj("a/1@1"))
			h.batches()
			test(t, h)
		})
	}
}

// TestDeletionOfUnstoredObjectIsLogged deletes an object that was never stored. Its only state is
// the one at deletion. The entries, indexes and snapshots do not change, and no index function is
// called.
func TestDeletionOfUnstoredObjectIsLogged(t *testing.T) {
	eachUnstoredOption(t, func(t *testing.T, h *harness) {
		before := h.Snapshot()
		if got := h.apply(watch.Deleted, obj("b/2@5", "x").with("index")); got != feed.Unchanged {
			t.Errorf("outcome %v, want Unchanged", got)
		}
		batch, _ := h.cursor.TryNext()
		if len(batch) != 1 || batch[0].Key != "b" || batch[0].New != nil || batch[0].Old == nil || batch[0].Old != batch[0].Final {
			t.Fatalf("the log received %+v, want a deletion of b, whose states are the same", batch)
		}
		if o, ok := h.Load("b", batch[0].Final); !ok || o.(*object).String() != "b/2@5" || !slices.Equal(o.(*object).Groups, []string{"x"}) {
			t.Errorf("the final state is %v, %v", o, ok)
		}
		if got := h.ResourceVersion(); got != "5" {
			t.Errorf("resourceVersion %q, want 5", got)
		}
		if after := h.Snapshot(); after.snapshotData != before.snapshotData || after.ResourceVersion() != "5" {
			t.Errorf("another snapshot, or at %q", after.ResourceVersion())
		}
		h.expect(t, nil, "a/1@1")
		h.apply(watch.Added, obj("b/3@6"))
		h.apply(watch.Deleted, obj("b/3@7"))
		h.apply(watch.Deleted, obj("b/3@8"))
		h.expect(t, []string{"add b/3@6", "delete b/3@6→/3@7", "delete b/3@8→/3@8"}, "a/1@1")
		if got := h.reported(); len(got) > 0 {
			t.Errorf("reported %q", got)
		}
	})
}

// TestExplainedDeletionIsNotLogged deletes objects that the store does not hold, for a reason that
// it knows.
func TestExplainedDeletionIsNotLogged(t *testing.T) {
	for name, explain := range map[string]func(h *harness){
		"the same deletion before": func(h *harness) {
			h.apply(watch.Deleted, obj("b/2@5"))
			h.batches()
		},
		"a newer event before":    func(h *harness) { h.apply(watch.Modified, obj("a/1@6")) },
		"a bookmark before":       func(h *harness) { h.AdvanceVersion("5") },
		"deleted by a list":       func(h *harness) { h.relist("5", obj("a/1@1")) },
		"its state failed":        func(h *harness) { h.apply(watch.Added, obj("b/2@4").with("decode")) },
		"its listed state failed": func(h *harness) { h.relist("4", obj("a/1@1"), obj("b/2@3").with("decode")) },
	} {
		t.Run(name, func(t *testing.T) {
			eachUnstoredOption(t, func(t *testing.T, h *harness) {
				explain(h)
				h.batches()
				h.apply(watch.Deleted, obj("b/2@5"))
				if got := h.batches(); got != nil {
					t.Errorf("the log received %q", got)
				}
				h.expectNothingQuarantined(t)
			})
		})
	}
	t.Run("ignored by the transform", func(t *testing.T) {
		eachUnstoredOption(t, func(t *testing.T, h *harness) {
			h.apply(watch.Deleted, obj("b/2@5").with("skip"))
			h.expect(t, nil, "a/1@1")
			if got := h.reported(); len(got) > 0 || h.ResourceVersion() != "5" {
				t.Errorf("reported %q, resourceVersion %s", got, h.ResourceVersion())
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		eachUnstoredOption(t, func(t *testing.T, h *harness) {
			h.Store.config.Filter = func(runtime.Object) bool { return false }
			h.Apply(watch.Modified, filteredItem(obj("b/2@5")))
			h.expect(t, nil, "a/1@1")
			h.Apply(watch.Modified, filteredItem(obj("a/1@6")))
			h.expect(t, []string{"delete a/1@1→/1@6 (left scope)"})
		})
	})
	t.Run("without the option", func(t *testing.T) {
		h := newHarness()
		h.apply(watch.Deleted, obj("b/2@5"))
		h.expect(t, nil)
	})
	t.Run("in a scope", func(t *testing.T) {
		h := newScopedHarness()
		h.Store.config.EmitUnstoredDeletions = true
		h.do(t, "a delete b/2@15")
		h.expect(t, nil)
	})
}

// TestUnstoredDeletionWithoutStateIsReported deletes an object that was never stored, in a state
// that cannot be decoded. There is nothing to deliver, and the key is not quarantined.
func TestUnstoredDeletionWithoutStateIsReported(t *testing.T) {
	eachUnstoredOption(t, func(t *testing.T, h *harness) {
		h.apply(watch.Deleted, obj("b/2@5").with("decode"))
		h.expect(t, nil, "a/1@1")
		if got := h.reported(); !slices.Equal(got, []string{"b: state at deletion: injected failure"}) || h.ResourceVersion() != "5" {
			t.Errorf("reported %q, resourceVersion %s", got, h.ResourceVersion())
		}
		h.expectNothingQuarantined(t)
	})
}

// TestUncountedVersionsExplainNoDeletion deletes objects that were never stored, with versions that
// say nothing about what the collection has reached. Each is logged.
func TestUncountedVersionsExplainNoDeletion(t *testing.T) {
	for version, inOrder := range map[string]bool{"": false, "not a number": false, "3": true, "9": true} {
		eachUnstoredOption(t, func(t *testing.T, h *harness) {
			h.AdvanceVersion("9")
			item := obj("b/2@" + version).item()
			item.InOrder = inOrder
			logged := "delete b/2@" + version + "→/2@" + version
			if inOrder {
				identify("2", "")
				logged = "delete b/2@→/2@"
			}
			for range 2 {
				h.Apply(watch.Deleted, item)
			}
			h.expect(t, []string{logged, logged}, "a/1@1")
			if got := h.ResourceVersion(); inOrder && got != version {
				t.Errorf("resourceVersion %q, want %q", got, version)
			}
		})
	}
}
