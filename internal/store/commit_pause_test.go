// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// pauseAfter makes the next commit pause after a number of keys, calls meanwhile then, and pauses
// no more.
func (h *scopedHarness) pauseAfter(keys int, meanwhile func()) {
	h.Store.pieceSize = 1
	h.Store.yield = func() {
		if keys--; keys < 0 {
			h.Store.yield = func() {}
			meanwhile()
		}
	}
}

// TestCommitSeesWhatIsWrittenInItsPauses writes while a list of scope a pauses, which has decided
// on key k: z is another key of the list, and comes later.
func TestCommitSeesWhatIsWrittenInItsPauses(t *testing.T) {
	for name, c := range map[string]struct {
		before    []string
		list      string
		meanwhile []string
		batches   []string // since the list began
		want      []string
		failed    int // keys whose newest state could not be stored
	}{
		"another scope has a newer object": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put k/2@25"},
			batches: []string{"add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"another scope has an older object": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put k/2@12"},
			batches: []string{"add k/2@12", "delete k/2@12, add z/9@16, add k/1@15"}, want: []string{"k/1@15", "z/9@16"},
		},
		"another scope has a newer object than the one that the list lacks": {
			before: []string{"a put k/1@12"}, list: "a list 20 z/9@16", meanwhile: []string{"b put k/2@25"},
			batches: []string{"delete k/1@12, add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"another scope has another key": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put l/2@25"},
			batches: []string{"add l/2@25", "add k/1@15, add z/9@16"}, want: []string{"k/1@15", "l/2@25", "z/9@16"},
		},
		"another scope has a newer object than the one that the list could not store": {
			before: []string{"a put k/1@12"}, list: "a list 20 k/1@15!decode z/9@16", meanwhile: []string{"b put k/2@25"},
			batches: []string{"delete k/1@12, add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"the program has written what the list could not store": {
			before: []string{"a put k/1@12"}, list: "a list 20 k/1@15!decode z/9@16", meanwhile: []string{"program put k/1@13"},
			batches: []string{"update k/1@12→/1@13", "add z/9@16"}, want: []string{"k/1@13", "z/9@16"}, failed: 1,
		},
		"the program has written a later state than the one that is ignored": {
			before: []string{"a put k/1@12", "program put k/1@30"}, list: "a list 20 k/1@15!skip z/9@16", meanwhile: []string{"b delete k/9@19"},
			batches: []string{"add z/9@16"}, want: []string{"k/1@30", "z/9@16"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScopedHarness()
			for _, step := range c.before {
				h.do(t, step)
			}
			h.batches()
			h.pauseAfter(1, func() {
				for _, step := range c.meanwhile {
					h.do(t, step)
				}
			})
			h.do(t, c.list)
			h.expect(t, c.batches, c.want...)
			if n, _ := h.QuarantineSize(); n != c.failed {
				t.Errorf("%d keys have failed, want %d", n, c.failed)
			}
		})
	}
}

// TestScopeWithASecondFeedIsNotOutrun commits a list of a scope that another feed has, too: nothing
// passes while the commit decides whether the scope has reached a later version.
func TestScopeWithASecondFeedIsNotOutrun(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@12; a put l/1@13")
	h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"]}, From: "13"})
	h.pauseAfter(0, func() { t.Error("the commit pauses") })
	h.run(t, "a list 20 y/8@16 z/9@17")
	h.batches()
	h.expect(t, nil, "y/8@16", "z/9@17")
}

// TestListBecomesOutdatedInAPause lets the store drop a tombstone that a scope has not passed.
func TestListBecomesOutdatedInAPause(t *testing.T) {
	h := newScopedHarness()
	next := h.feeds["a"].Begin()
	next.Add(stateOf("k/1@15"))
	h.pauseAfter(0, func() { h.withMu(func() { h.scopes["a"].minVersion = "25" }) })
	if err := next.Commit("20"); !errors.Is(err, feed.ErrOutdated) {
		t.Errorf("commit: %v", err)
	}
	h.expect(t, nil)
}

// TestCommitSeesAllKeysOfItsScopes drops objects under the keys of failed states before it comes to
// those that the list lacks.
func TestCommitSeesAllKeysOfItsScopes(t *testing.T) {
	h := newScopedHarness()
	for i := range 8 {
		h.do(t, fmt.Sprintf("a put k%d/%d@%d", i, i+1, 100+i))
	}
	h.pauseAfter(0, func() {})
	h.do(t, "a list 500 k0/99@400!decode")
	h.batches()
	h.expect(t, nil)
}

// TestCommitReportsWithoutLocks checks that the program may commit when an error of a commit is
// reported.
func TestCommitReportsWithoutLocks(t *testing.T) {
	h := newScopedHarness()
	reports := 0
	h.Store.config.Report = func(string, error) {
		if reports++; !h.commits.TryLock() {
			t.Error("an error is reported under the lock of commits")
			return
		}
		h.commits.Unlock()
	}
	h.Store.pieceSize = 1
	next := h.feeds["a"].Begin()
	next.Add(stateOf("k/1@15"))
	next.Add(stateOf("l/1@16"))
	late := func(any) ([]string, error) { return nil, errInjected }
	if err := h.AddIndexers(map[string]IndexFunc{"late": late}); err != nil {
		t.Fatal(err)
	}
	if err := next.Commit("20"); err != nil {
		t.Fatal(err)
	}
	if reports != 2 {
		t.Errorf("%d errors were reported, want 2", reports)
	}
}

// TestEventsPassDuringCommits lists one scope again and again beside a writer and a reader of
// another one. Every snapshot has all objects of one list.
func TestEventsPassDuringCommits(t *testing.T) {
	const objects, lists = 300, 10
	h := newScopedHarness()
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		defer close(ended)
		for version := 100; version < 100+lists; version++ {
			next := h.feeds["a"].Begin()
			for i := range objects {
				next.Add(stateOf(fmt.Sprintf("a%d/u%d@%d", i, i, version)))
			}
			if err := next.Commit(strconv.Itoa(version)); err != nil {
				t.Error(err)
			}
		}
	})
	running := func() bool {
		select {
		case <-ended:
			return false
		default:
			return true
		}
	}
	written := 0
	wg.Go(func() {
		for ; running(); written++ {
			h.feeds["b"].Apply(watch.Modified, stateOf(fmt.Sprintf("b%d/v%d@%d", written%50, written%50, 1000+written)))
		}
	})
	wg.Go(func() {
		for running() {
			versions := make(map[string]int)
			for key, o := range h.Snapshot().All() {
				if strings.HasPrefix(key, "a") {
					versions[o.(*object).Version]++
				}
			}
			for version, n := range versions {
				if n != objects {
					t.Errorf("a snapshot has %d objects of version %s", n, version)
				}
			}
		}
	})
	wg.Wait()
	if n := h.Len(); n != objects+min(50, written) {
		t.Errorf("the store has %d objects, want %d", n, objects+min(50, written))
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}
