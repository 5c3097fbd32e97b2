// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// A state that cannot be stored, or is to be ignored, is one of its key and its scope. The last
// good state of its object stays, and that of an object before leaves.
func TestFailedStateOfAScopeKeepsTheObject(t *testing.T) {
	for _, row := range []struct {
		name   string
		steps  string
		store  string // the objects in the store
		failed bool   // KeyError of the key
	}{
		{"another object, whose scope lags", "a put k/1@11; b put k/2@13!decode; a delete k/1@12", "", true},
		{"another object in a list, whose scope lags", "a put k/1@11; b list 13 k/2@13!decode; a delete k/1@12", "", true},
		{"another object in a list, whose scope is behind", "a put k/1@11; b list 13 k/2@13!decode", "", true},
		{"another object in a list that was never stored, whose scope lags", "b list 13 k/2@13!decode; a put k/1@11", "", true},
		{"another object that was never stored, whose scope lags", "b put k/2@13!decode; a put k/1@11; a delete k/1@12", "", true},
		{"another object that is ignored, whose scope lags", "a put k/1@11; b put k/2@13!skip; a put k/1@12", "", false},
		{"an older state of an object before, which fails", "b put k/2@13; a put k/1@12!decode", "k/2@13", false},
		{"an older list of an object before, which fails", "b put k/2@13; a list 12 k/1@12!decode", "k/2@13", false},
		{"a later object in another scope, which fails, too", "a put k/1@11!decode; b put k/2@12!decode", "", true},
		{"a later object in another scope", "a put k/1@11!decode; b put k/2@12", "k/2@12", false},
		{"a later object in the list of another scope", "a put k/1@11!decode; b list 12 k/2@12", "k/2@12", false},
		{"a list that shows that a restore has undone another object", "b put k/2@13; a list 14 k/1@12!decode; b list 14", "", true},
		{"a list that shows that a restore has undone its state, and another object", "a list 100 k/1@100; b list 100; a read 50 k/1@50!decode; b read 50; b put k/2@60", "k/2@60", false},

		{"it is deleted", "a put k/1@11; a put k/1@12!decode; a delete k/1@13", "", false},
		{"it was never stored and is deleted", "b put k/1@12!decode; b delete k/1@13", "", false},
		{"a list lacks it", "a put k/1@11!decode; a list 12", "", false},
		{"its scope leaves", "b put k/1@11; b put k/1@12!decode; b leave", "", false},
		{"another scope leaves", "b put k/1@11; b put k/1@12!decode; a leave", "k/1@11", true},
		{"an older state in a list", "a put k/1@19; a read 15 k/1@12!decode; a put k/1@16", "k/1@16", false},
		{"it is stored again", "a put k/1@11; a put k/1@12!decode; a list 13 k/1@13", "k/1@13", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			h.run(t, row.steps)
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.store {
				t.Errorf("the store has %q, want %q", got, row.store)
			}
			if err := h.KeyError("k"); (err != nil) != row.failed {
				t.Errorf("KeyError %v, want one: %v", err, row.failed)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// An object is recreated in another scope of the same feed, in a state that cannot be stored. The
// list that shows it deletes the object before once.
func TestFailedRecreationInAnotherScopeOfAFeed(t *testing.T) {
	half := uint64(1) << 63
	h := newHarness(scoped)
	low := h.AddScope(scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}})
	high := h.AddScope(scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}})
	f := h.NewFeed(FeedConfig{Scopes: []*Scope{low, high}})
	uids := make(map[bool]string)
	for n := 0; len(uids) < 2; n++ {
		uid := strconv.Itoa(n)
		uids[low.Name.Hash.Contains(uid)] = uid
	}
	for i, states := range []string{"k/" + uids[true] + "@11", "k/" + uids[false] + "@12!decode"} {
		list := f.Begin()
		list.Add(stateOf(states))
		if err := list.Commit(strconv.Itoa(20 + i)); err != nil {
			t.Fatal(err)
		}
	}
	h.expect(t, []string{"add k/" + uids[true] + "@11 (initial)", "delete k/" + uids[true] + "@11"})
	if n, _ := h.QuarantineSize(); n != 1 || h.KeyError("k") == nil {
		t.Errorf("%d keys have failed; KeyError %v", n, h.KeyError("k"))
	}
}

// A restore of the server undoes the state that a scope keeps, as the transform ignores the present
// one. The states that follow are stored, whatever their versions.
func TestIgnoredStateOfAScopeAfterRestoreIsReplaced(t *testing.T) {
	for _, version := range []string{"60", "100"} {
		h := newScopedHarness()
		identify("1", "") // of the state that is kept
		h.run(t, "a list 100 k/1@100; a read 50 k/1@50!skip; a put k/1@"+version)
		if got := strings.Join(h.scopedBatches(), "; "); got != "add k/1@100; update k/1@→/1@"+version {
			t.Errorf("version %s: events %s", version, got)
		}
	}
}

// TestRefusedRecreationRemovesTheDeletedObject checks that the state of a recreated object, which
// the feed refuses, removes the object that was stored under its key, with and without scopes.
func TestRefusedRecreationRemovesTheDeletedObject(t *testing.T) {
	refuses := func(c *Config) { c.Filter = func(o runtime.Object) bool { return o.(*filtered).UID != "2" } }
	for _, options := range [][]func(*Config){{refuses}, {refuses, scoped}} {
		h := newHarness(options...)
		f := h.feedOfAll()
		list := f.Begin()
		list.Add(filteredItem(obj("a/1@2")))
		if err := list.Commit("2"); err != nil {
			t.Fatal(err)
		}
		h.batches()
		f.Apply(watch.Modified, filteredItem(obj("a/2@1"))) // older
		h.expect(t, nil, "a/1@2")
		f.Apply(watch.Modified, filteredItem(obj("a/2@3")))
		h.expect(t, []string{"delete a/1@2"})
	}
}

// TestListWithARefusedStateSaysThatTheObjectExists checks the deletion of an object whose state in
// a list the feed refuses, with and without scopes.
func TestListWithARefusedStateSaysThatTheObjectExists(t *testing.T) {
	refuses := func(c *Config) { c.Filter = func(o runtime.Object) bool { return o.(*filtered).Version != "3" } }
	for _, options := range [][]func(*Config){{refuses}, {refuses, scoped}} {
		h := newHarness(options...)
		f := h.feedOfAll()
		for _, version := range []string{"2", "3"} {
			list := f.Begin()
			list.Add(filteredItem(obj("a/1@" + version)))
			if err := list.Commit(version); err != nil {
				t.Fatal(err)
			}
		}
		h.expect(t, []string{"add a/1@2 (initial)", "delete a/1@2 (left scope)"})
	}
}

// filtered is an object as the filter receives it.
type filtered struct {
	runtime.Object
	*object
}

func filteredItem(o *object) feed.Item {
	item := o.item()
	item.Object = &filtered{object: o}
	return item
}
