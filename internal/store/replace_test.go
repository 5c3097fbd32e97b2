// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/process"
)

func TestReplacementIsOneBatchDeletionsFirst(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("10", obj("z/1@3"), obj("m/1@2"), obj("a/1@9"))
			h.expect(t, []string{"add z/1@3 (initial), add m/1@2 (initial), add a/1@9 (initial)"}, "a/1@9", "m/1@2", "z/1@3")
			h.relist("20", obj("y/1@13"), obj("a/1@11"), obj("z/2@12"))
			got := h.batches()
			if len(got) != 1 {
				t.Fatalf("the log received %q, want one batch", got)
			}
			changes := strings.Split(got[0], ", ")
			slices.Sort(changes[:2]) // deletions are in unspecified order
			want := []string{"delete m/1@2", "delete z/1@3", "add y/1@13", "update a/1@9→/1@11", "add z/2@12"}
			if !slices.Equal(changes, want) {
				t.Errorf("the log received %q, want %q", changes, want)
			}
		})
	}
}

func TestReplacementEmitsNoEventForUnchangedObjects(t *testing.T) {
	h := newHarness()
	h.relist("10", obj("a/1@1"))
	h.batches()
	h.relist("11", obj("a/1@1"))
	h.expect(t, nil, "a/1@1")
	if got := h.ResourceVersion(); got != "11" {
		t.Errorf("resourceVersion %q, want 11", got)
	}
}

// TestSmallListKeepsLittleMemory relists a collection of which few objects are left. A list has
// room for the objects that the store has.
func TestSmallListKeepsLittleMemory(t *testing.T) {
	var large []*object
	for i := range 5000 {
		large = append(large, obj(fmt.Sprintf("%d/1@%d", i, i+1), "group"))
	}
	kept := func() float64 {
		h := newHarness(func(c *Config) { c.Log = nil })
		before := process.LiveHeap()
		h.relist("10000", large...)
		h.relist("10001", large[:20]...)
		if h.Len() != 20 {
			t.Errorf("%d objects, want 20", h.Len())
		}
		n := process.LiveHeap() - before
		runtime.KeepAlive(h)
		return n
	}
	kept() // for what the harness keeps of identities
	if n := kept(); n > 100<<10 {
		t.Errorf("20 of 5,000 objects take %.0f KB", n/1024)
	}
	replaced := func() float64 {
		h := newHarness(func(c *Config) { c.Log = nil })
		before := process.LiveHeap()
		for i, n := range []int{len(large), 20} {
			var values []any
			for _, o := range large[:n] {
				values = append(values, o)
			}
			if err := h.Replace(values, strconv.Itoa(10_000+i)); err != nil {
				t.Error(err)
			}
		}
		n := process.LiveHeap() - before
		runtime.KeepAlive(h)
		return n
	}
	if n := replaced(); n > 100<<10 {
		t.Errorf("20 of 5,000 replaced objects take %.0f KB", n/1024)
	}
	runtime.KeepAlive(large)
}

// TestListsOfAChurnedCollectionTakeNoMemory relists objects one of which was deleted and another
// one added, which makes a page of the map wider than others, and objects of which more and more
// are gone.
func TestListsOfAChurnedCollectionTakeNoMemory(t *testing.T) {
	var all []*object
	for i := range 5000 {
		all = append(all, obj(fmt.Sprintf("%d/%d@%d", i, i, i+1)))
	}
	churned := append([]*object{obj("new/1@10002")}, all[1:32]...)
	for round := range 2 { // the first one is for what the harness keeps of identities
		h := newHarness(func(c *Config) { c.Log = nil })
		before := process.LiveHeap()
		h.relist("10000", all[:32]...)
		h.apply(watch.Deleted, obj("0/0@10001"))
		h.apply(watch.Added, churned[0])
		for i := range 40 {
			h.relist(strconv.Itoa(20_000+i), churned...)
		}
		if n := process.LiveHeap() - before; n > 100<<10 && round > 0 {
			t.Errorf("32 objects take %.0f KB", n/1024)
		}
		h.relist("30000", all...)
		for n := len(all); n > 20; n = n/2 + 1 {
			h.relist(strconv.Itoa(40_000-n), all[:n]...)
		}
		if n := process.LiveHeap() - before; n > 100<<10 && round > 0 {
			t.Errorf("%d objects take %.0f KB", h.Len(), n/1024)
		}
		runtime.KeepAlive(h)
	}
	runtime.KeepAlive(all)
}

