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

// pauseAfter makes the next commit pause after a number of keys, calls meanwhile then, and pauses no more.
func (h *scopedHarness) pauseAfter(keys int, meanwhile func()) {
	h.Store.pieceSize = 1
	h.Store.yield = func() {
		if keys--; keys < 0 {
			h.Store.yield = func() {}
			meanwhile()
		}
	}
}

// TestCommitSeesWhatIsWrittenInItsPauses writes while a list of scope a pauses, which has decided on
// key k: z is another key of the list, and comes later. The objects can move between the scopes a and b.
func TestCommitSeesWhatIsWrittenInItsPauses(t *testing.T) {
	for name, c := range map[string]struct {
		before    []string
		list      string
		meanwhile []string
		batches   []string // since the list began
		want      []string
		failed    int // keys whose newest state could not be stored
	}{
		"another scope has a newer state": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put k/1@25"},
			batches: []string{"add k/1@25", "add z/9@16"}, want: []string{"k/1@25", "z/9@16"},
		},
		"another scope has an older state": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put k/1@12"},
			batches: []string{"add k/1@12", "add z/9@16, update k/1@12→/1@15"}, want: []string{"k/1@15", "z/9@16"},
		},
		"another scope has a newer object": {
			before: []string{"a put k/1@12"}, list: "a list 20 z/9@16", meanwhile: []string{"b put k/2@25"},
			batches: []string{"delete k/1@12, add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"another scope has the object, which the list lacks": {
			before: []string{"a put k/1@12"}, list: "a list 20 z/9@16", meanwhile: []string{"b put k/1@14"},
			batches: []string{"update k/1@12→/1@14", "add z/9@16"}, want: []string{"k/1@14", "z/9@16"},
		},
		"another scope has another key": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: []string{"b put l/1@25"},
			batches: []string{"add l/1@25", "add k/1@15, add z/9@16"}, want: []string{"k/1@15", "l/1@25", "z/9@16"},
		},
		"another scope has the state that the list could not store": {
			before: []string{"a put k/1@12"}, list: "a list 20 k/1@15!decode z/9@16", meanwhile: []string{"b put k/1@25"},
			batches: []string{"update k/1@12→/1@25", "add z/9@16"}, want: []string{"k/1@25", "z/9@16"},
		},
		"the program has written what the list could not store": {
			before: []string{"a put k/1@12"}, list: "a list 20 k/1@15!decode z/9@16", meanwhile: []string{"program put k/1@13"},
			batches: []string{"update k/1@12→/1@13", "add z/9@16"}, want: []string{"k/1@13", "z/9@16"}, failed: 1,
		},
		"a deletion no longer waits": {
			before: []string{"a put k/1@12", "a delete k/1@13"}, list: "a list 20 z/9@16", meanwhile: []string{"b reach 30"},
			batches: []string{"delete k/1@12→/1@13", "add z/9@16"}, want: []string{"z/9@16"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScopedHarness(true)
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

// TestOutrunCommitBeginsAgain lets another feed of the scope pass the list's version in a pause, or the
// store forget deletions up to a later one.
func TestOutrunCommitBeginsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*scopedHarness, *Feed[*object])
		err       error
		want      []string
		moved     bool // n is in scope a, as its state that could not be stored
	}{
		"by a feed": {
			meanwhile: func(_ *scopedHarness, second *Feed[*object]) { second.Apply(watch.Modified, stateOf("k/1@25")) },
			want:      []string{"k/1@25", "l/1@12", "n/4@11"},
		},
		"by forgotten deletions": {
			meanwhile: func(h *scopedHarness, _ *Feed[*object]) { h.withMu(func() { h.scopes["a"].minVersion = "25" }) },
			err:       feed.ErrOutdated, want: []string{"k/1@11", "l/1@12", "n/4@11"},
		},
		"by a renamed object": { // r is the last good state of m
			meanwhile: func(h *scopedHarness, _ *Feed[*object]) {
				_ = h.Put(obj("l/1@13"))
				_ = h.Put(obj("r/3@14"))
				h.renames.Store(true)
			},
			want: []string{"k/1@15", "l/1@13", "n/4@11", "r/3@14", "z/9@16"}, moved: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScopedHarness(true)
			h.do(t, "a put k/1@11")
			h.do(t, "a put l/1@12")
			h.do(t, "b put n/4@11")
			second := h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"]}, From: "12"})
			next := h.feeds["a"].Begin()
			for _, id := range []string{"l/1@16!decode", "m/3@17!decode", "n/4@18!decode", "k/1@15", "z/9@16"} {
				next.Add(stateOf(id))
			}
			paused := false
			h.pauseAfter(4, func() {
				paused = true
				c.meanwhile(h, second)
			})
			if err := next.Commit("20"); !errors.Is(err, c.err) {
				t.Errorf("commit: %v, want %v", err, c.err)
			}
			if !paused {
				t.Error("the commit has not paused")
			}
			h.batches()
			h.expect(t, nil, c.want...)
			var n Entry[*object]
			if moved := h.liveEntry("n", &n).scope() == h.scopes["a"]; moved != c.moved {
				t.Errorf("n moved: %v, want %v", moved, c.moved)
			}
		})
	}
}

// TestCommitReportsWithoutLocks checks that the program may commit when an error of a commit is
// reported.
func TestCommitReportsWithoutLocks(t *testing.T) {
	h := newScopedHarness(true)
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
	late := func(*object) ([]string, error) { return nil, errInjected }
	if err := h.AddIndexers(map[string]IndexFunc[*object]{"late": late}); err != nil {
		t.Fatal(err)
	}
	if err := next.Commit("20"); err != nil {
		t.Fatal(err)
	}
	if reports != 2 {
		t.Errorf("%d errors were reported, want 2", reports)
	}
}

// TestEventsPassDuringCommits lists one scope again and again beside a writer and a reader of another
// one. Every snapshot has all objects of one list.
func TestEventsPassDuringCommits(t *testing.T) {
	const objects, lists = 300, 10
	h := newScopedHarness(false)
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
					versions[o.Version]++
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
