// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// Each row of TestApply starts with a/1@10 in a collection at version 10.
func TestApply(t *testing.T) {
	for _, row := range []struct {
		name    string
		event   watch.EventType
		object  *object
		outcome feed.Outcome
		log     string
		want    string
		version string
	}{
		{"a new key", watch.Added, obj("b/2@11"), feed.Applied, "add b/2@11", "a/1@10 b/2@11", "11"},
		{"a new key, modified", watch.Modified, obj("b/2@11"), feed.Applied, "add b/2@11", "a/1@10 b/2@11", "11"},
		{"a newer version", watch.Modified, obj("a/1@11"), feed.Applied, "update a/1@10→/1@11", "a/1@11", "11"},
		{"a newer version, added", watch.Added, obj("a/1@11"), feed.Applied, "update a/1@10→/1@11", "a/1@11", "11"},
		{"the same version", watch.Added, obj("a/1@10"), feed.Unchanged, "", "a/1@10", "10"},
		{"an older version", watch.Modified, obj("a/1@9"), feed.Stale, "", "a/1@10", "10"},
		{"an older version with fewer digits", watch.Modified, obj("a/1@2"), feed.Stale, "", "a/1@10", "10"},
		{"no version", watch.Modified, obj("a/1@"), feed.Applied, "update a/1@10→/1@", "a/1@", "10"},
		{"no UID, same version", watch.Modified, obj("a/@10"), feed.Applied, "update a/1@10→/@10", "a/@10", "10"},
		{"a version that is not a number", watch.Modified, obj("a/1@x"), feed.Applied, "update a/1@10→/1@x", "a/1@x", "x"},
		{"another UID", watch.Modified, obj("a/2@11"), feed.Applied, "delete a/1@10, add a/2@11", "a/2@11", "11"},
		{"another UID, older", watch.Added, obj("a/0@9"), feed.Stale, "", "a/1@10", "10"},
		{"a deletion", watch.Deleted, obj("a/1@11"), feed.Applied, "delete a/1@10→/1@11", "", "11"},
		{"a deletion at the last version", watch.Deleted, obj("a/1@10"), feed.Applied, "delete a/1@10→/1@10", "", "10"},
		{"a deletion without a version", watch.Deleted, obj("a/1@"), feed.Applied, "delete a/1@10→/1@", "", "10"},
		{"an old deletion", watch.Deleted, obj("a/1@9"), feed.Stale, "", "a/1@10", "10"},
		{"a deletion of a missing key", watch.Deleted, obj("b/2@11"), feed.Unchanged, "", "a/1@10", "11"},
		{"a deletion of a later object", watch.Deleted, obj("a/2@12"), feed.Applied, "delete a/1@10", "", "12"},
		{"a deletion that does not decode", watch.Deleted, obj("a/1@11").with("decode"), feed.Applied, "delete a/1@10", "", "11"},
		{"an object that does not decode", watch.Modified, obj("a/1@11").with("decode"), feed.Quarantined, "", "a/1@10", "11"},
	} {
		for _, mode := range []struct {
			name    string
			options []func(*Config)
		}{
			{"live", nil},
			{"packed", []func(*Config){packing}},
		} {
			t.Run(row.name+", "+mode.name, func(t *testing.T) {
				h := newHarness(mode.options...)
				h.relist("10", obj("a/1@10"))
				h.batches()
				if got := h.apply(row.event, row.object); got != row.outcome {
					t.Errorf("outcome %v, want %v", got, row.outcome)
				}
				var log []string
				if row.log != "" {
					log = []string{row.log}
				}
				h.expect(t, log, strings.Fields(row.want)...)
				if got := h.ResourceVersion(); got != row.version {
					t.Errorf("resourceVersion %q, want %q", got, row.version)
				}
				if got := h.Snapshot().ResourceVersion(); got != row.version {
					t.Errorf("snapshot's resourceVersion %q, want %q", got, row.version)
				}
			})
		}
	}
}

// A source that repeats events, or uses a version twice, is compared by the contents.
func TestRepeatedEventIsComparedByItsContent(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("10", obj("a/1@10"))
			h.batches()
			before := h.Snapshot().Entry("a")
			repeat := func(o *object) feed.Outcome {
				item := o.item()
				item.Repeated = true
				return h.Apply(watch.Modified, item)
			}
			if got := repeat(obj("a/1@10")); got != feed.Unchanged || *h.Snapshot().Entry("a") != *before {
				t.Errorf("the same content: outcome %v, want Unchanged and the same entry", got)
			}
			h.expect(t, nil, "a/1@10")
			if got := repeat(obj("a/1@10", "g")); got != feed.Applied {
				t.Errorf("another content: outcome %v, want Applied", got)
			}
			h.expect(t, []string{"update a/1@10→/1@10"}, "a/1@10")
		})
	}
}

// The version of a source that does not count versions is that of its last event.
func TestVersionOfEventsInOrderMayFall(t *testing.T) {
	h := newHarness()
	h.relist("10")
	for _, row := range []struct{ id, want string }{{"a/1@12", "12"}, {"b/1@7", "7"}, {"c/1@", "7"}, {"d/1@x", "x"}} {
		item := obj(row.id).item()
		item.InOrder = true
		h.Apply(watch.Added, item)
		if got := h.ResourceVersion(); got != row.want {
			t.Errorf("version %q after an event of %s, want %q", got, row.id, row.want)
		}
	}
}

