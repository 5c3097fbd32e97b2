// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// olderBookmarks makes every further watch send a bookmark a minute, at version 1.
func olderBookmarks(h *cachetest.Harness) {
	h.BookmarkEvery(time.Minute)
	h.InjectWatchFault(-1, fake.Fault{EditEvent: func(event watch.Event) []watch.Event {
		if event.Type == watch.Bookmark {
			event.Object.(metav1.Object).SetResourceVersion("1")
		}
		return []watch.Event{event}
	}})
}

// wholeLists returns the number of lists that were not probes.
func wholeLists(requests []fake.Request) (n int) {
	for _, request := range requests {
		if request.Verb == "list" && request.Options.Limit != 1 {
			n++
		}
	}
	return n
}

// A bookmark that is older than the version reached, as of a replica that lags, ends the watch. A
// probe shows that the server has not regressed, so the watch is resumed without a list.
func TestOlderBookmarksCauseNoLists(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		olderBookmarks(h)
		h.CloseWatches()
		began := time.Now()
		for range 60 {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Minute)
		}
		h.ExpectError(cachetest.ErrorIs(cache.ErrVersionRegressed))
		h.ExpectRates(began)
		if n := wholeLists(h.Requests()); n != 1 {
			t.Errorf("%d lists, want the initial one", n)
		}
		cachetest.Advance(10 * time.Second)
		h.ExpectStored(h.Served())
	})
}

// If the probes are answered at an older version, too, while lists are not, at most one list in ten
// minutes follows.
func TestOlderBookmarksCauseFewLists(t *testing.T) {
	between, _ := editLists(func(options metav1.ListOptions, list metav1.ListInterface) error {
		if options.Limit == 1 {
			list.SetResourceVersion("1")
		}
		return nil
	})
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		olderBookmarks(h)
		h.CloseWatches()
		for range 60 {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(time.Minute)
		}
		if n := wholeLists(h.Requests()); n < 3 || n > 8 {
			t.Errorf("%d lists in an hour, want one in ten minutes", n)
		}
	}, between)
}
