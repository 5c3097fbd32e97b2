// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// sent returns an event of a Pod at any version, with the UID and creation time of the stored Pod:
// that of its version has equal content.
func sent(h *cachetest.Harness, eventType watch.EventType, name, rv string) watch.Event {
	p := cachetest.Pod(name, cachetest.WithVersion(rv))
	if stored, ok := h.Store.GetByKey("ns/" + name); ok {
		p.UID, p.CreationTimestamp = stored.UID, stored.CreationTimestamp
	}
	return watch.Event{Type: eventType, Object: p}
}

// An event of a stored state, or a deletion of an object that is not stored, changes nothing and
// does not end the watch.
func TestReplayedEventsChangeNothing(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for _, event := range []watch.Event{
			sent(h, watch.Added, "a", "2"), sent(h, watch.Modified, "b", "3"), sent(h, watch.Added, "c", "4"), sent(h, watch.Added, "c", "4"),
			sent(h, watch.Deleted, "ghost", "4"), sent(h, watch.Deleted, "ghost", "3"),
		} {
			h.Send(event)
		}
		h.SkipVersions(10)
		h.Send(sent(h, watch.Deleted, "ghost", "12"))
		h.Send(sent(h, watch.Deleted, "ghost", "13"))
		h.ExpectEvents()
		h.ExpectNoError()
		h.ExpectRequests(0, "list@0 watch@4")
		if rv := h.Controller.LastSyncResourceVersion(); rv != "13" {
			t.Errorf("at version %s after the deletions, want 13", rv)
		}
		h.ExpectStored("a@2 b@3 c@4")
	})
}

// An event older than an earlier one is dropped, and the watch is resumed at the last version.
func TestStaleEventEndsTheWatch(t *testing.T) {
	for name, stale := range map[string]func(h *cachetest.Harness) watch.Event{
		"an older state of an object":        func(h *cachetest.Harness) watch.Event { return sent(h, watch.Modified, "a", "2") },
		"an older state, as an addition":     func(h *cachetest.Harness) watch.Event { return sent(h, watch.Added, "a", "3") },
		"an older object that is not stored": func(h *cachetest.Harness) watch.Event { return sent(h, watch.Added, "z", "3") },
		"a deletion of an older state":       func(h *cachetest.Harness) watch.Event { return sent(h, watch.Deleted, "a", "4") },
		"the same version, another UID": func(h *cachetest.Harness) watch.Event {
			e := sent(h, watch.Modified, "a", "5")
			e.Object.(*corev1.Pod).UID = "other"
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.Update(cachetest.Pod("a")) // 5
				h.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
				h.Send(stale(h))
				h.ExpectEvents()
				h.ExpectError(cachetest.ErrorIs(reflector.ErrStale))
				h.Update(cachetest.Pod("b"))
				cachetest.Advance(2 * time.Second)
				h.ExpectRequests(0, "list@0 watch@4 watch@4")
				h.ExpectEvents("U b@3→6")
				if now := h.Controller.LastSyncResourceVersion(); now != "6" {
					t.Errorf("at version %s, want 6", now)
				}
			})
		})
	}
}

// Servers of other stores than etcd may use the time in nanoseconds, which has 19 digits, as the
// version. A replayed deletion of an earlier state does not remove the object.
func TestReplayedDeletionAtANanosecondVersionIsStale(t *testing.T) {
	const nanoseconds = 1_700_000_000_000_000_000
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.SkipVersions(nanoseconds)
		old := h.Update(cachetest.Pod("a"))
		h.Update(cachetest.Pod("a"))
		h.ExpectEvents("U a@2→1700000000000000005", "U a@1700000000000000005→1700000000000000006")
		h.Send(watch.Event{Type: watch.Deleted, Object: old})
		h.ExpectEvents()
		h.ExpectError(cachetest.ErrorIs(reflector.ErrStale))
		h.ExpectStored("a@1700000000000000006 b@3 c@4")
	})
}

// If each watch begins with an event older than its version, the request rate stays bounded and the
// store becomes equal to the server.
func TestReplayOnEveryWatchCausesRelist(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.Update(cachetest.Pod("a"))
		h.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5")
		h.InjectWatchFault(-1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
			return []watch.Event{{Type: watch.Modified, Object: cachetest.Pod("b", cachetest.WithVersion("2"))}, e}
		}})
		h.CloseWatches()
		began := time.Now()
		for range 100 {
			cachetest.Advance(30 * time.Second)
			h.Update(cachetest.Pod("c"))
		}
		h.ExpectRates(began.Add(time.Minute))
		cachetest.Advance(2 * time.Minute)
		h.ExpectStored(h.Served())
	})
}

// A deletion may carry the version of the object's last update instead of its own. It is applied
// unless it is older than the stored state.
func TestDeletionAtTheStoredVersionIsApplied(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.Update(cachetest.Pod("c")) // 5
		h.Send(sent(h, watch.Deleted, "a", "2"))
		h.ExpectEvents("U c@4→5", "D a@2")
		h.ExpectNoError()
		if rv := h.Controller.LastSyncResourceVersion(); rv != "5" {
			t.Errorf("at version %s, want 5", rv)
		}
		h.Send(sent(h, watch.Deleted, "b", "3"))
		h.ExpectEvents("D b@3")
		h.CloseWatches()
		cachetest.Advance(10 * time.Second)
		// The server does not repeat the deletions, but proves the update. It still has both Pods.
		if n := wholeLists(h.Requests()); n != 2 {
			t.Errorf("%d lists, want two", n)
		}
		h.ExpectEvents("A a@2", "A b@3")
		h.ExpectError(cachetest.ErrorIs(reflector.ErrHistoryChanged))
	})
}

