// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// unidentified returns an item whose object cannot be read. Its key and UID may be empty.
func unidentified(key string) feed.Item {
	return feed.Item{Key: key, ResourceVersion: "7", Codec: feed.ErrorCodec{Err: errInjected}}
}

// An item that cannot be identified may be any object that its list lacks. These stay, and are
// updated by what follows, also if the server was restored from a backup.
func TestListWithUnidentifiedItemKeepsWhatItLacks(t *testing.T) {
	for name, options := range map[string][]func(*Config){"decoded": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("5", obj("a/1@1"), obj("b/1@5"))
			h.batches()
			list := h.Begin()
			list.Add(obj("a/1@6").item())
			list.Add(unidentified(""))
			list.Commit("8")
			h.expect(t, []string{"update a/1@1→/1@6"}, "a/1@6", "b/1@5")

			list = h.Begin()
			list.CompareContents(true)
			list.Add(obj("a/1@2").item())
			list.Add(unidentified(""))
			list.Commit("3")
			h.expect(t, []string{"update a/1@6→/1@2"}, "a/1@2", "b/1@5")
			if got := h.Quarantined(); got != 1 {
				t.Errorf("%d quarantined, want 1", got)
			}
			h.apply(watch.Modified, obj("b/1@4"))
			if batches := h.batches(); len(batches) != 1 || !strings.HasPrefix(batches[0], "update b/") || !strings.HasSuffix(batches[0], "→/1@4") {
				t.Errorf("the log received %q, want an update of b", batches)
			}
			h.relist("9", obj("a/1@2"))
			h.expect(t, []string{"delete b/1@4"}, "a/1@2")
		})
	}
}

// In a feed of ranges of UIDs, an unreadable item without a UID has no scope, so that its key is
// not quarantined.
func TestUnidentifiedItemIsInNoRangeOfUIDs(t *testing.T) {
	const half = 1 << 63
	for name, ranges := range map[string][]scope.Range{
		"one": {{Field: scope.UID, Last: 2*half - 1}},
		"two": {{Field: scope.UID, Last: half - 1}, {Field: scope.UID, First: half, Last: 2*half - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(scoped)
			var scopes []*Scope
			for _, r := range ranges {
				c := h.AddScope(scope.Scope{Hash: r})
				scopes = append(scopes, c)
			}
			f := h.NewFeed(FeedConfig{Scopes: scopes})
			list := f.Begin()
			for _, id := range []string{"a/1@1", "b/2@2", "c/3@3"} {
				list.Add(obj(id).item())
			}
			list.Commit("5")
			list = f.Begin()
			list.Add(obj("a/1@1").item())
			list.Add(unidentified("b"))
			list.Commit("6")
			if got := strings.Join(contents(h.Snapshot()), " "); got != "a/1@1 b/2@2 c/3@3" || f.Quarantined() != 1 || h.Failure("b") != nil {
				t.Errorf("the store has %s, %d quarantined, b: %v", got, f.Quarantined(), h.Failure("b"))
			}
			f.CountUnreadable(errInjected)
			if got := f.Quarantined(); got != 2 || f.OutOfScope() != 0 {
				t.Errorf("%d quarantined after an event that cannot be read, want 2; %d out of scope", got, f.OutOfScope())
			}
			list = f.Begin()
			list.Add(obj("a/1@1").item())
			list.Commit("7")
			if got := strings.Join(contents(h.Snapshot()), " "); got != "a/1@1" || f.Quarantined() != 0 {
				t.Errorf("the store has %s, %d quarantined", got, f.Quarantined())
			}
		})
	}
}

// A transform renames the object of an item whose key can be read, and its UID cannot: the entry is
// under another key, and stays.
func TestUnreadableItemOfRenamedObjectKeepsIt(t *testing.T) {
	h := newHarness(transforming)
	item := obj("x/u@1").item()
	item.Key = "own"
	next := h.Begin()
	next.Add(item)
	next.Commit("1")
	h.batches()
	next = h.Begin()
	next.Add(unidentified("own"))
	next.Commit("8")
	h.expect(t, nil, "x/u@1")
}

// What a list with an unidentified item lacks stays quarantined if it was.
func TestEntryThatIsKeptStaysQuarantined(t *testing.T) {
	for name, options := range map[string][]func(*Config){"whole": nil, "scoped": {scoped}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			f := h.feedOfAll()
			list := f.Begin()
			list.Add(obj("a/1@1").item())
			list.Add(obj("b/2@2").item())
			list.Commit("5")
			f.Apply(watch.Modified, obj("b/2@6").with("decode").item())
			list = f.Begin()
			list.Add(obj("a/1@1").item())
			list.Add(unidentified(""))
			list.Commit("8")
			if h.Failure("b") == nil || f.Quarantined() != 2 {
				t.Errorf("b: %v, %d quarantined", h.Failure("b"), f.Quarantined())
			}
		})
	}
}

// An object was recreated in a state that cannot be stored, and the list also has an item that
// cannot be identified: it is not the object before, whose key the list has.
func TestRecreatedObjectThatFailsReplacesTheOneBefore(t *testing.T) {
	h := newHarness()
	h.relist("5", obj("a/1@1"), obj("b/1@5"))
	h.batches()
	list := h.Begin()
	list.Add(obj("a/2@6").with("decode").item())
	list.Add(unidentified(""))
	if err := list.Commit("8"); err != nil {
		t.Fatal(err)
	}
	h.expect(t, []string{"delete a/1@1"}, "b/1@5")
}
