package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// relistDistrusting is relist from a server that has gone back in time.
func (h *harness) relistComparingContents(t *testing.T, version string, objects ...*object) {
	t.Helper()
	next := h.Begin()
	next.CompareContents()
	for _, o := range objects {
		if need := next.Needs(o.item()); need == feed.NeedsIdentity {
			t.Errorf("of %v nothing but the identity is needed", o)
		}
		next.Add(o.item())
	}
	if err := next.Commit(version); err != nil {
		t.Error(err)
	}
}

// What is equal is kept, as it is in memory; what is not is an update, whatever its
// version says.
func TestDistrustComparesContent(t *testing.T) {
	for name, option := range map[string]func(*Config[*object]){"live": func(*Config[*object]) {}, "packed": packing, "of unknown keys": withoutItemKeys} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(option)
			h.relist("10", obj("a/1@1", "x"), obj("b/1@2"), obj("c/1@3"))
			h.batches()
			kept := h.entries.Get("a")
			changed := obj("b/1@2")
			changed.Text = "another"
			h.relistComparingContents(t, "5", obj("a/1@1", "x"), changed, obj("c/1@3"))
			h.expect(t, []string{"update b/1@2→/1@2"}, "a/1@1", "b/1@2", "c/1@3")
			if h.entries.Get("a") != kept {
				t.Error("an equal object was not kept")
			}
			if b, _ := h.Get("b"); b.Text != "another" {
				t.Errorf("b is %q", b.Text)
			}
		})
	}
}

// An index that is added between a list and its end changes every entry, and no object.
func TestDistrustTellsNothingOfAnIndexAdded(t *testing.T) {
	h := newHarness()
	h.relist("10", obj("a/1@1"), obj("b/1@2"))
	h.batches()
	next := h.Begin()
	next.CompareContents()
	next.Add(obj("a/1@1").item())
	next.Add(obj("b/1@2").item())
	if err := h.AddIndexers(map[string]IndexFunc[*object]{"uid": keyAndUID}); err != nil {
		t.Fatal(err)
	}
	if err := next.Commit("5"); err != nil {
		t.Fatal(err)
	}
	h.expect(t, nil, "a/1@1", "b/1@2")
}

// An object whose state of after the restore cannot be stored keeps the one of before,
// which has a higher version. That does not make what follows stale.
func TestStateFromBeforeARestoreDoesNotKeepOutLaterOnes(t *testing.T) {
	h := newHarness()
	h.relist("60", obj("a/1@57"))
	h.batches()
	h.relistComparingContents(t, "5", obj("a/1@4").with("decode"))
	h.expect(t, nil, "a/1@57")
	if outcome := h.apply(watch.Modified, obj("a/1@6")); outcome != feed.Applied {
		t.Errorf("the update after the restore: %v, want it applied", outcome)
	}
	h.expect(t, []string{"update a/1@57→/1@6"}, "a/1@6")
	if n := h.Quarantined(); n != 0 {
		t.Errorf("%d are quarantined", n)
	}
}
