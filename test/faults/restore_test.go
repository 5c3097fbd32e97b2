// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A server at an older version than before is either an etcd restored from backup, whose state is
// accepted from a consistent read, or a replica that lags, whose state is not accepted.

// advanceBeyondRestore takes server and informer to version 57, of which a restore leaves version
// 4.
func advanceBeyondRestore(h *cachetest.Harness) {
	h.ExpectSynced()
	h.Update(cachetest.Pod("a"))
	h.Delete("ns/b")
	h.Create(cachetest.Pod("d"))
	h.SkipVersions(50)
	h.Bookmark()
	h.ExpectEvents("U a@2→5", "D b@6", "A d@7")
	if rv := h.Controller.LastSyncResourceVersion(); rv != "57" {
		h.T.Fatalf("at version %s, want 57", rv)
	}
}

// expectRestored checks that the informer has the state of version 4 and receives later changes.
func expectRestored(h *cachetest.Harness) {
	h.T.Helper()
	h.ExpectEvents("D d@7", "U a@5→2", "A b@3")
	h.ExpectError(cachetest.ErrorIs(cache.ErrVersionRegressed))
	h.Update(cachetest.Pod("c"))
	h.ExpectEvents("U c@4→5")
	h.ExpectStored(h.Served())
}

// A list that returns an older version is followed by a consistent list.
func TestListDetectsRestore(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()})
		h.Restore("4")
		cachetest.Advance(20 * time.Second)
		requests, _ := h.RequestsSince(2)
		if requests != "watch@4 watch@57 list@57 list@ watch@4" {
			t.Errorf("requests after the restore: %s", requests)
		}
		h.ExpectEvents("D d@7", "U a@5→2", "A b@3")
		h.ExpectStored(h.Served())
	})
}

// A server accepts a watch at a version that it has not passed yet, and does not repeat the last
// changes. A probe finds the older version.
func TestProbeDetectsRestore(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.Restore("4")
		cachetest.Advance(10 * time.Second)
		if requests, _ := h.RequestsSince(2); requests != "watch@4 list@ list@ watch@4" {
			t.Errorf("requests after the restore: %s", requests)
		}
		expectRestored(h)
	})
}

// A watch that is quiet for two minutes is probed within another half minute, whatever its timeout,
// and again if the probe fails. A list confirms the history meanwhile if the question failed.
func TestProbeDetectsRestoreWithinMinutes(t *testing.T) {
	for _, watchList := range []bool{false, true} {
		t.Run(fmt.Sprintf("WatchList %v", watchList), func(t *testing.T) {
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{WatchList: watchList}, func(h *cachetest.Harness) {
				advanceBeyondRestore(h)
				h.InjectListFault(1, fake.Fault{Err: apierrors.NewServiceUnavailable("starting")})
				h.Restore("4")
				cachetest.Advance(6 * time.Minute) // a probe finds it, or the list that confirms the history
				h.TakeErrors()
				h.ExpectEvents("D d@7", "U a@5→2", "A b@3")
				h.ExpectStored(h.Served())
			})
		})
	}
}

// The proxy closes each quiet watch after ten seconds, before a probe of that watch is due.
func TestProbeDetectsRestoreBehindAProxy(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(-1, fake.Fault{CloseIn: 10 * time.Second})
		h.Restore("4")
		cachetest.Advance(10 * time.Minute)
		expectRestored(h)
		h.ExpectRates(time.Now().Add(-9 * time.Minute))
	})
}

func TestBookmarkDetectsRestore(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.BookmarkEvery(time.Minute)
		h.Restore("4")
		cachetest.Advance(2 * time.Minute)
		expectRestored(h)
	})
}

// A relist answered by a lagging replica is followed by a consistent list.
func TestRelistRejectsALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectListFault(1, fake.Fault{ResourceVersion: "4"})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(10 * time.Second)
		h.ExpectRequests(2, "list@57 list@ watch@57")
		h.ExpectEvents()
		h.ExpectStored("a@5 c@4 d@7")
	})
}

// A watch at a version that a replica has not reached yet is retried, without a list.
func TestWatchRetriesALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		h.InjectWatchFault(4, fake.Fault{Err: fake.TooLargeResourceVersion()})
		h.CloseWatches()
		cachetest.Advance(30 * time.Second)
		h.ExpectRequests(2, "watch@4 watch@4 watch@4 watch@4 watch@4")
		h.Update(cachetest.Pod("a"))
		h.ExpectEvents("U a@5→58")
	})
}

// If the version stays too large, a consistent list finds the server's version.
func TestReplicaThatAlwaysLagsCausesConsistentList(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		advanceBeyondRestore(h)
		began := time.Now()
		h.InjectWatchFault(-1, fake.Fault{EditEvent: func(watch.Event) []watch.Event {
			return []watch.Event{fake.ErrorEvent(fake.TooLargeResourceVersion())}
		}, CloseAfterEvents: 1})
		h.CloseWatches()
		h.BookmarkEvery(time.Millisecond)
		cachetest.Advance(time.Hour)
		h.ExpectRates(began.Add(time.Minute))
		consistent := 0
		for _, request := range h.Requests() {
			if request.Verb == "list" && request.Options.ResourceVersion == "" && request.Options.Limit != 1 {
				consistent++
			}
		}
		if consistent == 0 {
			t.Error("no consistent list in an hour of \"too large\" errors")
		}
		h.ExpectEvents()
	})
}

// The initial list may return any version. The watch delivers the rest.
func TestInitialListAcceptsALaggingReplica(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectEvents("A a@2", "A b@3", "A c@4")
		h.ExpectStored("a@2 b@3 c@4")
	}, func(h *cachetest.Harness) {
		h.InjectListFault(1, fake.Fault{ResourceVersion: "3", EditList: func(list runtime.Object) runtime.Object {
			if n := len(list.(*corev1.PodList).Items); n != 2 {
				h.T.Errorf("the lagging replica has %d Pods, want 2", n)
			}
			return list
		}})
	})
}

// Versions are compared as numbers, not as strings: 99 is older than 100. They may exceed 64 bits.
func TestVersionsAreComparedAsNumbers(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.SkipVersions(94)
		h.Update(cachetest.Pod("a"))
		h.Update(cachetest.Pod("a"))
		h.ExpectEvents("U a@2→99", "U a@99→100")
		h.Send(sent(h, watch.Modified, "b", "18446744073709551617"))
		h.Send(sent(h, watch.Modified, "b", "18446744073709551616"))
		h.ExpectEvents("U b@3→18446744073709551617")
		h.ExpectError(cachetest.ErrorIs(reflector.ErrStale))
	})
}
