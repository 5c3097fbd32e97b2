// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// pauseAfter makes the next commit write pieces of one key, and calls meanwhile after some of them.
func (h *scopedHarness) pauseAfter(pieces int, meanwhile func()) {
	h.Store.pieceSize = 1
	h.Store.yield = func() {
		if pieces--; pieces == 0 {
			meanwhile()
		}
	}
}

// TestOthersWriteBetweenPieces writes after the first piece of a list of scope a, which was listed
// before, or of a first list of scope c.
func TestOthersWriteBetweenPieces(t *testing.T) {
	for name, c := range map[string]struct {
		before    string
		list      string
		meanwhile string
		batches   []string // since the list began
		want      []string
		failed    int // keys whose newest state could not be stored
	}{
		"a relist": {
			before: "a put k/1@12; a put l/1@13; a put m/1@14", list: "a list 20 m/1@15 n/1@16",
			batches: []string{"delete k/1@12", "delete l/1@13", "update m/1@14→/1@15", "add n/1@16"}, want: []string{"m/1@15", "n/1@16"},
		},
		"another scope has a newer object": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: "b put k/2@25",
			batches: []string{"add k/1@15", "delete k/1@15, add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"another scope has a newer object of a key that follows": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: "b put z/2@25",
			batches: []string{"add k/1@15", "add z/2@25"}, want: []string{"k/1@15", "z/2@25"},
		},
		"another scope has an older object": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: "b put z/2@12",
			batches: []string{"add k/1@15", "add z/2@12", "delete z/2@12, add z/9@16"}, want: []string{"k/1@15", "z/9@16"},
		},
		"another scope has another key": {
			list: "a list 20 k/1@15 z/9@16", meanwhile: "b put l/2@25",
			batches: []string{"add k/1@15", "add l/2@25", "add z/9@16"}, want: []string{"k/1@15", "l/2@25", "z/9@16"},
		},
		"another scope has a newer object than the one that the list could not store": {
			before: "a put k/1@12", list: "a list 20 k/1@15!decode z/9@16", meanwhile: "b put k/2@25",
			batches: []string{"delete k/1@12, add k/2@25", "add z/9@16"}, want: []string{"k/2@25", "z/9@16"},
		},
		"the program writes what the list could not store": {
			before: "a put k/1@12", list: "a list 20 k/1@15!decode z/9@16", meanwhile: "program put k/1@13",
			batches: []string{"update k/1@12→/1@13", "add z/9@16"}, want: []string{"k/1@13", "z/9@16"}, failed: 1,
		},
		"the program has written a later state than the one that is ignored": {
			before: "a put k/1@12; program put k/1@30", list: "a list 20 k/1@15!skip z/9@16",
			batches: []string{"add z/9@16"}, want: []string{"k/1@30", "z/9@16"},
		},

		"a first list": {
			list:    "c list 20 k/1@15 l/2@16 m/3@17",
			batches: []string{"add k/1@15 (initial), add l/2@16 (initial), add m/3@17 (initial)"}, want: []string{"k/1@15", "l/2@16", "m/3@17"},
		},
		"a first list, of which another scope has a newer object": {
			list: "c list 20 k/1@15 l/2@16", meanwhile: "b put k/4@25",
			batches: []string{"add k/4@25", "add l/2@16 (initial)"}, want: []string{"k/4@25", "l/2@16"},
		},
		"a first list with a newer object than another scope has": {
			before: "b put k/4@12", list: "c list 20 k/1@15 l/2@16", meanwhile: "b put n/5@25",
			batches: []string{"delete k/4@12", "add n/5@25", "add k/1@15 (initial), add l/2@16 (initial)"}, want: []string{"k/1@15", "l/2@16", "n/5@25"},
		},
		"a first list with a newer object, which is replaced by a third one": {
			before: "b put k/4@12", list: "c list 20 k/1@15 l/2@16", meanwhile: "b put k/5@25",
			batches: []string{"delete k/4@12", "add k/5@25", "add l/2@16 (initial)"}, want: []string{"k/5@25", "l/2@16"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newScopedHarness()
			h.add("c", scope.Scope{})
			if c.before != "" {
				h.run(t, c.before)
			}
			h.batches()
			if h.pauseAfter(1, func() {}); c.meanwhile != "" {
				h.pauseAfter(1, func() { h.run(t, c.meanwhile) })
			}
			h.do(t, c.list)
			h.expect(t, c.batches, c.want...)
			if n, _ := h.QuarantineSize(); n != c.failed {
				t.Errorf("%d keys have failed, want %d", n, c.failed)
			}
		})
	}
}

