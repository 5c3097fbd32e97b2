// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// Readers, handlers and writers use the hot set at the same time. Afterwards it is within its
// limit, and knows which of its objects are in the store.
func TestConcurrentUseOfHotSet(t *testing.T) {
	const readers = 4
	h, _ := newHotHarness(raceKeys, 8)
	done := make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		cursor := h.log.Cursor()
		group.Go(func() {
			for ; !isClosed(done); runtime.Gosched() {
				key := fmt.Sprint(rand.IntN(raceKeys))
				if o, ok := h.Get(key); ok && o.Key != key {
					t.Errorf("Get(%s) = %v", key, o)
				}
				h.Snapshot().Get(key)
				for batch, ok := cursor.TryNext(); ok; batch, ok = cursor.TryNext() {
					for _, change := range batch {
						h.deliver(change)
					}
				}
			}
		})
	}
	for round := range raceRounds {
		h.writeRound(100 * (round + 1))
	}
	close(done)
	group.Wait()
	if err := h.validate(); err != nil {
		t.Error(err)
	}
	h.ReleaseHot()
	h.expectHot(t, 0)
}

// writeRound updates, deletes and lists objects, at versions from version on.
func (h *harness) writeRound(version int) {
	for i := range raceKeys {
		event := watch.Modified
		if rand.IntN(4) == 0 {
			event = watch.Deleted
		}
		h.apply(event, obj(fmt.Sprintf("%d/u%d@%d", i, i, version+i)))
	}
	if version%300 == 0 {
		h.relist(fmt.Sprint(version+99), numbered(raceKeys)...)
		runtime.GC()
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
