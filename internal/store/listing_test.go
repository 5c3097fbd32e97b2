// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kinformer/kinformer/internal/scope"
)

// listed returns the names of the scopes that are listed at a listing, in order.
func (h *scopedHarness) listed(listing uint64) string {
	var names []string
	for name, c := range h.scopes {
		if c.IsListedAt(listing) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// A listing changes with the list or the removal of a scope, and with nothing else. The scopes of
// an earlier listing stay known.
func TestListingChangesWithListsAndRemovals(t *testing.T) {
	for _, row := range []struct {
		name, steps string
		want        string // the listed scopes
		begins      bool   // another listing
	}{
		{"nothing", "a reach 11", "a b", false},
		{"an event", "a put k/1@11", "a b", false},
		{"a deletion", "a put k/1@11; a delete k/1@12", "a b", false},
		{"a list of a listed scope", "a list 12 k/1@11", "a b", false},
		{"an older list of a listed scope", "a list 12 k/1@11; a list 11", "a b", false},
		{"a write of the program", "program put k/1@11", "a b", false},
		{"the first list of a scope", "c join", "a b c", true},
		{"the removal of a scope", "a put k/1@11; a leave", "b", true},
		{"the removal of an empty scope", "a leave", "b", true},
		{"the removal of all", "a leave; b leave", "", true},
		{"a removed scope that is added again", "a leave; a join", "a b", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			before := h.Listing()
			h.run(t, row.steps)
			if got := h.listed(h.Listing()); got != row.want || h.Listing() != before != row.begins {
				t.Errorf("listed are %q at %d after %d, want %q", got, h.Listing(), before, row.want)
			}
			if row.name == "a removed scope that is added again" {
				return // the name is that of another scope
			}
			if got := h.listed(before); got != "a b" {
				t.Errorf("listed were %q, want a b", got)
			}
		})
	}
}

// The scopes of one list are listed at once.
func TestScopesOfOneListAreListedAtOnce(t *testing.T) {
	h := newHarness(scoped)
	scopes := make([]*Scope, 5)
	for i := range scopes {
		first := uint64(i) << 61
		scopes[i] = h.AddScope(scope.Scope{Hash: scope.Range{Field: scope.UID, First: first, Last: first + 1<<61 - 1}})
	}
	f := h.NewFeed(FeedConfig{Scopes: scopes})
	f.Begin().Commit("10")
	for _, c := range scopes {
		if c.IsListedAt(0) || !c.IsListedAt(1) {
			t.Errorf("%v is listed at 0: %v, at 1: %v", c.Name, c.IsListedAt(0), c.IsListedAt(1))
		}
	}
	f.Close()
	h.RemoveScopes(scopes[1:], true)
	for i, c := range scopes {
		if c.IsListedAt(2) != (i == 0) || !c.IsListedAt(1) {
			t.Errorf("%v is listed at 2: %v, at 1: %v", c.Name, c.IsListedAt(2), c.IsListedAt(1))
		}
	}
}

// A scope is listed once its first list is stored, and no longer listed before its removal begins.
func TestListingStaysDuringACommit(t *testing.T) {
	objects := "k/1@15 l/2@16 m/3@17"
	for _, row := range []struct{ name, before, commit, during, after string }{
		{"a first list", "", "c list 20 " + objects, "a b", "a b c"},
		{"a relist", "c list 20 " + objects, "c list 21 " + objects, "a b c", "a b c"},
		{"a removal", "c list 20 " + objects, "c leave", "a b", "a b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			h.scopes["c"] = h.AddScope(scope.Scope{})
			h.feeds["c"] = h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["c"]}})
			if row.before != "" {
				h.run(t, row.before)
			}
			paused, version := false, h.ScopeState(h.scopes["c"]).ResourceVersion
			h.pauseAfter(1, func() {
				paused = true
				if got := h.ScopeState(h.scopes["c"]).ResourceVersion; got != version {
					t.Errorf("the scope is at %q during the commit, before at %q", got, version)
				}
				if got := h.listed(h.Listing()); got != row.during {
					t.Errorf("listed are %q during the commit, want %q", got, row.during)
				}
			})
			h.run(t, row.commit)
			if got := h.listed(h.Listing()); got != row.after || !paused {
				t.Errorf("listed are %q after the commit, want %q; it paused: %v", got, row.after, paused)
			}
		})
	}
}

