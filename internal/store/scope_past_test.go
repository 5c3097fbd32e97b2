// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/scope"
)

// A scope that cannot be listed does not make the store record every deletion in the others for
// ever: each attempt to list it asks for what the others have reached. Deletions during an attempt
// are recorded.
func TestPastDeletionsOfAttemptsAreRecorded(t *testing.T) {
	h := newHarness(scoped)
	listed := h.AddScope(scope.Scope{})
	refused := h.AddScope(scope.Scope{})
	feed := h.NewFeed(FeedConfig{Scopes: []*Scope{listed}})
	if err := feed.Begin().Commit("1"); err != nil {
		t.Fatal(err)
	}
	version := 1
	deleteAll := func(first, want int) {
		t.Helper()
		for n := range 100 {
			key := strconv.Itoa(first + n)
			feed.Apply(watch.Added, obj(key+"/1@"+strconv.Itoa(version+1)).item())
			feed.Apply(watch.Deleted, obj(key+"/1@"+strconv.Itoa(version+2)).item())
			version += 2
		}
		if n, unstored := len(h.tombstones.byKey), len(h.tombstones.inOrder); n != want || unstored != want {
			t.Errorf("%d tombstones, %d unstored, want %d", n, unstored, want)
		}
	}
	deleteAll(0, 0) // nothing lists the other scope
	other := h.NewFeed(FeedConfig{Scopes: []*Scope{refused}})
	for attempt := range 3 {
		if from := other.NotOlderThan(); from != strconv.Itoa(version) {
			t.Errorf("list from %s, the other scope is at %d", from, version)
		}
		deleteAll(100*attempt, 100)
	}
	list, before := other.Begin(), strconv.Itoa(version-200+11) // its deletion
	list.Add(obj("205/1@" + before).item())
	if err := list.Commit(before); err != nil {
		t.Fatal(err)
	}
	if n := h.Len(); n != 0 {
		t.Errorf("%d objects that were deleted are stored", n)
	}
	other.AdvanceVersion(strconv.Itoa(version))
	if n := len(h.tombstones.byKey); n != 0 {
		t.Errorf("%d tombstones", n)
	}
}
