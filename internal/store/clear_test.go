// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

var errNotServed = errors.New("not served")

// expectReads checks the error of each read that has one.
func (h *harness) expectReads(t *testing.T, want error) {
	t.Helper()
	_, byIndex := h.Snapshot().ByIndex("group", "g")
	_, keys := h.Snapshot().IndexKeys("group", "g")
	_, values := h.Snapshot().IndexValues("group")
	for name, got := range map[string]error{
		"Absence": h.Absence(), "KeyError": h.KeyError("a"), "ByIndex": byIndex, "IndexKeys": keys, "IndexValues": values,
	} {
		if !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: error %v, want %v", name, got, want)
		}
	}
}

func TestClear(t *testing.T) {
	for name, options := range map[string][]func(*Config){
		"live": nil, "packed": {packing}, "without item keys": {withoutItemKeys},
	} {
		for why, suffix := range map[error]string{nil: "", errNotServed: " (left scope)"} {
			t.Run(fmt.Sprint(name, ", ", why), func(t *testing.T) {
				h := newHarness(options...)
				h.relist("10", obj("a/1@5", "g"), obj("b/2@6").with("index"), obj("c/3@7").with("decode"))
				before := h.Snapshot()
				h.batches()
				h.reported()
				deleted := func(id string) string {
					if key, version, _ := strings.Cut(id, "/"); why != nil {
						return "delete " + id + "→/" + version + suffix
					} else {
						return "delete " + key + "/" + version
					}
				}
				h.Clear(t.Context(), why, true)
				got := h.batches()
				if len(got) == 1 {
					changes := strings.Split(got[0], ", ")
					slices.Sort(changes)
					got = changes
				}
				if want := []string{deleted("a/1@5"), deleted("b/2@6")}; !slices.Equal(got, want) {
					t.Errorf("the log received %q, want %q in one batch", got, want)
				}
				h.expect(t, nil)
				h.expectReads(t, why)
				if n := h.Quarantined(); n != 0 || h.Failure("c") != nil || h.KeyError("c") != why {
					t.Errorf("%d in quarantine; Failure %v, KeyError %v", n, h.Failure("c"), h.KeyError("c"))
				}
				if got := h.reported(); len(got) > 0 {
					t.Errorf("reported %q", got)
				}
				if objects, err := before.ByIndex("group", "g"); len(objects) != 1 || err != nil || before.Len() != 2 {
					t.Errorf("a snapshot from before has %v, %v of %d objects", objects, err, before.Len())
				}

				// Again, for another reason: no event.
				other := errors.New("gone")
				h.Clear(t.Context(), other, true)
				h.expect(t, nil)
				h.expectReads(t, other)
				h.Clear(t.Context(), why, true)

				if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
					t.Error(err)
				}
				h.relist("20", obj("a/1@5", "g"), obj("d/4@15", "g"))
				h.expect(t, []string{"add a/1@5, add d/4@15"}, "a/1@5", "d/4@15")
				h.expectReads(t, nil)
				if objects, err := h.Snapshot().ByIndex("uid", "4"); len(objects) != 1 || err != nil {
					t.Errorf("the index that was added has %v, %v", objects, err)
				}
			})
		}
	}
}

// A call of Clear that comes late, or that no request has confirmed, does not remove a new state.
func TestLateClearDoesNothing(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, row := range []struct {
		name             string
		ctx              context.Context
		before           string
		confirmed, clear bool
	}{
		{"confirmed", t.Context(), "a put k/1@11", true, true},
		{"after the verdict has changed", ended, "a put k/1@11", true, false},
		{"not confirmed", t.Context(), "a put k/1@11", false, false},
		{"not confirmed, and a scope is listed again", t.Context(), "clear; a list 20 k/1@11", false, false},
		{"not confirmed, and no scope is listed again", t.Context(), "a put k/1@11; clear", false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			h.clear(t, row.before)
			ever, listed := h.Listed()
			before, absent := contents(h.Snapshot()), h.Absence()
			h.batches()
			if got := h.Clear(row.ctx, nil, row.confirmed); got != row.clear {
				t.Errorf("Clear returns %v, want %v", got, row.clear)
			}
			if got := h.batches(); !row.clear && (len(got) > 0 || !slices.Equal(contents(h.Snapshot()), before) || h.Absence() != absent) {
				t.Errorf("the log received %q, the store has %q, Absence is %v", got, contents(h.Snapshot()), h.Absence())
			}
			if everNow, now := h.Listed(); !ever || !everNow || now != (listed && !row.clear) {
				t.Errorf("Listed: %v %v, before %v %v", everNow, now, ever, listed)
			}
			if h.clear(t, "a list 30; b list 30"); h.Absence() != nil || h.IsCleared() {
				t.Errorf("after lists: Absence %v, cleared %v", h.Absence(), h.IsCleared())
			}
		})
	}
}

