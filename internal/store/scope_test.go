// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// scopedHarness is a store with the scopes a and b, which may hold the same keys. Each has a feed.
type scopedHarness struct {
	*harness
	scopes map[string]*Scope
	feeds  map[string]*Feed
}

// newScopedHarness returns a store whose scopes were listed at version 10 and are empty. What the
// program writes is in a.
func newScopedHarness() *scopedHarness {
	first := func(_, _, _ string) (scope.Scope, error) { return scope.Scope{}, nil }
	h := &scopedHarness{newHarness(func(c *Config) { c.ScopeOf = first }), make(map[string]*Scope), make(map[string]*Feed)}
	h.join("a")
	h.join("b")
	h.MarkSynced()
	return h
}

// join adds a scope that was listed at version 10.
func (h *scopedHarness) join(name string) { h.joinScope(name, scope.Scope{}) }

func (h *scopedHarness) joinScope(name string, of scope.Scope) {
	h.add(name, of)
	h.feeds[name].Begin().Commit("10")
}

// add adds a scope, which has a feed and was not listed.
func (h *scopedHarness) add(name string, of scope.Scope) {
	h.scopes[name] = h.AddScope(of)
	h.feeds[name] = h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes[name]}})
}

// stateOf returns the item of "key/uid@version" or, if a function of the Config fails for the
// state, "key/uid@version!fault".
func stateOf(id string) feed.Item {
	id, fault, _ := strings.Cut(id, "!")
	return obj(id).with(fault).item()
}

// do takes a step: the name of a scope, what happens in it, and objects or a version.
func (h *scopedHarness) do(t *testing.T, step string) {
	t.Helper()
	words := strings.Fields(step)
	words = append(words, "", "")
	name, op, rest := words[0], words[1], slices.DeleteFunc(words[2:], func(word string) bool { return word == "" })
	switch {
	case step == "clear":
		h.Clear(t.Context(), errNotServed, true)
		return
	case name == "program" && op == "delete":
		if err := h.Remove(obj(rest[0])); err != nil {
			t.Error(err)
		}
		return
	case name == "program":
		if err := h.Put(obj(rest[0])); err != nil {
			t.Error(err)
		}
		return
	}
	switch f := h.feeds[name]; op {
	case "join":
		h.join(name)
	case "put":
		f.Apply(watch.Modified, stateOf(rest[0]))
	case "delete":
		f.Apply(watch.Deleted, stateOf(rest[0]))
	case "reach":
		f.AdvanceVersion(rest[0])
	case "list", "read": // a consistent read shows whether the server was restored from a backup
		next := f.Begin()
		if op == "read" {
			next.CompareContents(true)
		}
		for _, id := range rest[1:] {
			next.Add(stateOf(id))
		}
		next.Commit(rest[0])
	case "leave":
		f.Close()
		h.RemoveScopes([]*Scope{h.scopes[name]}, true)
	default:
		t.Fatalf("unknown step %q", step)
	}
}

// run takes steps that are separated by semicolons.
func (h *scopedHarness) run(t *testing.T, steps string) {
	t.Helper()
	for step := range strings.SplitSeq(steps, "; ") {
		h.do(t, step)
	}
}

// scopedBatches returns the batches of the log. A scope's objects leave in the order of a map:
// these are sorted.
func (h *scopedHarness) scopedBatches() []string {
	batches := h.batches()
	for i, batch := range batches {
		if strings.HasSuffix(batch, "(left scope)") {
			changes := strings.Split(batch, ", ")
			slices.Sort(changes)
			batches[i] = strings.Join(changes, ", ")
		}
	}
	return batches
}

