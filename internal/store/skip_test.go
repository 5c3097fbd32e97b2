// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// skipOptions are the options that decide when a state is decoded, and so found to be skipped.
var skipOptions = map[string][]func(*Config){
	"live":         nil,
	"packed":       {packing},
	"transforming": {transforming},
	"both":         {packing, transforming},
}

// eachSkipOption runs test with a store that has the object a/1@1.
func eachSkipOption(t *testing.T, test func(t *testing.T, h *harness)) {
	t.Helper()
	for name, options := range skipOptions {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("1", obj("a/1@1"))
			h.batches()
			test(t, h)
			if got := h.reported(); len(got) > 0 {
				t.Errorf("reported %q", got)
			}
		})
	}
}

// expectNothingQuarantined checks that no key is quarantined.
func (h *harness) expectNothingQuarantined(t *testing.T) {
	t.Helper()
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined", got)
	}
}

func TestSkippedStateChangesNothing(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		for _, event := range []struct {
			eventType watch.EventType
			state     *object
		}{
			{watch.Modified, obj("a/1@2")},
			{watch.Added, obj("b/b@3")},
			{watch.Modified, obj("b/b@4")},
			{watch.Deleted, obj("b/b@5")},
			{watch.Deleted, obj("c@5")},
		} {
			if got := h.apply(event.eventType, event.state.with("skip")); got != feed.Unchanged {
				t.Errorf("%s of %s: outcome %v, want Unchanged", event.eventType, event.state, got)
			}
		}
		if got := h.ResourceVersion(); got != "5" {
			t.Errorf("resourceVersion %q, want 5", got)
		}
		h.expectNothingQuarantined(t)
		h.expect(t, nil, "a/1@1")
		h.relist("6", obj("a/1@2").with("skip"), obj("b/b@4").with("skip"))
		h.expectNothingQuarantined(t)
		h.expect(t, nil, "a/1@1")
		h.relist("8", obj("a/1@7"), obj("b/b@8"))
		h.expect(t, []string{"update a/1@1→/1@7, add b/b@8"}, "a/1@7", "b/b@8")
	})
}

func TestSkippedDeletionHasTheLastStoredState(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		h.apply(watch.Modified, obj("a/1@2").with("skip"))
		if got := h.apply(watch.Deleted, obj("a/1@3").with("skip")); got != feed.Applied {
			t.Errorf("outcome %v, want Applied", got)
		}
		h.expect(t, []string{"delete a/1@1"})
	})
}

// TestSkippedStateOfARecreatedObject skips the first state of an object with another UID, in an
// event and in a list. The object that is stored under its key was deleted.
func TestSkippedStateOfARecreatedObject(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		h.apply(watch.Added, obj("a/2@2").with("skip"))
		h.expect(t, []string{"delete a/1@1"})
		h.relist("3", obj("a/2@3"))
		h.batches()
		h.relist("4", obj("a/4@4").with("skip"))
		h.expect(t, []string{"delete a/2@3"})
	})
}

// TestSkippedStateEndsQuarantine skips a state of an object whose last state could not be stored:
// another list would not help.
func TestSkippedStateEndsQuarantine(t *testing.T) {
	for name, skip := range map[string]func(h *harness){
		"event":            func(h *harness) { h.apply(watch.Modified, obj("a/1@3").with("skip")) },
		"list":             func(h *harness) { h.relist("3", obj("a/1@3").with("skip")) },
		"list, both twice": func(h *harness) { h.relist("3", obj("a/1@3").with("skip"), obj("a/1@2").with("decode")) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, stored := range []bool{true, false} {
				h := newHarness()
				var want []string
				if stored {
					h.relist("1", obj("a/1@1"))
					want = []string{"a/1@1"}
				}
				h.apply(watch.Modified, obj("a/1@2").with("decode"))
				h.batches()
				skip(h)
				h.expectNothingQuarantined(t)
				if err := h.KeyError("a"); err != nil {
					t.Errorf("KeyError: %v", err)
				}
				h.expect(t, nil, want...)
			}
		})
	}
	t.Run("newer state in the list", func(t *testing.T) {
		h := newHarness()
		h.relist("3", obj("a/1@3").with("decode"), obj("a/1@2").with("skip"))
		if got := h.Quarantined(); got != 1 {
			t.Errorf("%d quarantined, want the newer state", got)
		}
	})
}

// TestSkippedStateKeepsUnreadableEntry skips a state of an object whose stored bytes cannot be
// read.
func TestSkippedStateKeepsUnreadableEntry(t *testing.T) {
	for name, skip := range map[string]func(h *harness){
		"event": func(h *harness) { h.apply(watch.Modified, obj("a/1@3").with("skip")) },
		"list":  func(h *harness) { h.relist("3", obj("a/1@3").with("skip")) },
	} {
		h := newHarness(packing)
		h.relist("1", obj("a/1@1"))
		h.corrupt("a")
		h.Get("a")
		if skip(h); h.KeyError("a") == nil {
			t.Errorf("%s: the entry is still unreadable, and its key is not quarantined", name)
		}
	}
}