// What was received before Clear is not stored after it, up to the next list.
func TestFeedIsOutdatedAfterClear(t *testing.T) {
	for name, row := range map[string]struct {
		options []func(*Config)
		late    func(h *harness, f *Feed, begun feed.Replacement) bool // reports whether it is outdated
	}{
		"an event": {nil, func(h *harness, f *Feed, _ feed.Replacement) bool {
			return f.Apply(watch.Added, obj("b/2@11").item()) == feed.Outdated
		}},
		"a deletion": {nil, func(h *harness, f *Feed, _ feed.Replacement) bool {
			return f.Apply(watch.Deleted, obj("a/1@11").item()) == feed.Outdated
		}},
		"a deletion that is emitted although the object was not stored": {[]func(*Config){func(c *Config) { c.EmitUnstoredDeletions = true }}, func(h *harness, f *Feed, _ feed.Replacement) bool {
			return f.Apply(watch.Deleted, obj("b/2@11").item()) == feed.Outdated
		}},
		"an event that cannot be stored": {nil, func(h *harness, f *Feed, _ feed.Replacement) bool {
			return f.Apply(watch.Added, obj("b/2@11").with("decode").item()) == feed.Outdated
		}},
		"a list": {nil, func(h *harness, _ *Feed, begun feed.Replacement) bool {
			begun.Add(obj("b/2@11").item())
			return errors.Is(begun.Commit("11"), feed.ErrOutdated)
		}},
		"a consistent read": {nil, func(h *harness, _ *Feed, begun feed.Replacement) bool {
			begun.CompareContents(true)
			begun.Add(obj("b/2@11").item())
			return errors.Is(begun.Commit("11"), feed.ErrOutdated)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(row.options...)
			h.relist("10", obj("a/1@5"))
			begun := h.Begin()
			h.Clear(t.Context(), errNotServed, true)
			h.batches()
			h.reported()
			if !row.late(h, h.Feed, begun) {
				t.Error("it is not outdated")
			}
			h.expect(t, nil)
			h.expectReads(t, errNotServed)
			if got := h.reported(); len(got) > 0 || h.Quarantined() != 0 {
				t.Errorf("reported %q, %d in quarantine", got, h.Quarantined())
			}
			h.relist("12")
			if outcome := h.apply(watch.Added, obj("c/3@13")); outcome != feed.Applied {
				t.Errorf("after a list: outcome %v", outcome)
			}
			h.expectReads(t, nil)
		})
	}
}

// cleared takes "clear" and "gone" as steps.
func (h *scopedHarness) clear(t *testing.T, steps string) {
	t.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		switch step {
		case "clear":
			h.Clear(t.Context(), errNotServed, true)
		case "gone":
			h.Clear(t.Context(), nil, true)
		default:
			h.do(t, step)
		}
	}
}