func TestScopesAreMerged(t *testing.T) {
	for _, row := range []struct {
		name        string
		steps       string
		want, store string // batches of the log, separated by semicolons, and the objects in the store
	}{
		{"the later of two objects, seen last", "a put k/1@11; b put k/2@12", "add k/1@11; delete k/1@11, add k/2@12", "k/2@12"},
		{"the later of two objects, seen first", "b put k/2@12; a put k/1@11", "add k/2@12", "k/2@12"},
		{"the later of two objects, listed first", "b list 12 k/2@12; a list 11 k/1@11", "add k/2@12", "k/2@12"},
		{"the later of two objects, listed last", "a list 11 k/1@11; b list 12 k/2@12", "add k/1@11; delete k/1@11, add k/2@12", "k/2@12"},

		{"the deletion of an object that another scope has replaced", "a put k/1@11; b put k/2@13; a delete k/1@12", "add k/1@11; delete k/1@11, add k/2@13", "k/2@13"},
		{"a deletion that is later than the other scope's object", "b put k/2@12; a delete k/1@13", "add k/2@12", "k/2@12"},
		{"the deletion of an object before, in the same scope", "a put k/2@12; a delete k/1@11", "add k/2@12", "k/2@12"},
		{"a list that shows that a restore has undone the other scope's object", "b put k/1@13; a list 14 k/2@12; b list 14", "add k/1@13; delete k/1@13, add k/2@12", "k/2@12"},
		{"a restore that undoes an object of a scope, which must then be listed", "b put k/2@15; a read 12 k/1@11; b put k/3@13; b list 13 k/3@13", "add k/2@15; delete k/2@15, add k/1@11; delete k/1@11, add k/3@13", "k/3@13"},
		{"a restore that undoes a deletion, and a scope that must then be listed", "b put k/2@11; b delete k/2@15; a read 12; b put k/2@11; b list 12 k/2@11", "add k/2@11; delete k/2@11→/2@15; add k/2@11", "k/2@11"},
		{"a list that shows that a restore has undone a deletion", "b put k/1@13; b list 14; a list 14 k/2@12", "add k/1@13; delete k/1@13; add k/2@12", "k/2@12"},
		{"a list that shows that a restore has undone an object, before another scope has one", "a list 100 k/1@100; a read 50; b put k/2@40; b list 50 k/2@40", "add k/1@100; delete k/1@100; add k/2@40", "k/2@40"},
		{"a restore that undoes an object, before its name is used again", "a list 100 k/1@100; a read 50; a put k/3@60", "add k/1@100; delete k/1@100; add k/3@60", "k/3@60"},
		{"a restore that two scopes notice", "a reach 100; b reach 100; a read 50; b read 50; a put k/1@60; b put l/2@61", "add k/1@60; add l/2@61", "k/1@60 l/2@61"},
		{"a list from before the version of its scope", "a put k/1@12; a list 11 l/2@11", "add k/1@12", "k/1@12"},
		{"a list from before the other scope's object", "b put k/1@13; a list 12 k/2@12", "add k/1@13", "k/1@13"},
		{"a list without the objects of the other scope", "b put k/1@11; a list 12", "add k/1@11", "k/1@11"},

		{"an older state after a deletion in the other scope", "b put k/2@12; b delete k/2@13; a put k/1@11", "add k/2@12; delete k/2@12→/2@13", ""},
		{"an older state in a list after a deletion in the other scope", "b put k/2@12; b delete k/2@13; a list 11 k/1@11", "add k/2@12; delete k/2@12→/2@13", ""},
		{"an older state after a list without the object", "b put k/2@12; b list 13; a put k/1@11", "add k/2@12; delete k/2@12", ""},
		{"an older state after two deletions, the later one first", "c join; b put k/2@12; b delete k/2@14; c delete k/3@11; a put k/1@12", "add k/2@12; delete k/2@12→/2@14", ""},
		{"an update from before a deletion in the other scope", "a put k/1@11; b delete k/2@14; a put k/1@12; a delete k/1@13", "add k/1@11; update k/1@11→/1@12; delete k/1@12→/1@13", ""},
		{"a later state after a deletion in the other scope", "b put k/2@12; b delete k/2@13; a put k/3@14", "add k/2@12; delete k/2@12→/2@13; add k/3@14", "k/3@14"},

		{"a deletion without scopes to move to", "a put k/1@11; a delete k/1@12", "add k/1@11; delete k/1@11→/1@12", ""},

		{"an older state after the scope of the deletion has left", "a put k/1@12; a delete k/1@13; a leave; b put k/2@12", "add k/1@12; delete k/1@12→/1@13", ""},
		{"an older state after the scope of a later object has left", "a put k/2@12; a leave; b put k/1@11", "add k/2@12; delete k/2@12→/2@12 (left scope)", ""},
		{"a later state after the scope of an object has left", "a put k/2@12; a leave; b put k/3@13", "add k/2@12; delete k/2@12→/2@12 (left scope); add k/3@13", "k/3@13"},

		{"a scope leaves", "a list 11 k/1@11 l/2@11; b put m/3@11; a leave", "add k/1@11, add l/2@11; add m/3@11; delete k/1@11→/1@11 (left scope), delete l/2@11→/2@11 (left scope)", "m/3@11"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newScopedHarness()
			h.run(t, row.steps)
			got := h.scopedBatches()
			if want := strings.Split(row.want, "; "); !slices.Equal(got, want) {
				t.Errorf("the log received %q, want %q", got, want)
			}
			if got := strings.Join(contents(h.Snapshot()), " "); got != row.store {
				t.Errorf("the store has %q, want %q", got, row.store)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A deletion is remembered until all scopes that may hold its key have reached its version.
func TestPastDeletionIsForgotten(t *testing.T) {
	for _, row := range []struct{ recorded, forgotten string }{
		{"a put k/1@11; a delete k/1@12", "b reach 12"},
		{"a put k/1@11; a delete k/1@12; a leave", "b reach 12"},
		{"a put k/1@11; a delete k/1@12; a leave", "b leave"},
		{"a put k/1@11; a leave", "b reach 11"},
		{"a put k/1@11; a delete k/1@12; a put k/2@13; a delete k/2@14", "b reach 14"},
		{"c join; a put k/1@11; a delete k/1@12; b reach 12", "c reach 12"},
	} {
		h := newScopedHarness()
		h.run(t, row.recorded)
		if got, unstored := len(h.tombstones.byKey), len(h.tombstones.inOrder); got != 1 || unstored != 1 {
			t.Errorf("%d tombstones, %d unstored after %q", got, unstored, row.recorded)
		}
		h.run(t, row.forgotten)
		if got, unstored := len(h.tombstones.byKey), len(h.tombstones.inOrder); got != 0 || unstored != 0 {
			t.Errorf("%d tombstones, %d unstored after %q; %s", got, unstored, row.recorded, row.forgotten)
		}
	}
}

// No deletion is remembered for a scope that cannot hold its key.
func TestDeletionsInOtherNamespacesAreNotRemembered(t *testing.T) {
	h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"}, "a", "b")
	h.run(t, "a put a/k/1@11; a delete a/k/1@12")
	if got := len(h.tombstones.byKey); got != 0 {
		t.Errorf("%d tombstones", got)
	}
}

// After a restore that the feed of one scope has noticed, scopes of the same keys must be listed.
// Those of other keys go on.
func TestScopesAfterRestore(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@100; b reach 100")
	h.run(t, "a read 50 k/1@40")
	h.batches()
	h.expect(t, nil, "k/1@40")
	b := h.feeds["b"]
	if !b.NeedsList() || h.feeds["a"].NeedsList() {
		t.Error("a scope of the same keys need not be listed, or the listed one must")
	}
	if outcome := b.Apply(watch.Added, obj("n/4@101").item()); outcome != feed.Outdated {
		t.Errorf("an event before the list: outcome %v, want Outdated", outcome)
	}
	if b.AdvanceVersion("101"); h.ScopeState(h.scopes["b"]).ResourceVersion != "100" {
		t.Errorf("the scope is at %s before its list", h.ScopeState(h.scopes["b"]).ResourceVersion)
	}
	if h.run(t, "b list 50"); b.NeedsList() {
		t.Error("the scope must be listed again")
	}

	others := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"}, "a", "b")
	others.run(t, "a reach 20; b reach 20; a read 15; b put b/k/1@21")
	if got := strings.Join(contents(others.Snapshot()), " "); got != "b/k/1@21" {
		t.Errorf("after the restore of a scope of other keys, the store has %q", got)
	}
}

func TestVersionIsThatOfStalestScope(t *testing.T) {
	h := newScopedHarness()
	for _, row := range []struct{ steps, want string }{
		{"a reach 15", "10"}, {"b put k/1@12", "12"}, {"b list 20", "15"}, {"b reach 18", "15"}, {"a leave", "20"},
	} {
		h.run(t, row.steps)
		if got := h.ResourceVersion(); got != row.want {
			t.Errorf("after %q: version %q, want %q", row.steps, got, row.want)
		}
		if got := h.Snapshot().ResourceVersion(); got != row.want {
			t.Errorf("after %q: snapshot's version %q, want %q", row.steps, got, row.want)
		}
	}
}

// A feed has two scopes, one of which the feed before has brought further.
func TestVersionIsThatOfStalestScopeOfOneFeed(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a reach 12; b reach 12")
	joined := h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"], h.scopes["b"]}, From: "12"})
	h.run(t, "a reach 15")
	h.feeds["a"].Close()
	h.feeds["b"].Close()
	joined.Take()
	joined.AdvanceVersion("13")
	if got := h.ResourceVersion(); got != "13" {
		t.Errorf("version %s, one scope is at %s", got, h.scopes["b"].reached())
	}
}

func TestVersionsOfScopes(t *testing.T) {
	h := &scopedHarness{newHarness(scoped), make(map[string]*Scope), make(map[string]*Feed)}
	for _, name := range []string{"a", "b"} {
		h.joinScope(name, scope.Scope{Namespace: name})
	}
	h.MarkSynced()
	h.run(t, "a reach 15; b reach 12")
	a, b := h.scopes["a"], h.scopes["b"]
	if got := h.LowestVersion([]*Scope{a, b}); got != "12" {
		t.Errorf("lowest version %q", got)
	}
	added := h.AddScope(scope.Scope{Namespace: "b", Hash: scope.Range{Field: scope.UID, Last: 9}})
	if got := h.NewFeed(FeedConfig{Scopes: []*Scope{added}}).NotOlderThan(); got != "12" {
		t.Errorf("%q beside a scope that shares keys with the one at 12", got)
	}
	alone := h.NewFeed(FeedConfig{Scopes: []*Scope{h.AddScope(scope.Scope{Namespace: "alone"})}})
	if got := alone.NotOlderThan(); got != "" {
		t.Errorf("%q without scopes that share keys", got)
	}
	h.run(t, "a leave")
	if got := alone.NotOlderThan(); got != "15" {
		t.Errorf("%q after a scope has left at 15", got)
	}
	h.run(t, "b read 13")
	if got := alone.NotOlderThan(); got != "13" {
		t.Errorf("%q after the server was restored to 13", got)
	}
}

func TestFeedDropsEventsOfOtherScopes(t *testing.T) {
	h := newHarness(scoped)
	only := func(uid string) *Scope {
		hash := scope.HashOf(uid)
		return h.AddScope(scope.Scope{Hash: scope.Range{Field: scope.UID, First: hash, Last: hash}})
	}
	low, high := only("low"), only("high")
	f := h.NewFeed(FeedConfig{Scopes: []*Scope{high, low}})
	next := f.Begin()
	for _, o := range []*object{obj("k/low@1"), obj("l/between@2"), obj("m/high@3"), obj("n/beyond@4"), obj("o/other@5")} {
		next.Add(o.item())
	}
	next.Commit("10")
	h.expect(t, []string{"add k/low@1 (initial), add m/high@3 (initial)"}, "k/low@1", "m/high@3")
	f.Apply(watch.Added, obj("o/between@11").item())
	f.Drop([]*Scope{high})
	f.Apply(watch.Modified, obj("m/high@12").item())
	h.expect(t, nil, "k/low@1", "m/high@3")
	if got := f.OutOfScope(); got != 4 {
		t.Errorf("%d items were out of scope, want 4: not those of a scope that the feed had", got)
	}
}

// A feed may have asked for a list before another one has taken its scopes.
func TestListOfAFormerFeedChangesNothing(t *testing.T) {
	h := newScopedHarness()
	list := h.feeds["a"].Begin()
	list.Add(stateOf("k/1@12"))
	h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"]}, From: "10"}).Take()
	if err := list.Commit("20"); err != nil {
		t.Fatal(err)
	}
	h.expect(t, nil)
	if got := h.ScopeState(h.scopes["a"]).ResourceVersion; got != "10" {
		t.Errorf("the scope is at %s", got)
	}
}

// A feed that takes scopes of others repeats events of theirs. At the version that a scope has
// reached, there may be more of other keys.
func TestEventsAreAppliedOnceAfterTake(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@11; a put m/3@11; a put k/1@12; a delete k/1@13; a put m/3@14; b reach 14")
	all := []*Scope{h.scopes["a"]}
	joined := h.NewFeed(FeedConfig{Scopes: all, From: "10"})
	h.expect(t, []string{"add k/1@11", "add m/3@11", "update k/1@11→/1@12", "delete k/1@12→/1@13", "update m/3@11→/3@14"}, "m/3@14")
	joined.Take()
	h.feeds["a"].Apply(watch.Added, obj("n/9@20").item()) // is dropped
	for _, step := range []struct {
		eventType watch.EventType
		state     string
		outcome   feed.Outcome
	}{
		{watch.Added, "k/1@11", feed.Stale},
		{watch.Added, "m/3@11", feed.Stale},
		{watch.Modified, "k/1@12", feed.Stale},
		{watch.Deleted, "k/1@13", feed.Stale},
		{watch.Deleted, "m/3@13", feed.Stale},
		{watch.Added, "l/2@14", feed.Applied},
		{watch.Modified, "m/3@14", feed.Unchanged},
		{watch.Added, "l/2@14", feed.Unchanged},
		{watch.Modified, "l/2@15", feed.Applied},
	} {
		if got := joined.Apply(step.eventType, obj(step.state).item()); got != step.outcome {
			t.Errorf("%s of %s: outcome %v, want %v", step.eventType, step.state, got, step.outcome)
		}
	}
	h.expect(t, []string{"add l/2@14", "update l/2@14→/2@15"}, "l/2@15", "m/3@14")
	if got := joined.NotOlderThan(); got != "14" {
		t.Errorf("a list may be older than what the scope has reached: %q", got)
	}
}

// A server that was restored from a backup has scopes behind the version at which a feed starts.
func TestTakenScopesAreListedIfTheyAreBehind(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@11; b reach 12")
	all := []*Scope{h.scopes["a"]}
	joined := h.NewFeed(FeedConfig{Scopes: all, From: "12"})
	h.feeds["a"].Close()
	joined.Take()
	if outcome := joined.Apply(watch.Added, obj("l/2@13").item()); outcome != feed.Outdated || !joined.NeedsList() {
		t.Errorf("outcome %v", outcome)
	}
	next := joined.Begin()
	next.Add(obj("l/2@13").item())
	if err := next.Commit("13"); err != nil || joined.NeedsList() {
		t.Error(err)
	}
	h.expect(t, []string{"add k/1@11", "delete k/1@11, add l/2@13"}, "l/2@13")
}

// The locks of writers and readers are held while scopes are forgotten. An informer may have ten
// thousand namespaces, of which one is removed at a time.
func TestForgottenScopesCostNoVisitOfOtherNamespaces(t *testing.T) {
	k := &scopes{byNamespace: make(map[string][]*Scope)}
	gone, kept := &Scope{Name: scope.Scope{Namespace: "a"}}, &Scope{Name: scope.Scope{Namespace: "a", Hash: scope.Range{Field: scope.UID, Last: 9}}}
	k.add(gone)
	k.add(kept)
	k.byNamespace["b"] = []*Scope{nil} // which a visit would dereference
	gone.removed.Store(1)
	k.forget([]*Scope{gone})
	if !slices.Equal(k.held, []*Scope{kept}) || !slices.Equal(k.byNamespace["a"], []*Scope{kept}) {
		t.Errorf("held are %v, of the namespace %v", k.held, k.byNamespace["a"])
	}
}

// A request may have another field selector than that of its scope.
func TestObjectsOfOtherNamesAreOutOfScope(t *testing.T) {
	h := &scopedHarness{newHarness(scoped), make(map[string]*Scope), make(map[string]*Feed)}
	for _, name := range []string{"a", "b"} {
		h.joinScope(name, scope.Scope{Namespace: "n", Name: name})
	}
	h.run(t, "a list 20 n/a/1@12 n/b/2@13; b list 20 n/a/1@12 n/b/2@13; a put n/b/2@21; a leave")
	if got := strings.Join(contents(h.Snapshot()), " "); got != "n/b/2@13" {
		t.Errorf("the store has %q", got)
	}
}

// Another scope advances while a consistent read is received: the server was not restored.
func TestReadBesideAScopeThatAdvancesIsNoRestore(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@15; b put l/2@16")
	read := h.feeds["a"].Begin()
	read.CompareContents(true)
	read.Add(stateOf("k/1@15"))
	h.run(t, "b put m/3@25")
	if err := read.Commit("20"); err != nil || h.scopes["b"].outdated || h.Store.scopes.epoch != 0 {
		t.Errorf("error %v, outdated %v, epoch %d", err, h.scopes["b"].outdated, h.Store.scopes.epoch)
	}
}

// A list that has begun before a restore was noticed has the states of before.
func TestListFromBeforeARestoreIsRefused(t *testing.T) {
	for _, listed := range []bool{true, false} {
		h := newScopedHarness()
		h.run(t, "a list 90; b list 90")
		by := "b"
		if !listed {
			by = "c"
			h.add(by, scope.Scope{})
		}
		next := h.feeds[by].Begin()
		next.Add(stateOf("k/2@95"))
		h.run(t, "a read 50")
		if err := next.Commit("100"); !errors.Is(err, feed.ErrOutdated) {
			t.Errorf("listed before: %v, error %v", listed, err)
		}
		h.run(t, by+" list 51; a put k/1@52")
		if got := strings.Join(contents(h.Snapshot()), " "); got != "k/1@52" {
			t.Errorf("listed before: %v, the store has %q", listed, got)
		}
	}
}

// A feed that has taken a scope, and has not reached what that had, must list it if its watch ends.
func TestFeedBehindItsScopesMustListThem(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a reach 15")
	joined := h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"], h.scopes["b"]}, From: "10"})
	if joined.NeedsList() {
		t.Error("a feed that has no scopes must list them")
	}
	joined.Take()
	if !joined.NeedsList() {
		t.Error("a feed at 10 need not list a scope at 15")
	}
	joined.AdvanceVersion("15")
	if joined.NeedsList() {
		t.Error("a feed that has reached its scopes must list them")
	}
}
