// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// expectChanges checks that a subscription is ready, or is not, and the changes that it has.
func expectChanges(t *testing.T, s *Subscription, ready bool, want ...Change) {
	t.Helper()
	got := false
	select {
	case <-s.Ready():
		got = true
	default:
	}
	if got != ready {
		t.Errorf("ready: %v, want %v", got, ready)
	}
	if changes := s.Take(); !slices.Equal(changes, want) {
		t.Errorf("changes %v, want %v", changes, want)
	}
}

func TestSubscriptionStartsWithScopesOfSet(t *testing.T) {
	var set Set
	empty := set.Subscribe()
	defer empty.Close()
	expectChanges(t, empty, true) // so that an informer without scopes syncs
	must(t, set.Add(in("a"), in("b")))
	late := set.Subscribe()
	defer late.Close()
	for _, subscription := range []*Subscription{empty, late} {
		expectChanges(t, subscription, true, Change{in("a"), Held}, Change{in("b"), Held})
		expectChanges(t, subscription, false)
	}
}

// TestObjectsOfSubscribersAreAdded counts the objects of up to three subscribers, of which nil does
// not count.
func TestObjectsOfSubscribersAreAdded(t *testing.T) {
	type counts = map[Scope]int
	for name, c := range map[string]struct {
		subscribers []counts
		want        counts
	}{
		"no subscriber":             {nil, nil},
		"one that does not count":   {[]counts{nil}, nil},
		"one":                       {[]counts{{in("a"): 3, in("b"): 0}}, counts{in("a"): 3, in("b"): 0}},
		"two":                       {[]counts{{in("a"): 3, in("b"): 1}, {in("a"): 4, in("b"): 0}}, counts{in("a"): 7, in("b"): 1}},
		"two of three count":        {[]counts{{in("a"): 3, in("b"): 1}, nil, {in("a"): 4, in("b"): 0}}, counts{in("a"): 7, in("b"): 1}},
		"one has not listed":        {[]counts{{in("a"): 3, in("b"): 1}, {in("b"): 5}}, counts{in("b"): 6}},
		"none has listed":           {[]counts{{}, {}}, counts{}},
		"each has listed another":   {[]counts{{in("a"): 3}, {in("b"): 5}}, counts{}},
		"one still holds a removed": {[]counts{{in("a"): 3, in("b"): 1, in("gone"): 9}}, counts{in("a"): 3, in("b"): 1}},
	} {
		var set Set
		must(t, set.Add(in("a"), in("b"), in("gone")))
		var all []*Subscription
		for _, objects := range c.subscribers {
			subscription := set.Subscribe()
			if objects != nil {
				subscription.Count(func() map[Scope]int { return objects })
			}
			all = append(all, subscription)
		}
		must(t, set.Remove(Removed, in("gone")))
		if got := set.Objects(); (got == nil) != (c.want == nil) || !maps.Equal(got, c.want) {
			t.Errorf("%s: objects %v, want %v", name, got, c.want)
		}
		for _, subscription := range all {
			subscription.Close()
		}
		if got := set.Objects(); got != nil {
			t.Errorf("%s: objects %v of subscribers that have ended", name, got)
		}
	}
}

func TestSubscriptionHasLastChangeOfEachScope(t *testing.T) {
	var set Set
	must(t, set.Add(in("a")))
	subscription := set.Subscribe()
	expectChanges(t, subscription, true, Change{in("a"), Held})
	must(t, set.Remove(Emptying, in("a")))
	must(t, set.Add(in("b"), in("a")))
	must(t, set.Remove(Removed, in("b")))
	must(t, set.Add(in("a"))) // changes nothing
	expectChanges(t, subscription, true, Change{in("a"), Held}, Change{in("b"), Removed})
	subscription.Close()
	must(t, set.Add(in("c")))
	expectChanges(t, subscription, false)
}

// An informer may still have a scope that the set no longer has.
func TestRemovedScopeCanBeRemovedAgain(t *testing.T) {
	var set Set
	must(t, set.Add(in("a")))
	must(t, set.Remove(Emptying, in("a")))
	subscription := set.Subscribe()
	defer subscription.Close()
	must(t, set.Remove(Removed, in("a")))
	expectChanges(t, subscription, true, Change{in("a"), Removed})
}

