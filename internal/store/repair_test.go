// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// changed returns an object with another content.
func changed(o *object) *object { o.Text = "changed"; return o }

// A good state may have the version of the stored one while the newest state could not be stored:
// the stored one is from before a restore of the server. It is an update, unless nothing differs.
func TestSameVersionAfterAnUnstorableStateIsAnUpdate(t *testing.T) {
	for name, store := range map[string]func(*harness, *object){
		"by an event": func(h *harness, o *object) { h.apply(watch.Modified, o) },
		"by a list":   func(h *harness, o *object) { h.relist("9", o) },
		"by a repeated object": func(h *harness, o *object) {
			next := h.Begin()
			next.Add(obj("a/1@6").with("decode").item())
			next.Add(o.item())
			_ = next.Commit("9")
		},
	} {
		for mode, options := range map[string][]func(*Config){"live": nil, "packed": {packing}, "transforming": {transforming}} {
			t.Run(name+", "+mode, func(t *testing.T) {
				for want, o := range map[string]*object{"update a/1@6→/1@6": changed(obj("a/1@6", "g")), "": obj("a/1@6")} {
					h := newHarness(options...)
					h.relist("7", obj("a/1@6"))
					h.relistComparingContents(t, "5", obj("a/1@5").with("decode"))
					h.batches()
					store(h, o)
					var log []string
					if want != "" {
						log = []string{want}
					}
					h.expect(t, log, "a/1@6")
					if a, _ := h.Get("a"); a.Text != o.Text {
						t.Errorf("the store has the text %q, want %q", a.Text, o.Text)
					}
					if got := h.Quarantined(); got != 0 {
						t.Errorf("%d quarantined, want 0", got)
					}
				}
			})
		}
	}
}

// An entry that could not be read is repaired by a list without an event.
func TestUnreadableEntryIsRepairedByAListSilently(t *testing.T) {
	h := newHarness(packing)
	h.relist("1", obj("a/1@1"))
	h.batches()
	h.corrupt("a")
	h.Get("a")
	h.relist("2", obj("a/1@1"))
	h.expect(t, nil, "a/1@1")
	if _, ok := h.Get("a"); !ok {
		t.Error("the entry was not repaired")
	}
}

// A deletion is applied even if its object cannot be transformed, so that its key is unknown. The
// object is found by its own key or, if the transform renamed it, by its UID.
func TestDeletionWithoutReadableKeyIsApplied(t *testing.T) {
	const renamed = "name before the transform"
	for name, row := range map[string]struct {
		key         string // of the item
		deletion    *object
		outcome     feed.Outcome
		log         []string
		stored      []string
		quarantined int
	}{
		"own key":                {"a", obj("a/1@5"), feed.Applied, []string{"delete a/1@2"}, []string{"b/2@3"}, 0},
		"own key, no UID":        {"a", obj("a/@5"), feed.Applied, []string{"delete a/1@2"}, []string{"b/2@3"}, 0},
		"renamed":                {renamed, obj("a/1@5"), feed.Applied, []string{"delete a/1@2"}, []string{"b/2@3"}, 0},
		"renamed to another key": {"b", obj("a/1@5"), feed.Applied, []string{"delete a/1@2"}, []string{"b/2@3"}, 0},
		"older":                  {"a", obj("a/1@1"), feed.Stale, nil, []string{"a/1@2", "b/2@3"}, 0},
		"older, renamed":         {renamed, obj("a/1@1"), feed.Stale, nil, []string{"a/1@2", "b/2@3"}, 0},
		"not stored":             {"c", obj("c/3@5"), feed.Unchanged, nil, []string{"a/1@2", "b/2@3"}, 0},
		"another UID":            {"a", obj("a/9@5"), feed.Unchanged, nil, []string{"a/1@2", "b/2@3"}, 0},
		"renamed, no UID":        {renamed, obj("a/@5"), feed.Quarantined, nil, []string{"a/1@2", "b/2@3"}, 1},
	} {
		for fault, option := range map[string]func(*Config){"decode": transforming, "key": withoutItemKeys} {
			t.Run(name+", "+fault, func(t *testing.T) {
				h := newHarness(option)
				stored := obj("a/1@2").item()
				if row.key == renamed || row.key == "b" {
					stored.Key = row.key
				}
				next := h.Begin()
				next.Add(stored)
				next.Add(obj("b/2@3").item())
				_ = next.Commit("3")
				h.batches()
				item := row.deletion.with(fault).item()
				item.Key = row.key
				if got := h.Apply(watch.Deleted, item); got != row.outcome {
					t.Errorf("outcome %v, want %v", got, row.outcome)
				}
				h.expect(t, row.log, row.stored...)
				if got := h.Quarantined(); got != row.quarantined {
					t.Errorf("%d quarantined, want %d", got, row.quarantined)
				}
				reports := len(row.log) + row.quarantined
				if got := h.reported(); len(got) != reports {
					t.Errorf("reported %q, want %d errors", got, reports)
				}
			})
		}
	}
}

// The deletion releases the key under which an earlier state was quarantined.
func TestDeletionWithoutReadableKeyReleasesQuarantine(t *testing.T) {
	for _, key := range []string{"a", "server-a"} {
		h := newHarness(transforming)
		apply := func(eventType watch.EventType, o *object) {
			item := o.item()
			item.Key = key
			h.Apply(eventType, item)
		}
		apply(watch.Added, obj("a/1@1"))
		apply(watch.Modified, obj("a/1@2").with("decode"))
		apply(watch.Deleted, obj("a/1@3").with("decode"))
		if got := h.Quarantined(); got != 0 || h.Len() != 0 {
			t.Errorf("item key %q: %d quarantined and %d stored, want none", key, got, h.Len())
		}
	}
}

// The initial state of a WatchList may hold the deletion, too.
func TestRemovalWithoutReadableKeyIsApplied(t *testing.T) {
	for _, key := range []string{"a", "server-a"} {
		h := newHarness(transforming)
		next := h.Begin()
		added, removed := obj("a/1@1").item(), obj("a/1@2").with("decode").item()
		added.Key, removed.Key = key, key
		next.Add(added)
		next.Remove(removed)
		_ = next.Commit("3")
		if h.Len() != 0 {
			t.Errorf("item key %q: the store has %q, want nothing", key, contents(h.Snapshot()))
		}
	}
}

// A program may write another content at the version of a list that is arriving.
func TestListReplacesWrittenContentOfItsVersionByAnUpdate(t *testing.T) {
	for _, held := range []string{"a/1@1", "a/1@2"} {
		h := newHarness()
		h.relist("1", obj(held))
		next := h.Begin()
		next.Add(obj("a/1@2").item())
		_ = h.Put(changed(obj("a/1@2")))
		h.batches()
		_ = next.Commit("2")
		h.expect(t, []string{"update a/1@2→/1@2"}, "a/1@2")
	}
}