var errNotListed = errors.New("not listed")

// newListable returns a store without scopes whose Absent is errNotListed unless a scope is listed.
// Absent takes steps before it finds that out, and others afterwards.
func newListable(t *testing.T, steps []string) (h *scopedHarness) {
	next := func() {
		if len(steps) > 0 && steps[0] != "" {
			h.run(t, steps[0])
		}
		steps = steps[min(1, len(steps)):]
	}
	absent := func(string) error {
		next()
		defer next()
		if h.listed(h.Listing()) == "" {
			return errNotListed
		}
		return nil
	}
	h = &scopedHarness{newHarness(scoped, func(c *Config) { c.Absent = absent }), make(map[string]*Scope), make(map[string]*Feed)}
	return h
}

// An object exists while a scope is listed and removed. Between two reads of its key, a reader that
// missed it would take it for deleted, as the scope was listed in between.
func TestFindReadsAgainIfTheScopesHaveChanged(t *testing.T) {
	for _, row := range []struct {
		name          string
		before, after string // steps before and after Absent reads which scopes are listed
		again         string // steps in its second call
		exists        bool
		err           error
	}{
		{"listed and removed", "a join; a list 11 k/1@11", "a leave", "", false, errNotListed},
		{"listed with an event, and removed", "a join; a put k/1@11", "a leave", "", false, errNotListed},
		{"listed, removed and listed", "a join; a list 11 k/1@11", "a leave; a join; a list 11 k/1@11", "", true, nil},
		{"listed, removed, and listed again later", "a join; a list 11 k/1@11", "a leave", "a join; a list 12 k/1@11", true, nil},
		{"listed later", "", "a join; a list 11 k/1@11", "", true, nil},
		{"listed later without it", "", "a join", "", false, nil},
		{"listed without it", "a join", "", "", false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newListable(t, []string{row.before, row.after, row.again})
			if _, exists, err := h.Find("k"); exists != row.exists || !errors.Is(err, row.err) {
				t.Errorf("exists %v, %v, want %v, %v", exists, err, row.exists, row.err)
			}
		})
	}
}

// A scope is listed before its list is in the log, and no longer listed before its removal is. A
// reader that finds no entry of it while it is listed would take an object for deleted that exists.
// Only a reader between the two could tell them apart, so the test makes many changes, and the
// readers spin.
func TestListingIsThatOfTheEntriesAndTheLog(t *testing.T) {
	h := newHarness(scoped, func(c *Config) { c.Indexers = nil })
	var present atomic.Pointer[Scope]
	present.Store(new(Scope))
	listedAt := make(chan uint64) // the listing that the log's reader has seen at each change
	runConcurrently(func() {
		for i := range orderChanges / 2 {
			c := h.AddScope(scope.Scope{LabelSelector: strconv.Itoa(i)})
			present.Store(c)
			f := h.NewFeed(FeedConfig{Scopes: []*Scope{c}})
			list := f.Begin()
			list.Add(versioned(1).item())
			_ = list.Commit("1")
			if listing := <-listedAt; !c.IsListedAt(listing) {
				t.Errorf("the log has the list of a scope that is not listed at %d", listing)
			}
			f.Close()
			h.RemoveScopes([]*Scope{c}, true)
			if listing := <-listedAt; c.IsListedAt(listing) {
				t.Errorf("the log has the removal of a scope that is listed at %d", listing)
			}
		}
	}, func() {
		for range 1000 {
			c, listing := present.Load(), h.Listing()
			if _, exists := h.Get("a"); !exists && c.IsListedAt(listing) && h.Listing() == listing {
				t.Error("an object of a listed scope is missing")
			}
		}
		runtime.Gosched()
	}, func() {
		for range 1000 {
			if _, ok := h.cursor.TryNext(); ok {
				listedAt <- h.Listing()
			}
		}
		runtime.Gosched()
	})
}
