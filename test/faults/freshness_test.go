// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A watch that lived as long as it asked for is followed by another without a delay.
func TestWatchIsResumedAtOnceAfterItsTimeout(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		cachetest.Advance(time.Hour)
		requests := 0
		for n := 2; n < len(h.Requests()); n++ {
			if h.Requests()[n].Verb != "watch" || h.Requests()[n-1].Verb != "watch" {
				continue
			}
			requests++
			_, timeout := options(h, n-1)
			if lived := h.Requests()[n].Time.Sub(h.Requests()[n-1].Time); lived != timeout {
				t.Errorf("watch %d begins %v after the one before, which asked for %v", n, lived, timeout)
			}
		}
		if requests == 0 {
			t.Errorf("no watch follows another in an hour")
		}
		h.ExpectNoError()
	}, func(h *cachetest.Harness) { h.BookmarkEvery(time.Minute) })
}

// A watch that ends early, with or without an error, is resumed within 100 ms, and the first change
// is delivered then.
func TestWatchIsResumedSoonAfterAnEarlyEnd(t *testing.T) {
	for name, end := range map[string]func(h *cachetest.Harness){
		"closed":    func(h *cachetest.Harness) { h.CloseWatches() },
		"reset":     func(h *cachetest.Harness) { h.Send(fake.ErrorEvent(cachetest.ErrConnectionReset)) },
		"500":       func(h *cachetest.Harness) { h.Send(fake.ErrorEvent(fake.InternalError())) },
		"malformed": func(h *cachetest.Harness) { h.Send(watch.Event{Type: watch.Error, Object: cachetest.Pod("a")}) },
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				cachetest.Advance(time.Second)
				end(h)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(100 * time.Millisecond)
				h.ExpectEvents("U a@2→5")
				h.ExpectRequests(0, "list@0 watch@4 watch@4")
			})
		})
	}
}

// A watch that the server no longer has the version for is followed by a list without a delay.
func TestRelistFollowsExpiredWatchAtOnce(t *testing.T) {
	for name, expire := range map[string]func(h *cachetest.Harness){
		"in the stream": func(h *cachetest.Harness) { h.Send(fake.ErrorEvent(fake.Expired())) },
		"at the resume": func(h *cachetest.Harness) {
			h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
			h.CloseWatches()
		},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				cachetest.Advance(time.Minute)
				expire(h)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(100 * time.Millisecond)
				h.ExpectEvents("U a@2→5")
				expire(h) // again: after a backoff
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(100 * time.Millisecond)
				h.ExpectEvents()
				cachetest.Advance(30 * time.Second)
				h.ExpectEvents("U a@5→6")
			})
		})
	}
}

// After the restart of an API server that has lost its history, the list follows the 410 within 0.2
// s, although the watches before it failed.
func TestRelistFollowsARestartSoon(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		cachetest.Advance(4 * time.Minute)
		h.InjectWatchFault(2, fake.Fault{Err: cachetest.ErrConnectionRefused})
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		n := len(h.Requests())
		h.CloseWatches()
		cachetest.Advance(30 * time.Second)
		h.ExpectRequests(n, "watch@4 watch@4 watch@4 list@4 watch@4")
		if delay := h.Requests()[n+3].Time.Sub(h.Requests()[n+2].Time); delay > 200*time.Millisecond {
			t.Errorf("the list follows after %v", delay)
		}
	})
}

// Many restarts in a row make no informer send more than its budget of requests, and a restored
// etcd is found although no watch lives long enough to be probed.
func TestProbePrecedesTheWatchAfterEarlyEnds(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(-1, fake.Fault{CloseIn: 45 * time.Second})
		cachetest.Advance(10 * time.Minute)
		n := len(h.Requests())
		h.Restore("4")
		cachetest.Advance(3 * time.Minute)
		if requests, _ := h.RequestsSince(n); requests == "" {
			t.Fatal("no requests")
		}
		expectRestored(h)
	})
}

// A response whose headers come late is not a watch that was closed at once: its time begins with
// the request.
func TestLateResponseHeadersAreNoShortWatch(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(-1, fake.Fault{Delay: 90 * time.Second, CloseAfterEvents: -1})
		h.CloseWatches()
		cachetest.Advance(30 * time.Minute)
		if status := h.Controller.Status(); status.Err != nil {
			t.Errorf("status: %+v", status)
		}
		if n := wholeLists(h.Requests()); n != 1 {
			t.Errorf("%d lists, want the initial one", n)
		}
		h.ExpectNoError()
	})
}

// A probe that finds the version that the store has confirms that the store is up to date.
func TestProbeConfirmsFreshness(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.CloseWatches()
		resumed := time.Now()
		cachetest.Advance(3 * time.Minute)
		if fresh := h.Controller.Status().Freshness.FreshAt; fresh.Sub(resumed) < time.Minute {
			t.Errorf("FreshAt is %v after the resume, want that of the probe", fresh.Sub(resumed))
		}
	})
}

// A resumed watch that receives bookmarks at the version reached is not probed.
func TestConfirmedWatchIsNotProbed(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.BookmarkEvery(45 * time.Second)
		h.CloseWatches()
		cachetest.Advance(4 * time.Minute)
		h.ExpectRequests(0, "list@0 watch@4 watch@4")
	})
}

// Early ends that a watch of full length separates are not in a row, so that none is followed by a
// probe.
func TestEarlyEndsInARowAreCounted(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(1, fake.Fault{CloseIn: 50 * time.Second})
		cachetest.Advance(4 * time.Minute)
		h.CloseWatches()                    // 1
		cachetest.Advance(51 * time.Second) // 2
		cachetest.Advance(11 * time.Minute) // a watch of full length, and its probe
		cachetest.Advance(3 * time.Minute)
		n := len(h.Requests())
		h.CloseWatches()
		cachetest.Advance(time.Second)
		h.ExpectRequests(n, "watch@4")
	})
}