func TestOnlyTheFirstReplacementIsInitial(t *testing.T) {
	h := newHarness()
	h.relist("1") // an empty one counts, too
	h.relist("2", obj("a/1@2"))
	h.expect(t, []string{"add a/1@2"}, "a/1@2")
}

func TestSyncedReturnsEndOfInitialState(t *testing.T) {
	h := newHarness()
	if err := h.Put(obj("p/1@1")); err != nil {
		t.Fatal(err)
	}
	if events, ok := h.Synced(); ok {
		t.Errorf("Synced() = %d, true before the first replacement", events)
	}
	h.relist("2", obj("a/1@1"), obj("b/1@1"))
	h.apply(watch.Added, obj("c/1@3"))
	h.relist("4")
	if events, ok := h.Synced(); events != 4 || !ok { // p added and deleted, a and b added
		t.Errorf("Synced() = %d, %v, want 4", events, ok)
	}
}

// A key may occur several times in a replacement: pages of a list may repeat it, and a WatchList
// may interleave changes with the initial events. The newest version is stored, and the last one if
// they cannot be compared. A repetition is reported once, unless it is an update.
func TestReplacementWithRepeatedKey(t *testing.T) {
	for _, row := range []struct {
		name, steps string // "-" removes, "~" updates, "!" fails to decode
		log         string
		want        string
		quarantined int
		duplicates  string // the keys reported
	}{
		{"older, then newer", "b@5 b@6", "add b/1@6", "a/1@1 b/1@6", 0, "b"},
		{"newer, then older", "b@6 b@5", "add b/1@6", "a/1@1 b/1@6", 0, "b"},
		{"the same version", "b@5 b@5", "add b/1@5", "a/1@1 b/1@5", 0, "b"},
		{"many times", "b@5 b@7 b@6 b@5 b@8", "add b/1@8", "a/1@1 b/1@8", 0, "b"},
		{"versions that cannot be compared", "b@y b@x", "add b/1@x", "a/1@1 b/1@x", 0, "b"},
		{"no versions", "b@ b@", "add b/1@", "a/1@1 b/1@", 0, "b"},
		{"unchanged, then newer", "a@1 a@5", "update a/1@1→/1@5", "a/1@5", 0, "a"},
		{"newer, then unchanged", "a@5 a@1", "update a/1@1→/1@5", "a/1@5", 0, "a"},
		{"unchanged twice", "a@1 a@1", "", "a/1@1", 0, "a"},
		{"newer, unchanged, newer", "a@5 a@1 a@6", "update a/1@1→/1@6", "a/1@6", 0, "a"},
		{"added and updated", "b@5 ~b@6", "add b/1@6", "a/1@1 b/1@6", 0, ""},
		{"added and updated to an older version", "b@6 ~b@5", "add b/1@6", "a/1@1 b/1@6", 0, ""},
		{"updated and added", "~b@5 b@6", "add b/1@6", "a/1@1 b/1@6", 0, "b"},
		{"updated only", "~b@5 ~b@6", "add b/1@6", "a/1@1 b/1@6", 0, ""},
		{"removed", "b@5 -b@6", "", "a/1@1", 0, ""},
		{"removed at an older version", "b@6 -b@5", "add b/1@6", "a/1@1 b/1@6", 0, ""},
		{"removed and added", "b@5 -b@6 b@7", "add b/1@7", "a/1@1 b/1@7", 0, ""},
		{"unchanged, removed and added", "a@1 -a@5 a@6", "update a/1@1→/1@6", "a/1@6", 0, ""},
		{"unchanged and removed", "a@1 -a@5", "delete a/1@1", "", 0, ""},
		{"bad", "!a@5", "", "a/1@1", 1, ""},
		{"bad, then good", "!a@5 a@6", "update a/1@1→/1@6", "a/1@6", 0, "a"},
		{"bad, then updated", "!a@5 ~a@6", "update a/1@1→/1@6", "a/1@6", 0, ""},
		{"bad, then an older good state", "!a@6 a@5", "update a/1@1→/1@5", "a/1@5", 1, "a"},
		{"bad, then an older good state, then a newer one", "!a@6 a@5 a@7", "update a/1@1→/1@7", "a/1@7", 0, "a"},
		{"bad twice", "!a@5 !a@6", "", "a/1@1", 1, "a"},
		{"bad, then good between", "!a@5 !a@7 a@6", "update a/1@1→/1@6", "a/1@6", 1, "a"},
		{"bad, then an older bad state, then good between", "!a@7 !a@5 a@6", "update a/1@1→/1@6", "a/1@6", 1, "a"},
		{"bad, then removed", "!a@5 -a@6", "delete a/1@1", "", 0, ""},
		{"bad, then removed at an older version", "!a@6 -a@5", "", "a/1@1", 1, ""},
		{"bad and new", "!b@5", "", "a/1@1", 1, ""},
		{"good, then bad", "a@5 !a@6", "update a/1@1→/1@5", "a/1@5", 1, "a"},
		{"good, then bad by an update", "a@5 ~!a@6", "update a/1@1→/1@5", "a/1@5", 1, ""},
		{"good, then an older bad state", "a@6 !a@5", "update a/1@1→/1@6", "a/1@6", 0, "a"},
		{"good, removed, then bad", "a@5 -a@6 !a@7", "", "a/1@1", 1, ""},
	} {
		for mode, options := range map[string][]func(*Config){"item keys": nil, "packed": {packing}, "transforming": {transforming}} {
			t.Run(row.name+", "+mode, func(t *testing.T) {
				h := newHarness(options...)
				h.relist("1", obj("a/1@1"))
				h.batches()
				next := h.Begin()
				if !strings.Contains(row.steps, "a@") {
					next.Add(obj("a/1@1").item())
				}
				for step := range strings.FieldsSeq(row.steps) {
					addStep(next, step)
				}
				if err := next.Commit("9"); err != nil {
					t.Fatal(err)
				}
				var log []string
				if row.log != "" {
					log = []string{row.log}
				}
				h.expect(t, log, strings.Fields(row.want)...)
				if got := h.Quarantined(); got != row.quarantined {
					t.Errorf("%d quarantined, want %d", got, row.quarantined)
				}
				var duplicates []string
				for _, report := range h.reported() {
					if key, found := strings.CutSuffix(report, ": "+feed.ErrDuplicate.Error()); found {
						duplicates = append(duplicates, key)
					}
				}
				if got := strings.Join(duplicates, " "); got != row.duplicates {
					t.Errorf("reported as duplicates: %q, want %q", got, row.duplicates)
				}
			})
		}
	}
}

