// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/eventlog"
)

// generation returns a full state in which the text of each object is n.
func generation(n int) []*object {
	objects := make([]*object, 0, raceKeys)
	for i := range raceKeys {
		if i%10 != n%10 { // each generation lacks different keys
			o := obj(fmt.Sprintf("%d/1@%d", i, n+1), "all")
			o.Text = strconv.Itoa(n)
			objects = append(objects, o)
		}
	}
	return objects
}

// runConcurrently runs readers repeatedly until work returns.
func runConcurrently(work func(), readers ...func()) {
	done := make(chan struct{})
	var group sync.WaitGroup
	for _, read := range readers {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					read()
				}
			}
		})
	}
	work()
	close(done)
	group.Wait()
}

// A snapshot shows exactly one replacement, in the entries and in the indexes.
func TestSnapshotShowsOneReplacement(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("1", generation(0)...)
			want := len(generation(0))
			readWhole := func() {
				snapshot := h.Snapshot()
				indexed, err := snapshot.ByIndex("group", "all")
				if err != nil {
					t.Error(err)
				}
				first := ""
				for _, o := range objects(append(indexed, snapshot.List()...)) {
					if first == "" {
						first = o.Text
					}
					if o.Text != first {
						t.Errorf("one snapshot has generations %s and %s", first, o.Text)
						return
					}
				}
				if len(indexed) != want || snapshot.Len() != want || snapshot.ResourceVersion() != versionOfGeneration(atoi(first)) {
					t.Errorf("generation %s at resourceVersion %s: Len() = %d, ByIndex() has %d", first, snapshot.ResourceVersion(), snapshot.Len(), len(indexed))
				}
			}
			runConcurrently(func() {
				for n := 1; n < raceRounds; n++ {
					if n%2 == 0 {
						h.relist(strconv.Itoa(n+1), generation(n)...)
					} else if err := h.Replace(values(generation(n)), strconv.Itoa(n+1)); err != nil {
						t.Error(err)
					}
				}
			}, readWhole, readWhole)
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// versionOfGeneration returns the version of a store that has generation n: that of the last list,
// which an even one is. The odd ones are writes of the program.
func versionOfGeneration(n int) string { return strconv.Itoa(n - n%2 + 1) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// Each read method runs concurrently with each write method.
func TestConcurrentReadersAndWriter(t *testing.T) {
	for name, options := range map[string][]func(*Config){"live": nil, "packed": {packing}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(options...)
			h.relist("1", generation(0)...)
			get := func() {
				for i := range raceKeys {
					key := strconv.Itoa(i)
					if o, ok := h.Get(key); ok && o.Key != key {
						t.Errorf("Get(%q) = %v", key, o)
					}
				}
				h.Len()
				h.ResourceVersion()
				h.Quarantined()
				h.Synced()
				h.HasVersion(obj("1/1@1").item())
			}
			list := func() {
				snapshot := h.Snapshot()
				for key, o := range snapshot.All() {
					if o.(*object).Key != key {
						t.Errorf("All() has %v under %q", o, key)
					}
				}
				if got := len(snapshot.List()); got != snapshot.Len() || got != len(snapshot.Keys()) {
					t.Errorf("List() has %d values, Len() = %d", got, snapshot.Len())
				}
			}
			index := func() {
				snapshot := h.Snapshot()
				values, err := snapshot.IndexValues("group")
				if err != nil {
					t.Error(err)
				}
				for _, value := range values {
					objects, err := snapshot.ByIndex("group", value)
					if err != nil || len(objects) == 0 {
						t.Errorf("ByIndex() has no values under %q: %v", value, err)
					}
				}
			}
			runConcurrently(func() { h.churn(t) }, get, list, index)
			if err := h.validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// churn calls each write method, with increasing versions of each object.
func (h *harness) churn(t *testing.T) {
	t.Helper()
	for n := range raceRounds {
		version := 10 + n*raceKeys
		for i := range raceKeys / 4 {
			o := obj(fmt.Sprintf("%d/1@%d", (n*31+i*7)%raceKeys, version+i), "all", strconv.Itoa(i%5))
			if i%4 == 3 {
				h.apply(watch.Deleted, o)
			} else {
				h.apply(watch.Modified, o)
			}
		}
		switch {
		case n%20 == 19:
			h.relist(strconv.Itoa(version), generation(version)...)
		case n == raceRounds/2:
			if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
				t.Error(err)
			}
		case n%10 == 5:
			h.AdvanceVersion(strconv.Itoa(version + raceKeys))
		}
	}
}

// A reader of a snapshot and its cursor sees each change exactly once and ends with the store's
// state, whenever it starts.
func TestSnapshotAndCursorShowEachChangeOnce(t *testing.T) {
	h := newHarness()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	follow := func() {
		snapshot, cursor := h.SnapshotAndCursor()
		group.Go(func() {
			seen := map[string]string{}
			for key, o := range snapshot.All() {
				seen[key] = o.(*object).Version
			}
			for batch, ok := nextBatch(ctx, cursor); ok; batch, ok = nextBatch(ctx, cursor) {
				for _, change := range batch {
					h.follow(t, seen, change)
				}
			}
			final := h.Snapshot()
			if len(seen) != final.Len() {
				t.Errorf("a reader has %d objects, the store has %d", len(seen), final.Len())
			}
			for key, o := range final.All() {
				if seen[key] != o.(*object).Version {
					t.Errorf("a reader has %q at %q, the store has %v", key, seen[key], o)
				}
			}
		})
	}
	for range 10 { // before the writes; the goroutine below starts more during them
		follow()
	}
	allStarted := make(chan struct{})
	group.Go(func() {
		for range 20 {
			follow()
		}
		close(allStarted)
	})
	h.churn(t)
	<-allStarted
	cancel()
	group.Wait()
}

// The cursor's first event is the first change that the snapshot does not show.
func TestNoChangeIsMissedBetweenSnapshotAndCursor(t *testing.T) {
	h := newHarness()
	ctx, cancel := context.WithCancel(t.Context())
	runConcurrently(func() {
		for i := range cursorChanges {
			h.apply(watch.Modified, obj(fmt.Sprintf("a/1@%d", i+1)))
		}
		cancel()
	}, func() {
		snapshot, cursor := h.SnapshotAndCursor()
		batch, ok := nextBatch(ctx, cursor)
		if !ok || snapshot.ResourceVersion() == "" {
			return // after the last write, or before the first
		}
		if _, version := identified(batch[0].New); atoi(version) != atoi(snapshot.ResourceVersion())+1 {
			t.Errorf("the first event after a snapshot at %s has version %s", snapshot.ResourceVersion(), version)
		}
	})
}

// The position of the cursor is the number of changes that the snapshot shows. Only a write between
// the two could tell them apart, so the test takes many.
func TestSnapshotAndCursorAreOfOneMoment(t *testing.T) {
	h := newHarness()
	compare := func() {
		snapshot, cursor := h.SnapshotAndCursor()
		if shown := atoi(cmp.Or(snapshot.ResourceVersion(), "0")); uint64(shown) != cursor.Position() {
			t.Errorf("the snapshot shows %d changes, the cursor is at %d", shown, cursor.Position())
		}
	}
	runConcurrently(func() {
		for i := range momentChanges {
			h.apply(watch.Modified, obj(fmt.Sprintf("a/1@%d", i+1)))
		}
	}, compare, compare)
}

// nextBatch blocks until there is a batch or ctx is done.
func nextBatch[E any](ctx context.Context, cursor *eventlog.Cursor[E]) ([]E, bool) {
	for {
		if batch, ok := cursor.TryNext(); ok {
			return batch, true
		}
		select {
		case <-cursor.Ready():
		case <-ctx.Done():
			return cursor.TryNext()
		}
	}
}

// follow applies one change to the objects that a reader has seen, and checks that it fits them.
func (h *harness) follow(t *testing.T, seen map[string]string, change Change) {
	t.Helper()
	version := func(e *Entry) string {
		_, v := identified(e)
		return v
	}
	old, known := seen[change.Key]
	if known != (change.Old != nil) || known && version(change.Old) != old {
		t.Errorf("%s, but the reader has version %q (%v)", h.describe(change), old, known)
	}
	if change.New == nil {
		delete(seen, change.Key)
		return
	}
	seen[change.Key] = version(change.New)
}

func TestConcurrentWritersLoseNoWrite(t *testing.T) {
	h := newHarness(func(c *Config) { c.Log = eventlog.New[Change]() })
	var group sync.WaitGroup
	for w := range 4 {
		group.Go(func() {
			for i := range 200 {
				o := obj(fmt.Sprintf("%d-%d/1@%d", w, i, i+1), strconv.Itoa(w))
				switch i % 4 {
				case 0:
					h.Snapshot()
				case 1:
					h.AdvanceVersion(strconv.Itoa(i))
				}
				if err := h.Put(o); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		if err := h.AddIndexers(map[string]IndexFunc{"uid": keyAndUID}); err != nil {
			t.Error(err)
		}
	})
	group.Wait()
	if got := h.Len(); got != 800 {
		t.Errorf("%d entries, want 800", got)
	}
	if got := len(h.found(t, "uid", "1")); got != 800 {
		t.Errorf("%d keys in the index, want 800", got)
	}
	if got := h.Store.config.Log.Appended(); got != 800 {
		t.Errorf("%d events, want 800", got)
	}
	if err := h.validate(); err != nil {
		t.Error(err)
	}
}
