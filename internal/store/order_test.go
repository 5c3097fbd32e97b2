// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// A change is in the store before it is in the log: a handler that the log wakes finds it, by Get,
// which takes no lock. Only a reader between the two could tell them apart, so the test makes many
// changes, and the reader spins.
func TestStoreHasChangeBeforeLog(t *testing.T) {
	relist := func(h *harness, objects ...*object) {
		next := h.Begin()
		for _, o := range objects {
			next.Add(o.item())
		}
		_ = next.Commit("1")
	}
	for name, write := range map[string]func(h *harness, version int){
		"set":    func(h *harness, version int) { _ = h.Put(versioned(version)) },
		"commit": func(h *harness, version int) { relist(h, versioned(version)) },
		"set and remove": func(h *harness, version int) {
			if version%2 == 1 {
				_ = h.Put(versioned(version))
			} else {
				_ = h.Remove(versioned(version))
			}
		},
		"commit of a deletion": func(h *harness, version int) {
			if version%2 == 1 {
				relist(h, versioned(version))
			} else {
				relist(h)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(func(c *Config) { c.Indexers = nil })
			var readers sync.WaitGroup
			readers.Go(func() { h.checkOrder(t, orderChanges) })
			for version := range orderChanges {
				h.Snapshot() // the change then has to copy a page, which takes a while
				write(h, version+1)
			}
			readers.Wait()
		})
	}
}

func versioned(version int) *object { return obj(fmt.Sprintf("a/1@%d", version)) }

// checkOrder reads n changes of object a, and checks that the store has each of them already.
func (h *harness) checkOrder(t *testing.T, n int) {
	t.Helper()
	for last := 0; n > 0; n-- {
		batch, ok := h.cursor.TryNext()
		for ; !ok; batch, ok = h.cursor.TryNext() {
			runtime.Gosched()
		}
		a, exists := h.Get("a")
		if entry := batch[0].New; entry != nil {
			last = int(entry.version)
			if exists && atoi(a.Version) < last {
				t.Errorf("the log has version %d, the store only %s", last, a.Version)
				return
			}
		} else if exists && atoi(a.Version) <= last {
			t.Errorf("the log has the deletion of version %d, the store still has %s", last, a.Version)
			return
		}
	}
}

// A reader that has seen the version of an event, and waits for it, finds the event's state by Get,
// which takes no lock.
func TestChangeIsVisibleWithItsVersion(t *testing.T) {
	h := newHarness(func(c *Config) { c.Indexers = nil })
	h.relist("1", versioned(1))
	runConcurrently(func() {
		for version := range 2 * orderChanges {
			h.apply(watch.Modified, versioned(version+2))
		}
	}, func() {
		version := atoi(h.ResourceVersion())
		if a, exists := h.Get("a"); !exists || atoi(a.Version) < version {
			t.Errorf("the version is %d, the store has %v", version, a)
		}
	})
}

// Once Synced reports true, Get finds the objects of the initial state, and the log has their
// events.
func TestStoreIsFilledBeforeItIsSynced(t *testing.T) {
	for range syncedStores {
		h := newHarness(func(c *Config) { c.Indexers = nil })
		next := h.Begin()
		next.Add(versioned(1).item())
		var reader sync.WaitGroup
		reader.Go(func() {
			events, synced := h.Synced()
			for ; !synced; events, synced = h.Synced() {
				runtime.Gosched()
			}
			if _, exists := h.Get("a"); !exists || h.log.Appended() < events || events != 1 {
				t.Errorf("synced after %d events, of which the log has %d; the store has the object: %v", events, h.log.Appended(), exists)
			}
		})
		_ = next.Commit("1")
		reader.Wait()
	}
}

// A write of the program keeps the version, also one that a bookmark moves meanwhile.
func TestReplaceDoesNotMoveTheVersionBack(t *testing.T) {
	h := newHarness(func(c *Config) { c.Indexers = nil })
	h.relist("1")
	runConcurrently(func() {
		for version := range orderChanges {
			h.AdvanceVersion(fmt.Sprint(version + 2))
			for range 20 { // while a Replace ends
				if got := atoi(h.ResourceVersion()); got < version+2 {
					t.Errorf("the version is %d after a bookmark at %d", got, version+2)
					return
				}
			}
		}
	}, func() { _ = h.Replace(nil, "1") })
}