// One list has two scopes. An object of one of them cannot be stored, under the key of an entry of
// the other, which the list lacks.
func TestKeyOfAFailureIsDecidedOnce(t *testing.T) {
	half := uint64(1) << 63
	low := scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}}
	high := scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}}
	uids := uidsIn(low)
	h := newHarnessOf(t, low, high)
	both := []*Scope{h.AddScope(low), h.AddScope(high)}
	h.feeds["ab"] = h.NewFeed(FeedConfig{Scopes: both})
	named := strings.NewReplacer("/A", "/"+uids["a"], "/B", "/"+uids["b"]).Replace
	h.run(t, named("ab list 10 k/A@9; ab list 20 k/B@15!decode"))
	h.expect(t, []string{named("add k/A@9 (initial)"), named("delete k/A@9")})
	if err := h.KeyError("k"); err == nil {
		t.Error("the key has no error")
	}
}

// uidsIn returns a UID whose hash is in a range, as "a", and one whose hash is not, as "b".
func uidsIn(s scope.Scope) map[string]string {
	uids := make(map[string]string)
	for n := 0; len(uids) < 2; n++ {
		uid := strconv.Itoa(n)
		uids[map[bool]string{true: "a", false: "b"}[s.Hash.Contains(uid)]] = uid
	}
	return uids
}

// Readers find the entries of a first list as they are stored, and handlers that are added
// meanwhile receive each of them once, with the batch of the list. An object of another scope under
// the key of one is deleted as it is replaced.
func TestHandlersReceiveAFirstListOnce(t *testing.T) {
	h := newScopedHarness()
	h.add("c", scope.Scope{})
	h.run(t, "b put k/4@12; b put x/5@13")
	h.batches()
	h.pauseAfter(1, func() {
		if got := strings.Join(contents(h.Snapshot()), " "); got != "k/1@15 x/5@13" {
			t.Errorf("readers have %q", got)
		}
		snapshot, cursor := h.SnapshotAndCursor()
		keys := snapshot.DeliveredKeys()
		slices.Sort(keys)
		var has []string
		for _, key := range keys {
			value, _ := snapshot.Get(key)
			has = append(has, value.(*object).String())
		}
		if got := strings.Join(has, " "); got != "x/5@13" {
			t.Errorf("a handler that is added has %q", got)
		}
		h.cursor = cursor
	})
	h.run(t, "c list 20 k/1@15 l/2@16")
	h.expect(t, []string{"add k/1@15 (initial), add l/2@16 (initial)"}, "k/1@15", "l/2@16", "x/5@13")
	if snapshot, _ := h.SnapshotAndCursor(); len(snapshot.DeliveredKeys()) != 3 {
		t.Errorf("after the list, a handler that is added has %v", snapshot.DeliveredKeys())
	}
}