// If a list holds a good state and a newer one that cannot be stored, the good one is kept.
func TestGoodStateOfARepeatedObjectIsTheLastStateKept(t *testing.T) {
	var effects []feed.Effect
	h := newHarness(func(c *Config) {
		c.Report = func(_ string, err error) {
			if failed, ok := errors.AsType[*feed.EffectError](err); ok {
				effects = append(effects, failed.Effect)
			}
		}
	})
	h.relist("9", obj("b/1@5"), obj("b/1@6").with("decode"))
	if want := []feed.Effect{feed.Duplicate, feed.LastStateKept}; !slices.Equal(effects, want) {
		t.Errorf("reported %q, want %q", effects, want)
	}
}

// addStep calls a method of a replacement as a reflector does, for a step such as "~!a@5".
func addStep(next feed.Replacement, step string) {
	id := strings.TrimLeft(step, "-~!")
	o := obj(strings.Replace(id, "@", "/1@", 1))
	if strings.Contains(step, "!") {
		o.with("decode")
	}
	item := o.item()
	if step[0] == '-' {
		next.Remove(item)
		return
	}
	if _, item.Known = next.Needs(item); item.Known != nil {
		item.Raw = nil
	}
	if step[0] == '~' {
		next.Update(item)
	} else {
		next.Add(item)
	}
}

