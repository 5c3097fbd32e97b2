// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// A 410 of a watch, as an event or as the response, with reason Expired or Gone, is followed by a
// list at the last version.
func TestGoneWatchIsRelisted(t *testing.T) {
	gone := map[string]error{
		"Expired": fake.Expired(),
		"Gone":    &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone}},
	}
	for reason, err := range gone {
		t.Run(reason+" in the stream", func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.Update(cachetest.Pod("a"))
				h.InjectListFault(1, fake.Fault{Delay: time.Second}) // until after the deletion
				h.Send(fake.ErrorEvent(err))
				h.Delete("ns/b")
				cachetest.Advance(2 * time.Second)
				h.ExpectRequests(0, "list@0 watch@4 list@5 watch@6")
				h.ExpectEvents("U a@2→5", "D b@3")
				h.ExpectError(func(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) })
			})
		})
		t.Run(reason+" as the response", func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.InjectWatchFault(2, fake.Fault{Err: err}) // for the overlap, and for the version reached
				h.Update(cachetest.Pod("a"))
				h.CloseWatches()
				h.Delete("ns/b")
				cachetest.Advance(10 * time.Second)
				h.ExpectRequests(0, "list@0 watch@4 watch@4 watch@5 list@5 watch@6")
				h.ExpectEvents("A a@2", "A b@3", "A c@4", "U a@2→5", "D b@3")
			})
		})
	}
}

// The server has compacted the watch's version while the watch was closed.
func TestCompactedWatchIsRelisted(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(1, fake.Fault{Err: fake.InternalError()})
		h.CloseWatches()
		h.Delete("ns/c")
		h.Create(cachetest.Pod("d"))
		h.Compact()
		cachetest.Advance(time.Minute)
		h.ExpectStored(h.Served())
		h.ExpectEvents("D c@4", "A d@6")
	})
}

// A watch whose connection is dead, but not closed, is replaced after its idle timeout.
func TestStalledWatchIsReplaced(t *testing.T) {
	t.Run("no bookmarks", func(t *testing.T) {
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			h.ExpectSynced()
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(untilGivenUp)
			h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
			cachetest.Advance(5 * time.Second)
			h.ExpectEvents("U a@2→5")
		}, func(h *cachetest.Harness) { h.InjectWatchFault(1, fake.Fault{Stall: true}) })
	})
	t.Run("bookmarks stop", func(t *testing.T) {
		dead := false
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			h.ExpectSynced()
			cachetest.Advance(4 * time.Minute)
			dead = true
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(5 * time.Minute)
			h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
			dead = false
			cachetest.Advance(2 * time.Minute)
			h.ExpectStored(h.Served())
		}, func(h *cachetest.Harness) {
			h.KeepWatchesOpen = true
			h.BookmarkEvery(time.Minute)
			h.InjectWatchFault(1, fake.Fault{EditEvent: func(e watch.Event) []watch.Event {
				if dead {
					return nil
				}
				return []watch.Event{e}
			}})
		})
	})
}

// A watch that has received bookmarks, and events since, is not given up when no more bookmarks
// come.
func TestWatchWithEventsIsNotGivenUp(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		for range 3 {
			cachetest.Advance(10 * time.Second)
			h.Bookmark()
		}
		for range 4 {
			cachetest.Advance(time.Minute)
			h.Update(cachetest.Pod("a"))
		}
		h.ExpectNoError()
		h.ExpectRequests(0, "list@0 watch@4")
	})
}

// Watches that end by their timeout without an event cause no error and no list except probes.
func TestQuietWatchIsNoFault(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		cachetest.Advance(12 * time.Hour)
		h.ExpectNoError()
		h.ExpectStored("a@2 b@3 c@4")
		if n := wholeLists(h.Requests()); n != 1 {
			t.Fatalf("%d lists, want the initial one", n)
		}
		if status := h.Controller.Status(); status.Requests.Watches > 12*12+1 || status.Requests.Lists > status.Requests.Watches {
			t.Errorf("%d watches and %d lists in twelve quiet hours", status.Requests.Watches, status.Requests.Lists)
		}
	})
}
