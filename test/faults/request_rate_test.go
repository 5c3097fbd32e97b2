// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// If the server closes each watch after one event, changes are stored within seconds. Such watches
// cannot repeat the last changes, so that the server is asked for them every five minutes.
func TestWatchesOfOneEventKeepTheStoreFresh(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for range 50 {
			h.Update(cachetest.Pod("a"))
			h.Update(cachetest.Pod("b"))
			cachetest.Advance(30 * time.Second)
			h.ExpectStored(h.Served())
		}
		if lists, small := wholeLists(h.Requests()), h.Controller.Status().Requests.Lists-1; lists != 1 || small < 3 || small > 6 {
			t.Errorf("%d lists and %d of one object, want one and at most one in five minutes", lists, small)
		}
		h.ExpectNoError()
	}, func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: 1}) })
}

// A server that no longer has the version may close the watch without an error, so several watches
// without an event cause a relist.
func TestShortWatchesCauseRelist(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(3, fake.Fault{CloseAfterEvents: -1})
		cachetest.Advance(2 * time.Second)
		h.CloseWatches()
		cachetest.Advance(time.Minute)
		h.ExpectRequests(0, "list@0 watch@4 watch@4 watch@4 watch@4 list@4 watch@4")
		h.ExpectError(cachetest.ErrorIs(reflector.ErrShortWatches))
	})
}

// After minutes of a working watch the first retry follows within about a second. After less, it
// waits as long as the last retry before.
func TestBackoffResetsAfterAHealthyPeriod(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		fail := func(d time.Duration) {
			h.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()})
			h.CloseWatches()
			cachetest.Advance(d)
			h.ClearFaults()
			cachetest.Advance(31 * time.Second)
			h.SkipVersions(1)
			h.Bookmark() // otherwise the next failure may be one too many in a row, and cause a list at once
			cachetest.Advance(time.Second)
		}
		firstDelay := func() time.Duration {
			before := len(h.Requests())
			h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
			h.CloseWatches()
			cachetest.Advance(40 * time.Second)
			requests := h.Requests()[before:] // the failing watch and the next watch, or a list and a watch
			return requests[1].Time.Sub(requests[0].Time)
		}
		h.KeepWatchesOpen = true
		h.CloseWatches()
		fail(10 * time.Minute)
		if delay := firstDelay(); delay < 20*time.Second || delay > 30*time.Second {
			t.Errorf("retried after %v, following half a minute of a working watch", delay)
		}
		cachetest.Advance(3 * time.Minute)
		if delay := firstDelay(); delay > 1200*time.Millisecond {
			t.Errorf("retried after %v, following minutes of a working watch", delay)
		}
	})
}

func TestBackoffResetsAfterAWatchList(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		cachetest.Advance(4 * time.Minute) // the first minute passes until it succeeds
		h.ExpectSynced()
		n := len(h.Requests())
		h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
		h.CloseWatches()
		cachetest.Advance(40 * time.Second)
		requests := h.Requests()[n:]
		if len(requests) < 2 || requests[1].Time.Sub(requests[0].Time) > 1200*time.Millisecond {
			t.Errorf("requests after the failure: %v", requests)
		}
	}, func(h *cachetest.Harness) {
		h.KeepWatchesOpen = true
		h.InjectWatchFault(6, fake.Fault{Err: fake.TooManyRequests(0)})
	})
}