// Commit replaces the results of writes since Begin and logs the difference to them.
func TestWritesDuringReplacementAreReplaced(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"), obj("b/1@1"), obj("c/1@1"), obj("d/1@1"))
	next := h.Begin()
	for _, o := range []*object{obj("z/1@2"), obj("a/1@1"), obj("b/1@1"), obj("y/1@2"), obj("x/1@2").with(""), obj("c/1@1")} {
		next.Add(o.item())
	}
	h.apply(watch.Modified, obj("a/1@5"))
	h.apply(watch.Deleted, obj("b/1@6"))
	h.apply(watch.Added, obj("n/1@7"))
	h.batches()
	next.Commit("4")
	got := strings.Split(strings.Join(h.batches(), " | "), ", ")
	slices.Sort(got[:2]) // deletions
	slices.Sort(got[5:]) // changes that undo the writes since Begin
	want := []string{"delete d/1@1", "delete n/1@7", "add z/1@2", "add y/1@2", "add x/1@2", "add b/1@1", "update a/1@5→/1@1"}
	if !slices.Equal(got, want) {
		t.Errorf("the log received %q, want %q", got, want)
	}
	h.expect(t, nil, "a/1@1", "b/1@1", "c/1@1", "x/1@2", "y/1@2", "z/1@2")
}

func TestOverlappingReplacements(t *testing.T) {
	h := newHarness()
	h.relist("1", obj("a/1@1"), obj("b/1@1"))
	h.batches()
	next := h.Begin()
	next.Add(obj("a/1@1").item())
	next.Add(obj("b/1@1").item())
	h.relist("2", obj("a/1@2"))
	next.Commit("1")
	got := h.batches()
	if len(got) != 2 || !strings.Contains(got[1], "update a/1@2→/1@1") || !strings.Contains(got[1], "add b/1@1") {
		t.Errorf("the log received %q, want the changes of each replacement", got)
	}
}

func TestReplaceIsAllOrNothing(t *testing.T) {
	for _, fault := range []string{"key", "key panic"} {
		h := newHarness()
		h.relist("1", obj("a/1@1"))
		h.batches()
		err := h.Replace([]any{obj("b/1@2"), obj("c/1@2").with(fault)}, "2")
		if err == nil || !strings.Contains(err.Error(), "item 1") {
			t.Errorf("%s: Replace() = %v, want an error that names item 1", fault, err)
		}
		if !errors.Is(err, errInjected) {
			t.Errorf("%s: Replace() = %v does not wrap its cause", fault, err)
		}
		h.expect(t, nil, "a/1@1")
		if got := h.ResourceVersion(); got != "1" {
			t.Errorf("%s: resourceVersion %q, want 1", fault, got)
		}
	}
	h := newHarness(packing)
	err := h.Replace([]any{obj("a/1@1").with("pack")}, "2")
	if !errors.Is(err, errInjected) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("Replace() = %v, want an error that names the key and wraps its cause", err)
	}
}

func TestReplaceIgnoresVersions(t *testing.T) {
	h := newHarness()
	if err := h.Replace([]any{obj("a/1@9"), obj("b")}, "9"); err != nil {
		t.Fatal(err)
	}
	if err := h.Replace([]any{obj("a/1@3"), obj("b")}, "3"); err != nil {
		t.Fatal(err)
	}
	h.expect(t, []string{"add a/1@9, add b/@", "update a/1@9→/1@3, update b/@→/@"}, "a/1@3", "b/@")
}

func TestEmitUnchangedEmitsUpdatesForUnchangedObjects(t *testing.T) {
	h := newHarness(func(config *Config) { config.EmitUnchanged = true })
	h.relist("10", obj("a/1@1"), obj("b/1@2"))
	h.batches()
	h.relist("11", obj("a/1@1"), obj("b/1@3"), obj("b/1@3"), obj("c/1@11"))
	got := strings.Split(strings.Join(h.batches(), " | "), ", ")
	slices.Sort(got)
	if want := []string{"add c/1@11", "update a/1@1→/1@1", "update b/1@2→/1@3"}; !slices.Equal(got, want) {
		t.Errorf("the log received %q, want %q", got, want)
	}
}