// A MODIFIED event of an object that is not stored is an addition, an ADDED event of a stored
// object is an update, and an event with a new UID is a deletion and an addition.
func TestEventTypesFollowTheStore(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.SkipVersions(20)
		h.Send(sent(h, watch.Modified, "d", "10"))
		h.Send(sent(h, watch.Added, "a", "11"))
		other := sent(h, watch.Modified, "b", "12")
		other.Object.(*corev1.Pod).UID = types.UID("recreated")
		h.Send(other)
		h.ExpectEvents("A d@10", "U a@2→11", "D b@3", "A b@12")
		h.ExpectNoError()
	})
}

// Fake clientsets send objects without a version. They are applied without a comparison and do not
// change the informer's version.
func TestEventsWithoutVersionAreApplied(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.Send(sent(h, watch.Modified, "a", ""))
		h.Send(sent(h, watch.Added, "d", ""))
		h.Send(sent(h, watch.Deleted, "b", ""))
		h.ExpectEvents("U a@2→", "A d@", "D b@")
		h.ExpectNoError()
		if rv := h.Controller.LastSyncResourceVersion(); rv != "4" {
			t.Errorf("at version %s, want 4", rv)
		}
	})
}

// A bookmark advances the version and is neither stored nor delivered. After a bookmark with an
// older version, a consistent list decides whether the server is at that version.
func TestBookmarksAdvanceTheVersion(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		fresh := h.Controller.Status().Freshness.FreshAt
		cachetest.Advance(time.Second)
		named := cachetest.Pod("a", cachetest.WithVersion("9"), cachetest.WithLabel("x", "y"))
		h.SkipVersions(20)
		h.Send(watch.Event{Type: watch.Bookmark, Object: named})
		h.ExpectEvents()
		if rv := h.Controller.LastSyncResourceVersion(); rv != "9" || h.Store.Snapshot().ResourceVersion() != "9" {
			t.Errorf("at %s, snapshot at %s, want 9", rv, h.Store.Snapshot().ResourceVersion())
		}
		if now := h.Controller.Status().Freshness.FreshAt; now.Sub(fresh) != time.Second {
			t.Errorf("FreshAt is %v after that of the list, want 1s", now.Sub(fresh))
		}
		h.ExpectStored("a@2 b@3 c@4")
		h.CloseWatches()
		cachetest.Advance(6 * time.Second)
		h.ExpectRequests(0, "list@0 watch@4 watch@9")

		h.Send(watch.Event{Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("8"))})
		cachetest.Advance(10 * time.Second)
		h.ExpectError(cachetest.ErrorIs(cache.ErrVersionRegressed))
		h.ExpectRequests(3, "list@ watch@9") // a probe finds that the server has not regressed
		h.ExpectEvents()
	})
}

// Without bookmarks the version expires, so that watches are followed by relists.
func TestMissingBookmarksCostOnlyRelists(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for range 24 {
			h.SkipVersions(100)
			h.Compact()
			cachetest.Advance(time.Hour)
		}
		if lists := h.Controller.Status().Requests.Lists; lists > 24*(1+2*12) {
			t.Errorf("%d lists in a day", lists)
		}
		h.ExpectStored("a@2 b@3 c@4")
		h.ExpectEvents()
	})
}

// An invalid event ends the watch, which is resumed at the last version. A second one is followed
// by a list.
func TestInvalidEventIsResumedThenRelisted(t *testing.T) {
	bad := map[string]watch.Event{
		"a Status":            {Type: watch.Added, Object: &metav1.Status{}},
		"version abc":         {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("abc"))},
		"version 0":           {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("0"))},
		"version 007":         {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("007"))},
		"version -5":          {Type: watch.Modified, Object: cachetest.Pod("a", cachetest.WithVersion("-5"))},
		"bookmark abc":        {Type: watch.Bookmark, Object: cachetest.Pod("", cachetest.WithVersion("abc"))},
		"an ERROR of a Pod":   {Type: watch.Error, Object: cachetest.Pod("a")},
		"an empty ERROR":      {Type: watch.Error},
		"an ERROR nil status": {Type: watch.Error, Object: (*metav1.Status)(nil)},
		"an ERROR with 200":   {Type: watch.Error, Object: &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess}},
	}
	for name, event := range bad {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				send(h, event)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(2 * time.Second)
				if requests, _ := h.RequestsSince(1); requests != "watch@4 watch@4" {
					t.Errorf("requests after the list: %s", requests)
				}
				h.ExpectEvents("U a@2→5")
				if len(h.TakeErrors()) != 1 {
					t.Error("want one error reported")
				}
				h.InjectWatchFault(1, fake.Fault{EditEvent: func(watch.Event) []watch.Event { return []watch.Event{event} }})
				send(h, event)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(20 * time.Second)
				if requests, _ := h.RequestsSince(3); requests != "watch@4 list@5 watch@6" {
					t.Errorf("requests after the second invalid event: %s", requests)
				}
				h.ExpectEvents("U a@5→6")
				h.ExpectStored("a@6 b@3 c@4")
			})
		})
	}
}

// send sends an event. The fake panics on an object that it cannot copy.
func send(h *cachetest.Harness, event watch.Event) {
	defer func() {
		if recover() != nil {
			h.T.Fatalf("the fake cannot send %v", event)
		}
	}()
	h.Send(event)
}
