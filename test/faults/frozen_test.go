// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// freeze makes the server accept every further request and answer none. Open watches receive
// nothing and do not end.
func freeze(h *cachetest.Harness) {
	h.InjectListFault(-1, fake.Fault{Hold: make(chan struct{})})
	h.InjectWatchFault(-1, fake.Fault{Stall: true})
}

// A watch that was resumed before the server froze is given up although its probe receives no
// answer either. The informer reports the error, and recovers with the server.
func TestFrozenServerIsGivenUp(t *testing.T) {
	for name, bookmarks := range map[string]time.Duration{"with bookmarks": time.Minute, "without bookmarks": 0} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				if bookmarks > 0 {
					h.BookmarkEvery(bookmarks)
				}
				freeze(h)
				frozen := time.Now()
				h.CloseWatches()
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(11 * time.Minute)
				h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
				cachetest.Advance(6 * time.Hour)
				h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
				if status := h.Controller.Status(); status.Watches < 30 || status.FreshAt.After(frozen) {
					t.Errorf("status after six hours: %+v", status)
				}
				h.ExpectRates(frozen)
				h.ClearFaults()
				cachetest.Advance(11 * time.Minute)
				h.ExpectStored(h.Served())
			})
		})
	}
}

// A watch whose request is never answered is given up.
func TestUnansweredWatchIsGivenUp(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(1, fake.Fault{Stall: true, Hold: make(chan struct{})})
		h.CloseWatches()
		h.Update(cachetest.Pod("a"))
		cachetest.Advance(11 * time.Minute)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		h.ExpectStored(h.Served())
	})
}
