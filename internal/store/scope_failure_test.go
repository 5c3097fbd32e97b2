// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// An object that moves to another scope in a state that cannot be stored, or is to be ignored,
// still exists: its last good state stays, and if it has none, readers receive the cause.
func TestFailedStateOfAnotherScopeKeepsTheObject(t *testing.T) {
	for _, row := range []struct {
		name   string
		steps  string
		store  string // the objects in the store
		failed bool   // KeyError of the key
	}{
		{"the move is seen first", "a put k/1@11; b put k/1@12!decode; a delete k/1@12", "k/1@11", true},
		{"the deletion is seen first", "a put k/1@11; a delete k/1@12; b put k/1@12!decode", "k/1@11", true},
		{"the move is listed first", "a put k/1@11; b list 12 k/1@12!decode; a delete k/1@12", "k/1@11", true},
		{"the deletion is listed first", "a put k/1@11; a list 12; b list 12 k/1@12!decode", "k/1@11", true},
		{"an older state is seen last", "a put k/1@11; b put k/1@13!decode; a put k/1@12; a delete k/1@13", "k/1@11", true},
		{"an older state is listed last", "a put k/1@11; b put k/1@13!decode; a list 12 k/1@12; a delete k/1@13", "k/1@11", true},
		{"an older state that fails is seen last", "a put k/1@11; b put k/1@13!decode; a put k/1@12!decode; a delete k/1@13", "k/1@11", true},
		{"an older state that fails is listed last", "a put k/1@11; b put k/1@13!decode; a list 12 k/1@12!decode; a delete k/1@13", "k/1@11", true},
		{"an older state of one that was never stored", "b put k/1@13!decode; a put k/1@12; a delete k/1@13", "", true},
		{"a list of one that was never stored", "b put k/1@13!decode; a list 12 k/1@12; a delete k/1@13", "", true},
		{"an older list that fails of one that was never stored", "b put k/1@13!decode; a list 12 k/1@12!decode; a delete k/1@13", "", true},
		{"a deletion that cannot be decoded", "a put k/1@11; b put k/1@12!decode; a delete k/1@12!decode", "k/1@11", true},

		{"the move to an ignored state is seen first", "a put k/1@11; b put k/1@12!skip; a delete k/1@12", "k/1@11", false},
		{"the move to an ignored state is seen last", "a put k/1@11; a delete k/1@12; b put k/1@12!skip", "k/1@11", false},
		{"the move to an ignored state is listed", "a put k/1@11; b list 12 k/1@12!skip; a delete k/1@12", "k/1@11", false},
		{"an older state after an ignored one", "a put k/1@11; b put k/1@13!skip; a put k/1@12; a delete k/1@13", "k/1@11", false},

		{"another object, whose scope lags", "a put k/1@11; b put k/2@13!decode; a delete k/1@12", "", true},
		{"another object in a list, whose scope lags", "a put k/1@11; b list 13 k/2@13!decode; a delete k/1@12", "", true},
		{"another object in a list, whose scope is behind", "a put k/1@11; b list 13 k/2@13!decode", "", true},

		{"a failure in a scope that is replaced", "a put k/1@11!decode; c join; a retire; c list 12 k/1@11!decode; a leave", "", true},
		{"a replaced scope that lags", "c join; a retire; c list 12 k/1@12!decode; a put k/1@12!decode; a leave", "", true},
		{"a replaced scope that succeeds", "c join; a retire; c list 12 k/1@12!decode; a put k/1@12; a leave", "", true},
		{"a replaced scope that is ahead", "c join; a retire; c list 12 k/1@12!decode; a put k/1@13; a leave; c put k/1@13!decode", "", true},
		{"another object, in two scopes that are replaced", "a put k/1@11!decode; a retire; b retire; b list 13 k/2@13!decode; a delete k/1@12", "", true},
		{"a stored object of a replaced scope", "a put k/1@11; c join; a retire; c list 12 k/1@12!decode; a leave", "k/1@11", true},
		{"a stored object of a replaced scope, which a restore has undone", "a put k/1@19; a read 15 k/1@12!decode; c join; a retire; c list 15 k/1@12!decode; a leave", "k/1@19", true},
		{"a move after a restore has undone the stored state", "a put k/1@19; a read 15 k/1@12!decode; b put k/1@16; a delete k/1@16", "k/1@16", false},
		{"a listed move after a restore has undone the stored state", "a put k/1@19; a read 15 k/1@12!decode; b list 17 k/1@16; a delete k/1@16", "k/1@16", false},
		{"a stored object of a replaced scope, ignored since", "a put k/1@11; c join; a retire; c list 12 k/1@12!skip; a leave", "k/1@11", false},

		{"a list that shows that a restore has undone the other state", "b put k/1@13; a list 14 k/1@12!decode; b list 14", "k/1@13", true},
		{"a list that shows that a restore has undone another object", "b put k/2@13; a list 14 k/1@12!decode; b list 14", "", true},
		{"a list that shows that a restore has undone a deletion", "b put k/1@13; b delete k/1@14; a list 15 k/1@12!decode; b list 15", "k/1@13", true},

		{"it is deleted there", "a put k/1@11; b put k/1@12!decode; a delete k/1@12; b delete k/1@13; a reach 13", "", false},
		{"it was never stored and is deleted there", "b put k/1@12!decode; b delete k/1@13", "", false},
		{"its scope leaves", "a put k/1@11; b put k/1@12!decode; a delete k/1@12; b leave", "", false},
		{"it moves back", "a put k/1@11; b put k/1@12!decode; a delete k/1@12; a put k/1@13; b delete k/1@13", "k/1@13", false},
		{"it moves back in a list", "a put k/1@11; b put k/1@12!decode; a list 13 k/1@13; b delete k/1@13", "k/1@13", false},
		{"it can be stored later", "a put k/1@11; b put k/1@12!decode; a delete k/1@12; b put k/1@13", "k/1@13", false},
		{"it is back in a state that fails, before the deletion is", "a put k/1@11; a delete k/1@12; a put k/1@13!decode; b reach 13", "k/1@11", true},
		{"it is back in an ignored state, before the deletion is", "a put k/1@11; a delete k/1@12; a put k/1@13!skip; b reach 13", "k/1@11", false},
		{"it is back in a listed state that fails", "a put k/1@11; a delete k/1@12; a list 13 k/1@13!decode; b reach 13", "k/1@11", true},
		{"it is back in an ignored state that is listed", "a put k/1@11; a delete k/1@12; a list 13 k/1@13!skip; b reach 13", "k/1@11", false},
		{"it is back from a scope where it failed, while a third one lags", "c join; a put k/1@11; a delete k/1@12; b put k/1@12!decode; a put k/1@13!skip; b reach 13; c reach 13; a reach 13", "k/1@11", false},
		{"it is back in the same state, as a list shows", "a put k/1@12; a delete k/1@13; a list 20 k/1@12; b reach 30", "k/1@12", false},
		{"it moves on before it is seen there", "b put k/1@12!decode; b delete k/1@13; a put k/1@13", "k/1@13", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness(true)
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

// A restore of the server undoes the state that a scope keeps, as the transform ignores the present
// one. The states that follow are stored, whatever their versions.
func TestIgnoredStateOfAScopeAfterRestoreIsReplaced(t *testing.T) {
	for _, version := range []string{"60", "100"} {
		h := newScopedHarness(true)
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
