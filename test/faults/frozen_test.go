// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// untilGivenUp is longer than a watch without bookmarks lasts that receives nothing: at most 10
// minutes for its own timeout, 15 s beyond it, 40 s until its opening is noticed, and 30 s for a
// last probe.
const untilGivenUp = 12 * time.Minute

// freeze makes the server accept every further request and answer none. Open watches receive
// nothing and do not end.
func freeze(h *cachetest.Harness) {
	h.InjectListFault(-1, fake.Fault{Hold: make(chan struct{})})
	h.InjectWatchFault(-1, fake.Fault{Stall: true})
}

// A watch whose request is never answered is given up.
func TestUnansweredWatchIsGivenUp(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(1, fake.Fault{Stall: true, Hold: make(chan struct{})})
		h.CloseWatches()
		h.Update(cachetest.Pod("a"))
		cachetest.Advance(untilGivenUp)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		h.ExpectStored(h.Served())
	})
}
