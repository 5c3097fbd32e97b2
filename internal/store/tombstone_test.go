// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// A scope that lags behind more deletions than the store records cannot go on with its watch: a
// state from before a dropped tombstone would be stored. Its next list must show the deletion.
func TestDroppedTombstoneForcesAList(t *testing.T) {
	h := newScopedHarness()
	h.joinScope("c", scope.Scope{Namespace: "c"})
	repeats := h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"]}, From: "10"})
	h.run(t, "a put k/1@11; a delete k/1@12")
	for n := range minTombstones {
		version := 13 + 2*n
		h.run(t, fmt.Sprintf("a put %d/1@%d; a delete %d/1@%d", n, version, n, version+1))
	}
	b := h.feeds["b"]
	if outcome := b.Apply(watch.Added, obj("k/1@11").item()); outcome != feed.Outdated {
		t.Errorf("an event from before the dropped tombstone: outcome %v, want Outdated", outcome)
	}
	list := b.Begin()
	list.Add(obj("k/1@11").item())
	if err := list.Commit("11"); !errors.Is(err, feed.ErrOutdated) {
		t.Errorf("a list from before the dropped tombstone: error %v, want ErrOutdated", err)
	}
	if outcome := repeats.Apply(watch.Added, obj("k/1@11").item()); outcome != feed.Stale {
		t.Errorf("the same event in a scope that has reached the tombstone: outcome %v, want Stale", outcome)
	}
	if from := h.feeds["c"].NotOlderThan(); from != "" {
		t.Errorf("the list of a scope that cannot hold the key is not older than %q", from)
	}
	if from := b.NotOlderThan(); from != "12" {
		t.Errorf("the next list is not older than %q, want 12", from)
	}
	h.batches()
	h.run(t, "b list 12")
	h.expect(t, nil)
	h.run(t, "b put k/1@13")
	h.expect(t, []string{"add k/1@13"}, "k/1@13")
	if from := b.NotOlderThan(); from != "" {
		t.Errorf("after a list, the next one is not older than %q", from)
	}
	h.run(t, "b read 11")
	if from := b.NotOlderThan(); from != "" {
		t.Errorf("after a restore of the server to 11, the next list is not older than %q", from)
	}
}