func TestReplaceRemovesBeforeItAdds(t *testing.T) {
	var set Set
	must(t, set.Add(byUID(0, 9), byUID(10, 19), byUID(20, 29)))
	subscription := set.Subscribe()
	defer subscription.Close()
	expectChanges(t, subscription, true, Change{byUID(0, 9), Held}, Change{byUID(10, 19), Held}, Change{byUID(20, 29), Held})
	must(t, set.Replace(byUID(0, 14), byUID(15, 19), byUID(20, 29)))
	expectChanges(t, subscription, true,
		Change{byUID(0, 9), Removed}, Change{byUID(10, 19), Removed}, Change{byUID(0, 14), Held}, Change{byUID(15, 19), Held})
	if got := set.All(); !slices.Equal(got, []Scope{byUID(0, 14), byUID(15, 19), byUID(20, 29)}) {
		t.Errorf("the set has %v", got)
	}
}

func TestRefusedChangeChangesNothing(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*Set) error
		want   string
	}{
		{"overlap with the set", func(s *Set) error { return s.Add(in("b"), Scope{Namespace: "a", LabelSelector: "env=dev"}) }, "different selectors"},
		{"overlap among the added", func(s *Set) error { return s.Add(byNamespace(0, 9), byUID(0, 9)) }, "no ranges"},
		{"overlap in Replace", func(s *Set) error { return s.Replace(in("b"), Scope{}) }, "the whole collection"},
		{"an invalid scope", func(s *Set) error { return s.Add(in("b"), labeled("env in")) }, "LabelSelector"},
		{"an invalid scope removed", func(s *Set) error { return s.Remove(Removed, in("a"), labeled("env in")) }, "LabelSelector"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var set Set
			must(t, set.Add(in("a")))
			subscription := set.Subscribe()
			defer subscription.Close()
			expectChanges(t, subscription, true, Change{in("a"), Held})
			if err := row.change(&set); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want %q", err, row.want)
			}
			expectChanges(t, subscription, false)
			if got := set.All(); !slices.Equal(got, []Scope{in("a")}) {
				t.Errorf("the set has %v", got)
			}
		})
	}
}

func TestEqualScopesAreAddedOnce(t *testing.T) {
	var set Set
	must(t, set.Add(labeled("env in (dev,prod)"), labeled("env in (prod, dev)")))
	if got := set.All(); len(got) != 1 || !set.Has(labeled("env in (dev,prod)")) {
		t.Errorf("the set has %v", got)
	}
}

func TestSetIsCompleteAfterChannel(t *testing.T) {
	var set Set
	if set.Complete() != nil {
		t.Error("a set waits for a channel that it does not have")
	}
	complete, missing := make(chan struct{}), errors.New("missing")
	set.CompleteAfter(complete, func() (time.Time, error) { return time.Unix(1, 0), missing })
	if set.Complete() != (<-chan struct{})(complete) {
		t.Error("the set does not return its channel")
	}
	if since, err := set.Incomplete(); err != missing || since != time.Unix(1, 0) {
		t.Errorf("the set is incomplete since %v: %v", since, err)
	}
	close(complete)
	if _, err := set.Incomplete(); err != nil {
		t.Errorf("a complete set is incomplete: %v", err)
	}
}

func TestErrorsOfSetAreKept(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var set Set
	set.Fail(first)
	set.Fail(second)
	if err := set.Err(); !errors.Is(err, first) || !errors.Is(err, second) {
		t.Error(err)
	}
}

// What a program writes into the store of an informer is in one scope.
func TestScopeOfObject(t *testing.T) {
	var set Set
	must(t, set.Add(in("a"), Scope{Namespace: "b", Hash: byUID(0, 1<<63-1).Hash}, Scope{Namespace: "b", Hash: byUID(1<<63, 1<<64-1).Hash}))
	complete := make(chan struct{})
	set.CompleteAfter(complete, nil)
	if _, err := set.Of("a", "x", ""); !errors.Is(err, ErrNotSelected) || !strings.Contains(err.Error(), "not known yet") {
		t.Errorf("of a set that is not complete: %v", err)
	}
	close(complete)
	if s, err := set.Of("a", "x", ""); s != in("a") || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	if s, err := set.Of("b", "x", "u"); !s.MayHold("b", "x", "u") || err != nil {
		t.Errorf("with a UID: %v, %v", s, err)
	}
	for why, namespace := range map[string]string{"without a UID": "b", "none of its Scopes": "c"} {
		if _, err := set.Of(namespace, "x", ""); !errors.Is(err, ErrNotSelected) || !strings.Contains(err.Error(), why) {
			t.Errorf("namespace %s: error %v, want %q", namespace, err, why)
		}
	}
}