// Versions of 2^63 and more, which an entry records as text, are ordered as others are.
func TestLargeVersionsAreOrdered(t *testing.T) {
	h := newHarness()
	h.relist("9223372036854775809", obj("a/1@9223372036854775809"))
	for _, row := range []struct {
		version string
		want    feed.Outcome
	}{{"9223372036854775811", feed.Applied}, {"9223372036854775810", feed.Stale}, {"10000000000000000000000", feed.Applied}, {"9", feed.Stale}} {
		if got := h.apply(watch.Modified, obj("a/1@"+row.version)); got != row.want {
			t.Errorf("an event at %s: outcome %v, want %v", row.version, got, row.want)
		}
	}
	if got := h.ResourceVersion(); got != "10000000000000000000000" {
		t.Errorf("resourceVersion %q", got)
	}
}

func TestUnchangedObjectsAreNotDecoded(t *testing.T) {
	h := newHarness()
	h.relist("10", obj("a/1@10"), obj("b/2@9"))
	before := h.Snapshot()
	if got := h.decodes.Load(); got != 2 {
		t.Fatalf("%d decodes for a list of 2 objects", got)
	}
	h.apply(watch.Added, obj("a/1@10"))
	h.apply(watch.Modified, obj("b/2@9"))
	h.apply(watch.Modified, obj("b/2@8"))
	h.relist("12", obj("a/1@10"), obj("b/2@9"))
	if got := h.decodes.Load(); got != 2 {
		t.Errorf("%d decodes after receiving the same objects again, want 2", got)
	}
	for _, key := range before.Keys() {
		if *before.Entry(key) != *h.Snapshot().Entry(key) {
			t.Errorf("the entry of %q was replaced though nothing changed", key)
		}
	}
	h.relist("13", obj("a/1@13"), obj("b/2@9"))
	if got := h.decodes.Load(); got != 3 {
		t.Errorf("%d decodes after one of two objects changed, want 3", got)
	}
}

// Objects of client-go's fake clientsets have neither version nor UID.
func TestEventsWithoutVersionsAreApplied(t *testing.T) {
	h := newHarness()
	h.relist("", obj("a"))
	h.apply(watch.Modified, obj("a"))
	h.relist("", obj("a"), obj("b"))
	h.expect(t, []string{"add a/@ (initial)", "update a/@→/@", "update a/@→/@, add b/@"}, "a/@", "b/@")
	if got := h.ResourceVersion(); got != "" {
		t.Errorf("resourceVersion %q, want none", got)
	}
}

func TestOnlyReplacementMovesVersionBack(t *testing.T) {
	h := newHarness()
	h.relist("100")
	h.AdvanceVersion("90")
	h.AdvanceVersion("")
	h.apply(watch.Added, obj("a/1@80"))
	h.apply(watch.Deleted, obj("b/1@70"))
	if err := h.Put(obj("c/1@60")); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(obj("c/1@60")); err != nil {
		t.Fatal(err)
	}
	if got := h.ResourceVersion(); got != "100" {
		t.Errorf("resourceVersion %q, want 100", got)
	}
	h.relist("50")
	if got := h.ResourceVersion(); got != "50" {
		t.Errorf("resourceVersion %q after a replacement at 50", got)
	}
}

// A transform may rename objects. The key is that of the transformed object.
func TestKeyIsThatOfTheDecodedObject(t *testing.T) {
	for name, option := range map[string]func(*Config){"without item keys": withoutItemKeys, "with transforms": transforming} {
		t.Run(name, func(t *testing.T) { testKeyOfDecodedObject(t, option) })
	}
}

func testKeyOfDecodedObject(t *testing.T, option func(*Config)) {
	t.Helper()
	h := newHarness(option)
	renamed := func(name string, o *object) feed.Item {
		item := o.item()
		item.Key = name
		return item
	}
	h.Apply(watch.Added, renamed("server-a", obj("a/1@1")))
	h.Apply(watch.Modified, renamed("server-a", obj("a/1@2")))
	h.Apply(watch.Modified, renamed("server-a", obj("a/1@3").with("key")))
	if got := h.Quarantined(); got != 1 {
		t.Fatalf("%d quarantined, want 1", got)
	}
	h.Apply(watch.Modified, renamed("server-a", obj("a/1@4")))
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined after a good state", got)
	}
	next := h.Begin()
	next.Add(renamed("server-a", obj("a/1@4").with("decode")))
	next.Add(renamed("server-a", obj("a/1@5")))
	next.Commit("5")
	if got := h.Quarantined(); got != 0 {
		t.Errorf("%d quarantined after a list that ends with a good state", got)
	}
	h.Apply(watch.Deleted, renamed("server-a", obj("a/1@6")))
	want := []string{"add a/1@1", "update a/1@1→/1@2", "update a/1@2→/1@4", "update a/1@4→/1@5 (initial)", "delete a/1@5→/1@6"}
	if got := h.batches(); !slices.Equal(got, want) {
		t.Errorf("the log got %q, want %q", got, want)
	}
}

// Without a log, the final state of a deleted object is not used.
func TestDeletionWithoutALogIsNotDecoded(t *testing.T) {
	h := newHarness(func(c *Config) { c.Log = nil })
	h.relist("1", obj("a/1@1"))
	h.apply(watch.Deleted, obj("a/1@2"))
	if got := h.decodes.Load(); got != 1 || h.Len() != 0 {
		t.Errorf("%d decodes, %d entries, want 1 and 0", got, h.Len())
	}
}