// What the program writes into a scope that was not listed is logged by its first list.
func TestProgramWritesAreLoggedByTheFirstList(t *testing.T) {
	for _, row := range []struct {
		list      string
		meanwhile string // after the first piece
		want      []string
	}{
		{"a list 20", "", nil},
		{"a list 20 a/k/1@15", "", []string{"add a/k/1@15 (initial)"}},
		{"a list 20 a/k/2@15", "", []string{"add a/k/2@15 (initial)"}},
		{"a list 20 a/k/1@16!decode", "", []string{"add a/k/1@15 (initial)"}},
		{"a list 20 a/k/1@15 a/l/2@16", "program put a/l/2@17", []string{"add a/k/1@15 (initial), add a/l/2@17 (initial)"}},
		{"a list 20 a/k/1@15 a/l/2@16", "program put a/m/3@17", []string{"add a/k/1@15 (initial), add a/l/2@16 (initial), add a/m/3@17 (initial)"}},
		{"a list 20 a/k/1@15 a/l/2@16", "program delete a/l/2@16", []string{"add a/k/1@15 (initial)"}},
		{"a leave", "", nil},
	} {
		t.Run(row.list+" "+row.meanwhile, func(t *testing.T) {
			h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"})
			h.run(t, "program put a/k/1@15")
			if snapshot, _ := h.SnapshotAndCursor(); len(snapshot.DeliveredKeys()) > 0 {
				t.Errorf("a handler that is added has %v", snapshot.DeliveredKeys())
			}
			h.add("a", scope.Scope{Namespace: "a"})
			if row.meanwhile != "" {
				h.pauseAfter(1, func() { h.run(t, row.meanwhile) })
			}
			h.run(t, row.list)
			got := h.batches()
			for i, batch := range got { // their order is unspecified, as the program has written one
				got[i] = strings.Join(slices.Sorted(strings.SplitSeq(batch, ", ")), ", ")
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("the log received %q, want %q", got, row.want)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the program has written before a first list does not change the order in which that is
// delivered.
func TestFirstListAfterAProgramWriteKeepsItsOrder(t *testing.T) {
	h := newHarnessOf(t, scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "b"})
	h.run(t, "program put a/a/1@15")
	h.add("a", scope.Scope{Namespace: "a"})
	h.run(t, "a list 90 a/c/3@17 a/b/2@16 a/a/1@15")
	want := "add a/c/3@17 (initial), add a/b/2@16 (initial), add a/a/1@15 (initial)"
	if got := strings.Join(h.batches(), "; "); got != want {
		t.Errorf("the log received %q, want %q", got, want)
	}
}

// The program writes an object, into a scope that was not listed, under the key of an object that
// handlers have received of another one. They receive its deletion at once, and once.
func TestObjectBeforeAProgramWriteIsDeletedOnce(t *testing.T) {
	half := uint64(1) << 63
	low := scope.Scope{Hash: scope.Range{Field: scope.UID, Last: half - 1}}
	high := scope.Scope{Hash: scope.Range{Field: scope.UID, First: half, Last: 2*half - 1}}
	uids := uidsIn(low)
	for then, want := range map[string][]string{
		"a list 20":                            nil,
		"a list 20 k/A@15":                     {"add k/A@15 (initial)"},
		"program delete k/A@15":                nil,
		"a leave":                              nil,
		"clear":                                nil,
		"b delete k/B@16; a list 20 k/A@15":    {"add k/A@15 (initial)"},
		"b put k/B@17; a list 20":              {"add k/B@17"},
		"clear; a list 20 l/A@19; b list 20":   {"add l/A@19 (initial)"},
		"b leave; program delete k/A@15":       nil,
		"b put k/B@14":                         {"add k/B@14"},
		"clear; a add; a list 20; b list 20":   nil,
		"program put k/A@18; a list 20 k/A@18": {"add k/A@18 (initial)"},
	} {
		want = append([]string{"delete k/B@12"}, want...)
		named := strings.NewReplacer("/A", "/"+uids["a"], "/B", "/"+uids["b"])
		t.Run(then, func(t *testing.T) {
			h := newHarnessOf(t, low, high, "b")
			before, then, isLate := strings.Cut(then, "; a add; ")
			if !isLate {
				h.add("a", low)
			}
			h.run(t, named.Replace("b put k/B@12"))
			h.batches()
			h.run(t, named.Replace("program put k/A@15"))
			h.run(t, named.Replace(before))
			if isLate {
				h.add("a", low)
				h.run(t, named.Replace(then))
			}
			for i := range want {
				want[i] = named.Replace(want[i])
			}
			if got := h.batches(); !slices.Equal(got, want) {
				t.Errorf("the log received %q, want %q", got, want)
			}
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// No hold of the writer's lock covers more than a piece.
func TestPiecesAreBounded(t *testing.T) {
	h := newScopedHarness()
	h.add("c", scope.Scope{})
	list := func(version, objects int) {
		next := h.feeds["c"].Begin()
		for i := range objects {
			next.Add(stateOf(fmt.Sprintf("c%d/u%d@%d", i+version, i+version, version)))
		}
		if err := next.Commit(strconv.Itoa(version)); err != nil {
			t.Fatal(err)
		}
	}
	const objects = 3000
	for _, commit := range []struct {
		name string
		run  func()
		keys int
	}{
		{"a first list", func() { list(20, objects) }, objects},
		{"a list of other objects", func() { list(objects, objects) }, 2*objects - 20},
		{"a removal", func() { h.run(t, "c leave") }, objects},
	} {
		pieces := 1
		h.Store.yield = func() { pieces++ }
		commit.run()
		if want := (commit.keys + h.Store.pieceSize - 1) / h.Store.pieceSize; pieces != want || h.Store.pieceSize != 512 {
			t.Errorf("%s: %d pieces of %d keys, want %d of 512", commit.name, pieces, h.Store.pieceSize, want)
		}
	}
}

// Others replace the first twenty objects of a first list while it is published, and the last five
// at its end. It is delivered without these: some of the last take the places of the first, and the
// others are in the order of the list.
func TestFirstListOfWhichSomeObjectsAreGoneKeepsItsOrder(t *testing.T) {
	const objects, first, last = 2000, 20, 5
	h := newScopedHarness()
	h.add("c", scope.Scope{})
	next := h.feeds["c"].Begin()
	var listed []string
	for i := range objects {
		next.Add(stateOf(fmt.Sprintf("c%04d/u%d@15", i, i)))
		listed = append(listed, fmt.Sprintf("add c%04d/u%d@15 (initial)", i, i))
	}
	pieces := 0
	h.Store.yield = func() {
		switch pieces++; pieces {
		case 3:
			for i := range first {
				h.run(t, fmt.Sprintf("b put c%04d/z@25", i))
			}
		case 4:
			for i := range last {
				h.run(t, fmt.Sprintf("b put c%04d/z@26", objects-1-i))
			}
		}
	}
	if err := next.Commit("30"); err != nil {
		t.Fatal(err)
	}
	batches := h.batches()
	got := strings.Split(batches[len(batches)-1], ", ")
	if stay := objects - first - last; len(got) != stay || !slices.Equal(got[first:], listed[first:stay]) {
		t.Errorf("the last batch has %d changes: %q", len(got), got)
	}
	slices.Sort(got)
	if !slices.Equal(got, listed[first:objects-last]) {
		t.Errorf("the last batch has %q", got)
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}

// TestTakeWaitsForACommit lets a feed receive an event while the feed before commits a list that is
// later: the event is applied after the list, and dropped.
func TestTakeWaitsForACommit(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "a put k/1@12; a put l/1@13")
	joined := h.NewFeed(FeedConfig{Scopes: []*Scope{h.scopes["a"]}, From: "12"})
	outcome := make(chan feed.Outcome, 1)
	h.pauseAfter(1, func() {
		go func() { outcome <- joined.Apply(watch.Added, obj("m/2@14").item()) }()
		for range 1000 {
			runtime.Gosched()
		}
	})
	h.run(t, "a list 20 y/8@16 z/9@17")
	if got := <-outcome; got != feed.Stale {
		t.Errorf("outcome %v", got)
	}
	joined.Apply(watch.Added, obj("n/3@21").item())
	h.batches()
	h.expect(t, nil, "n/3@21", "y/8@16", "z/9@17")
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
// another one. Every snapshot has all objects of the first list, in one of their states.
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
			listed, n := h.ScopeState(h.scopes["a"]).Synced && h.ScopeState(h.scopes["a"]).ResourceVersion != "10", 0
			for key := range h.Snapshot().All() {
				if strings.HasPrefix(key, "a") {
					n++
				}
			}
			if listed && n != objects {
				t.Errorf("a snapshot has %d objects", n)
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

// TestListIsDecidedByTombstonesOfItsPauses lets another scope delete so many objects between two
// pieces that the store drops tombstones. The list does not bring the first of them back.
func TestListIsDecidedByTombstonesOfItsPauses(t *testing.T) {
	h := newScopedHarness()
	h.run(t, "b put k/2@12")
	h.pauseAfter(1, func() {
		h.do(t, "b delete k/2@40")
		for i := range minTombstones + 1 {
			h.run(t, fmt.Sprintf("b put x%d/3@%d; b delete x%d/3@%d", i, 100+2*i, i, 101+2*i))
		}
	})
	next := h.feeds["a"].Begin()
	next.Add(stateOf("a/9@15"))
	next.Add(stateOf("k/1@14"))
	if err := next.Commit("20"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(contents(h.Snapshot()), " "); got != "a/9@15" {
		t.Errorf("the store has %q", got)
	}
	h.run(t, "b put y/3@90000; b delete y/3@90001")
	if n := len(h.tombstones.inOrder); n > minTombstones {
		t.Errorf("%d tombstones are kept", n)
	}
}

// The object of a removed scope is one of the scope that replaces it, as the program writes it
// before that is listed: it is deleted as it leaves the one, since it exists, with LeftScope.
func TestObjectOfTwoScopesIsDeletedAndAdded(t *testing.T) {
	all, labelled := scope.Scope{Namespace: "a"}, scope.Scope{Namespace: "a", LabelSelector: "l"}
	for then, want := range map[string][]string{
		"b list 20 a/k/1@13": {"delete a/k/1@12 (left scope)", "delete a/l/2@12→/2@12 (left scope)", "add a/k/1@13 (initial)"},
		"pending":            {"delete a/k/1@12 (left scope)", "delete a/l/2@12→/2@12 (left scope)"},
	} {
		var set scope.Set
		h := &scopedHarness{newHarness(func(c *Config) { c.ScopeOf = set.Of }), make(map[string]*Scope), make(map[string]*Feed)}
		if err := set.Add(all); err != nil {
			t.Fatal(err)
		}
		h.joinScope("a", all)
		h.run(t, "a put a/k/1@12; a put a/l/2@12")
		h.batches()
		if err := set.Replace(labelled); err != nil {
			t.Fatal(err)
		}
		h.run(t, "program put a/k/1@13; a leave")
		if then == "pending" {
			h.RemovePendingScopes(func(scope.Scope) bool { return false })
		} else {
			h.add("b", labelled)
			h.run(t, then)
		}
		if got := h.batches(); !slices.Equal(got, want) {
			t.Errorf("%s: the log received %q, want %q", then, got, want)
		}
	}
}