// TestSkippedStatesOfAnInitialState sends a WatchList with skipped states.
func TestSkippedStatesOfAnInitialState(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		next := h.Begin()
		next.Add(obj("a/1@2").with("skip").item())
		next.Remove(obj("a/1@3").with("skip").item())
		next.Add(obj("b/b@1").item())
		next.Update(obj("b/b@4").with("skip").item())
		next.Add(obj("c/c@1").with("skip").item())
		next.Update(obj("c/c@5").item())
		next.Add(obj("d/d@1").item())
		next.Update(obj("d/d@6").with("skip").item())
		next.Remove(obj("d/d@7").with("skip").item())
		next.Commit("7")
		h.expectNothingQuarantined(t)
		h.expect(t, []string{"delete a/1@1, add b/b@1, add c/c@5"}, "b/b@1", "c/c@5")
	})
}

// TestSkippedStateAfterRestore skips a state while contents are compared.
func TestSkippedStateAfterRestore(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		next := h.Begin()
		next.CompareContents(true)
		next.Add(obj("a/1@1").with("skip").item())
		next.Commit("1")
		h.expectNothingQuarantined(t)
		h.expect(t, nil, "a/1@1")
	})
}

// TestSkippedStateAfterRestoreIsReplaced restores the server from a backup, after which the state
// of an object is skipped. The store keeps a state of a later version, which the server has lost,
// and accepts the states that follow.
func TestSkippedStateAfterRestoreIsReplaced(t *testing.T) {
	for name, skip := range map[string]func(h *harness){
		"list": func(h *harness) { h.restore("50", obj("a/1@50").with("skip")) },
		"event after a failed state": func(h *harness) {
			h.restore("50", obj("a/1@50").with("decode"))
			h.apply(watch.Modified, obj("a/1@55").with("skip"))
		},
		"list after a failed state": func(h *harness) {
			h.restore("50", obj("a/1@50").with("decode"))
			h.relist("55", obj("a/1@55").with("skip"))
		},
	} {
		for option, options := range skipOptions {
			t.Run(name+", "+option, func(t *testing.T) {
				h := newHarness(options...)
				identify("1", "") // of the state that is kept
				h.relist("100", obj("a/1@100", "x"))
				before := h.Snapshot()
				h.batches()
				skip(h)
				h.expectNothingQuarantined(t)
				h.expect(t, nil, "a/1@100")
				if got := h.apply(watch.Modified, obj("a/1@60", "y")); got != feed.Applied {
					t.Errorf("outcome %v, want Applied", got)
				}
				if got := contents(before); !slices.Equal(got, []string{"a/1@100"}) {
					t.Errorf("the snapshot has %q", got)
				}
				h.expect(t, []string{"update a/1@→/1@60"}, "a/1@60")
			})
		}
	}
}

// TestSkippedStateOfARenamedObject skips states of objects that the transform renames, each to the
// own key of the next one. They keep their states, and so does the one under their own key.
func TestSkippedStateOfARenamedObject(t *testing.T) {
	for name, options := range skipOptions {
		t.Run(name, func(t *testing.T) {
			keys := map[string]string{"a": "b", "b": "c", "c": "d"}
			h := newHarness(append(options, func(c *Config) {
				c.ItemKeys, c.Key = false, func(o any) (string, error) { return keys[o.(*object).Key], nil }
			})...)
			h.relist("3", obj("a/1@1"), obj("b/2@2"), obj("c/3@3"))
			h.batches()
			h.apply(watch.Modified, obj("b/2@4").with("skip"))
			h.apply(watch.Modified, obj("c/3@5").with("skip"))
			h.relist("6", obj("a/1@1"), obj("b/2@6").with("skip"), obj("c/3@5").with("skip"))
			h.expect(t, nil, "a/1@1", "b/2@2", "c/3@3")
			h.apply(watch.Deleted, obj("b/2@7").with("skip"))
			h.expect(t, []string{"delete c/2@2"}, "a/1@1", "c/3@3")
		})
	}
}

// TestDeletionOfAnAbsentObjectIsNotDecoded deletes objects that the store does not have, as those
// that a filter refuses or a transform always ignores.
func TestDeletionOfAnAbsentObjectIsNotDecoded(t *testing.T) {
	eachSkipOption(t, func(t *testing.T, h *harness) {
		before := h.decodes.Load()
		if got := h.apply(watch.Deleted, obj("b/2@2")); got != feed.Unchanged {
			t.Errorf("outcome %v, want Unchanged", got)
		}
		if got := h.decodes.Load() - before; got != 0 {
			t.Errorf("%d decoded", got)
		}
		h.expect(t, nil, "a/1@1")
	})
}

// restore stores a list as a reflector does after the server has regressed.
func (h *harness) restore(version string, objects ...*object) {
	next := h.Begin()
	next.CompareContents(true)
	for _, o := range objects {
		next.Add(o.item())
	}
	next.Commit(version)
}

// TestObjectOfTwoNamesHasOneEntry stores an object under two names: the transform renamed one of
// its states, and not the other. A list in which its newest state fails keeps that of its own name.
func TestObjectOfTwoNamesHasOneEntry(t *testing.T) {
	renamed := true
	h := newHarness(func(c *Config) {
		c.ItemKeys, c.Key = false, func(o any) (string, error) {
			if renamed {
				return "renamed", nil
			}
			return o.(*object).Key, nil
		}
	})
	h.relist("10", obj("a/1@9"))
	renamed = false
	h.Put(obj("a/1@8"))
	h.batches()
	h.relist("12", obj("a/1@11").with("decode"))
	h.expect(t, []string{"delete renamed/1@9"}, "a/1@8")
}