func TestClearWithScopes(t *testing.T) {
	for _, row := range []struct {
		name         string
		before, then string
		want, store  string // batches of the log after before, separated by semicolons, and the objects in the store
		absent       bool
	}{
		{"the objects exist", "a put k/1@11; b put l/2@12", "clear", "delete k/1@11→/1@11 (left scope), delete l/2@12→/2@12 (left scope)", "", true},
		{"the objects are gone", "a put k/1@11", "gone", "delete k/1@11", "", false},
		{"one scope is listed again", "a put k/1@11", "gone; clear; a list 20 k/1@11", "delete k/1@11; add k/1@11", "k/1@11", true},
		{"all scopes are listed again", "a put k/1@11", "gone; clear; a list 20 k/3@15; b list 20 l/2@12", "delete k/1@11; add k/3@15; add l/2@12", "k/3@15 l/2@12", false},
		{"one scope is listed again twice", "a reach 11", "clear; a list 20; a list 21", "", "", true},
		{"the only scope that was not listed again leaves", "a reach 11", "clear; a list 20; b leave", "", "", false},
		{"a scope joins that was not listed", "a reach 11", "clear; a list 20; c join; b list 20", "", "", false},
		{"cleared again before all scopes were listed", "a put k/1@11", "gone; clear; a list 20 k/1@11; gone; b list 21", "delete k/1@11; add k/1@11; delete k/1@11", "", false},
		{"an event of a scope that was not listed again", "a put k/1@11", "gone; b list 20; a put k/1@21", "delete k/1@11", "", false},
		{"a late list of a scope", "a put k/1@11", "gone; a list 20; b list 20 l/2@12", "delete k/1@11; add l/2@12", "l/2@12", false},
		{"the same version after another reason", "a put k/1@11", "gone; a list 11 k/1@11", "delete k/1@11; add k/1@11", "k/1@11", false},

		{"a tombstone", "b put k/2@12; b delete k/2@13", "gone; a list 20 k/3@15; b list 20", "add k/3@15", "k/3@15", false},
		{"a tombstone of a scope that has left", "a put k/1@12; a delete k/1@13; a leave", "gone; b list 20 k/3@15", "add k/3@15", "k/3@15", false},
		{"a failure", "a put k/1@11!decode", "gone; a list 20; b list 20", "", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			h.run(t, row.before)
			h.batches()
			h.clear(t, row.then)
			got := slices.DeleteFunc(h.scopedBatches(), func(batch string) bool { return batch == "" })
			if want := strings.Split(row.want, "; "); !slices.Equal(got, want) && strings.Join(got, "") != row.want {
				t.Errorf("the log received %q, want %q", got, want)
			}
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.store {
				t.Errorf("the store has %q, want %q", got, row.store)
			}
			if got := h.Absence() != nil; got != row.absent {
				t.Errorf("Absence %v, want one: %v", h.Absence(), row.absent)
			}
			h.expectReads(t, h.Absence())
			objects := 0
			for name, scope := range h.scopes {
				if state := h.ScopeState(scope); !scope.isRemoved() {
					objects += state.Objects
				} else if state.Objects != 0 {
					t.Errorf("scope %s was removed, and has %d objects", name, state.Objects)
				}
			}
			if objects != h.Len() {
				t.Errorf("the scopes have %d objects, the store %d", objects, h.Len())
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A feed that continues from the version of cleared scopes lacks their objects.
func TestFeedFromVersionBeforeClearIsOutdated(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@11; b reach 11")
	begun := h.feeds["a"].Begin()
	h.Clear(t.Context(), errNotServed, true)
	if err := begun.Commit("12"); !errors.Is(err, feed.ErrOutdated) {
		t.Errorf("a list that began before: error %v", err)
	}
	if err := h.feeds["a"].Begin().Commit("10"); !errors.Is(err, feed.ErrOutdated) {
		t.Errorf("a list from before the version of its scope: error %v", err)
	}
	all := slices.Collect(maps.Values(h.scopes))
	joined := h.NewFeed(FeedConfig{Scopes: all, From: "11"})
	joined.AdvanceVersion("30")
	if outcome := joined.Apply(watch.Added, obj("l/2@12").item()); outcome != feed.Outdated {
		t.Errorf("outcome %v", outcome)
	}
	if !joined.NeedsList() {
		t.Error("the feed need not be listed")
	}
	next := joined.Begin()
	next.Add(obj("k/1@11").item())
	if err := next.Commit("13"); err != nil {
		t.Error(err)
	}
	h.expectReads(t, nil)
	if outcome := joined.Apply(watch.Added, obj("l/2@14").item()); outcome != feed.Applied || joined.NeedsList() {
		t.Errorf("after a list: outcome %v", outcome)
	}
}

// The list of such a feed counts, although the feeds before have listed nothing since.
func TestFeedTakesScopesWithAList(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@11; b reach 11")
	joined := h.NewFeed(FeedConfig{Scopes: slices.Collect(maps.Values(h.scopes)), From: "11"})
	h.Clear(t.Context(), errNotServed, true)
	if err := joined.Begin().Commit("13"); err != nil {
		t.Error(err)
	}
	h.expectReads(t, nil)
}

func TestClearWakesWaiters(t *testing.T) {
	h := newScopedHarness()
	var waiting []<-chan struct{}
	var cancels []func()
	for _, scope := range []*Scope{nil, h.scopes["a"], h.scopes["b"]} {
		for _, version := range []string{"100", AnyVersion} {
			reached, cancel := h.Await(scope, version)
			waiting, cancels = append(waiting, reached), append(cancels, cancel)
		}
	}
	h.Clear(t.Context(), errNotServed, true)
	for i, reached := range waiting {
		select {
		case <-reached:
		default:
			t.Errorf("waiter %d was not woken", i)
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
	if n := h.waiters.n.Load(); n != 0 || h.scopeWaiters.Load() != 0 {
		t.Errorf("%d and %d waiters are counted", n, h.scopeWaiters.Load())
	}
}

// An aggregated API may have another backend, whose versions are lower. A consistent read shows
// that.
func TestCleardScopeIsListedAtLowerVersion(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@100; b reach 100")
	h.clear(t, "clear; a read 11 k/1@5")
	h.expectReads(t, errNotServed)
	h.run(t, "b read 12")
	h.expectReads(t, nil)
	if got := contents(h.Snapshot()); !slices.Equal(got, []string{"k/1@5"}) {
		t.Errorf("the store has %q", got)
	}
}

// A snapshot has all objects, or an error.
func TestClearWhileRead(t *testing.T) {
	h := newHarness()
	list := []*object{obj("a/1@1", "g"), obj("b/2@2", "g")}
	h.relist("10", list...)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for range 200 {
			h.Clear(t.Context(), errNotServed, true)
			h.relist("10", list...)
		}
	})
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			snapshot := h.Snapshot()
			if objects, err := snapshot.ByIndex("group", "g"); err == nil && len(objects) != 2 {
				t.Errorf("a snapshot has %v of %d, and no error", objects, snapshot.Len())
				return
			}
		}
	})
	group.Wait()
}

// The program writes into a scope that is not added yet, and the store is cleared. Reads wait for
// the lists of the scopes that were added before, and not for that of this one.
func TestReadsDoNotWaitForAScopeThatIsAddedAfterClear(t *testing.T) {
	for _, writes := range []string{"", "program put b/k/1@5"} {
		h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"}, "a")
		if writes != "" {
			h.run(t, writes)
		}
		h.run(t, "clear")
		h.add("b", scope.Scope{Namespace: "b"})
		h.run(t, "a list 11 a/k/1@11")
		if err := h.Absence(); err != nil {
			t.Errorf("after %q: %v", writes, err)
		}
	}
}
