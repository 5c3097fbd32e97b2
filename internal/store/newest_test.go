// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/feed"
)

// The newest items are kept, whatever their order in the list, and copied: the bytes of an item are
// valid only during the call.
func TestNewestItemsAreKept(t *testing.T) {
	var newest newestItems
	raw := make([]byte, 0, 10)
	offer := func(version, maxBytes int) {
		raw = fmt.Appendf(raw[:0], "%04d", version)
		id := identityOf("uid", fmt.Sprint(version))
		newest.offer(newestItem{Item: feed.Item{Raw: raw}, identity: id}, maxBytes)
	}
	expect := func(want string) {
		t.Helper()
		var got []string
		for _, item := range newest.items {
			got = append(got, string(item.Raw))
		}
		if strings.Join(got, " ") != want || newest.bytes != 4*len(got) {
			t.Errorf("kept %q, %d bytes, want %s", got, newest.bytes, want)
		}
	}
	offer(1, 0)
	expect("")
	for i := range 97 {
		offer(1+i*37%97, 1000)
	}
	expect("0090 0091 0092 0093 0094 0095 0096 0097")
	offer(1, 1000)
	expect("0090 0091 0092 0093 0094 0095 0096 0097")
	if allocated := testing.AllocsPerRun(100, func() {
		newest.offer(newestItem{Item: feed.Item{Raw: raw}, identity: identityOf("1", "7")}, 1000)
	}); allocated > 0 {
		t.Errorf("%v allocations for an item that is not kept", allocated)
	}

	newest = newestItems{}
	for _, version := range []int{5, 9, 7, 6, 8} {
		offer(version, 12)
	}
	expect("0007 0008 0009")
}

// A list that has one of the newest objects with other contents at the store's version is not
// committed.
func TestCommitRefusesAVersionThatWasUsedTwice(t *testing.T) {
	for name, option := range map[string]func(*Config){
		"live": func(*Config) {}, "packed": packing, "without item keys": withoutItemKeys, "transforming": transforming,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(option, func(c *Config) { c.CompareBytes = 1000 })
			h.relist("10", obj("a/1@1"), obj("b/1@2"))
			h.batches()
			reused := obj("b/1@2")
			reused.Text = "other"
			next := h.Begin()
			for _, o := range []*object{obj("a/1@1"), reused, obj("c/1@3")} {
				item := o.item()
				_, item.Known = next.Needs(item)
				next.Add(item)
			}
			if err := next.Commit("20"); err != feed.ErrVersionReused {
				t.Errorf("Commit returned %v", err)
			}
			h.expect(t, nil, "a/1@1", "b/1@2")
			h.relistComparingContents(t, "20", obj("a/1@1"), reused, obj("c/1@3"))
			h.expect(t, []string{"update b/1@2→/1@2, add c/1@3"}, "a/1@1", "b/1@2", "c/1@3")
		})
	}
}
