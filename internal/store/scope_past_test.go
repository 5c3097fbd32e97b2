// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// A scope that cannot be listed does not make the store record every deletion in the others for
// ever: each attempt to list it asks for what the others have reached. Deletions during an attempt
// are recorded.
func TestPastDeletionsOfAttemptsAreRecorded(t *testing.T) {
	h := newHarness(scoped)
	listed, refused := NewScope(scope.Scope{}), NewScope(scope.Scope{})
	h.AddScope(listed)
	h.AddScope(refused)
	feed := h.NewFeed(FeedConfig{Scopes: []*Scope{listed}})
	if err := feed.Begin().Commit("1"); err != nil {
		t.Fatal(err)
	}
	version := 1
	deleteAll := func(want int) {
		t.Helper()
		for n := range 100 {
			key := strconv.Itoa(n)
			feed.Apply(watch.Added, obj(key+"/1@"+strconv.Itoa(version+1)).item())
			feed.Apply(watch.Deleted, obj(key+"/1@"+strconv.Itoa(version+2)).item())
			version += 2
		}
		if n, unseen := len(h.graves.byKey), len(h.graves.unseen); n != want || unseen != want {
			t.Errorf("%d tombstones, %d unseen, want %d", n, unseen, want)
		}
	}
	deleteAll(0) // nothing lists the other scope
	other := h.NewFeed(FeedConfig{Scopes: []*Scope{refused}})
	for range 3 {
		if from := other.NotOlderThan(); from != strconv.Itoa(version) {
			t.Errorf("list from %s, the other scope is at %d", from, version)
		}
		deleteAll(100)
	}
	list, before := other.Begin(), strconv.Itoa(version-200+11) // its deletion
	list.Add(obj("5/1@" + before).item())
	if err := list.Commit(before); err != nil {
		t.Fatal(err)
	}
	if n := h.Len(); n != 0 {
		t.Errorf("%d objects that were deleted are stored", n)
	}
	other.AdvanceVersion(strconv.Itoa(version))
	if n := len(h.graves.byKey); n != 0 {
		t.Errorf("%d tombstones", n)
	}
}

// A store forgets the oldest of too many tombstones. The scope that has not passed them must then be
// listed, not older than they are: its watch could bring deleted objects back.
func TestForgottenTombstonesForceAList(t *testing.T) {
	h := newScopedHarness(false)
	h.run(t, "b put k/1@11; a put k/2@12; a delete k/2@13")
	for n := range minUnseen {
		h.run(t, fmt.Sprintf("a put l/%d@%d; a delete l/%d@%d", n, 20+2*n, n, 21+2*n))
	}
	if n := len(h.graves.unseen); n != minUnseen {
		t.Errorf("%d tombstones are kept, want %d", n, minUnseen)
	}
	b := h.feeds["b"]
	if got := b.NotOlderThan(); got != "13" {
		t.Errorf("the next list must not be older than %q, want 13", got)
	}
	h.batches()
	if got := b.Apply(watch.Modified, obj("k/1@12").item()); got != feed.Outdated {
		t.Errorf("an event from before the forgotten deletion: outcome %v", got)
	}
	list := b.Begin()
	list.Add(obj("k/1@11").item())
	if err := list.Commit("12"); !errors.Is(err, feed.ErrOutdated) {
		t.Errorf("a list from before the forgotten deletion: %v", err)
	}
	if err := b.Begin().Commit("13"); err != nil {
		t.Error(err)
	}
	h.expect(t, nil)
	if got := b.Apply(watch.Added, obj("m/3@14").item()); got != feed.Applied {
		t.Errorf("an event after the list: outcome %v", got)
	}
}

// An object that the program writes is one of every scope that may hold it.
func TestProgramWritesLeaveWithTheirScopes(t *testing.T) {
	for _, row := range []struct{ name, object, steps, want string }{
		{"a list that lacks it", "a/k/1@5", "a list 11", ""},
		{"a list of another scope", "a/k/1@5", "b list 11", "a/k/1@5"},
		{"a list that has it", "a/k/1@5", "a list 11 a/k/1@5", "a/k/1@5"},
		{"its deletion", "a/k/1@5", "a delete a/k/1@11", ""},
		{"a later state, with a lower version", "a/k/1@99", "a list 11 a/k/1@11", "a/k/1@11"},
		{"its scope is removed", "a/k/1@5", "a leave", ""},
		{"another scope is removed", "a/k/1@5", "b leave", "a/k/1@5"},
		{"no scope may hold it", "c/k/1@5", "a list 11", ""},
		{"no scope may hold it, and one is removed", "c/k/1@5", "a leave", "c/k/1@5"},
		{"it replaces an object of the server", "a/l/2@50", "a list 11 a/l/2@11", "a/l/2@11"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &scopedHarness{newHarness(scoped), false, make(map[string]*Scope), make(map[string]*Feed[*object])}
			h.joinScope("a", scope.Scope{Namespace: "a"})
			h.joinScope("b", scope.Scope{Namespace: "b"})
			h.MarkSynced()
			if err := h.Put(obj(row.object)); err != nil {
				t.Fatal(err)
			}
			h.run(t, row.steps)
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.want {
				t.Errorf("the store has %q, want %q", got, row.want)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}
