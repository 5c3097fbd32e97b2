// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// withoutEndVersion removes the version of the bookmark that ends the initial state.
func withoutEndVersion(event watch.Event) []watch.Event {
	if event.Type == watch.Bookmark {
		event.Object = endBookmark("", "true")
	}
	return []watch.Event{event}
}

// An end bookmark without a version, as servers of tests send it, completes the initial state.
// Events have the versions of their objects alone, so that the next watch begins with the state
// again.
func TestWatchListEndMayHaveNoVersion(t *testing.T) {
	noVersion := func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{EditEvent: withoutEndVersion}) }
	for name, c := range map[string]struct {
		change func(h *cachetest.Harness)
		events []string
	}{
		"an event":   {func(h *cachetest.Harness) { h.Update(cachetest.Pod("a")) }, []string{"U a@2→5"}},
		"a deletion": {func(h *cachetest.Harness) { h.Delete("ns/b") }, []string{"D b@5"}},
		"nothing":    {func(*cachetest.Harness) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			byWatchList(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				if version := h.Controller.LastSyncResourceVersion(); version != "" {
					t.Errorf("at version %q, want none", version)
				}
				c.change(h)
				h.ExpectEvents(c.events...)
				if version := h.Controller.LastSyncResourceVersion(); version != "" {
					t.Errorf("at version %q, want none", version)
				}
				h.CloseWatches()
				h.Create(cachetest.Pod("d"))
				cachetest.Advance(10 * time.Second)
				h.ExpectRequests(0, "watch@+ watch@+")
				h.CheckHandlerState()
				if _, ok := h.Store.GetByKey("ns/d"); !ok {
					t.Error("the store lacks an object created after the watch")
				}
			}, noVersion)
		})
	}
}

// A server that never sends a version, and closes each stream, is asked for its state again and
// again, within the limit for requests.
func TestWatchListsWithoutVersionAreLimited(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		began := time.Now()
		for range 600 {
			h.CloseWatches()
			cachetest.Advance(time.Second)
		}
		h.ExpectRequestRate(began)
	}, func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{EditEvent: withoutEndVersion}) })
}

// Once a version is known, an initial state without one is refused, and a list follows.
func TestWatchListWithoutVersionDoesNotReplaceAKnownOne(t *testing.T) {
	byWatchList(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		h.InjectWatchFault(1, fake.Fault{EditEvent: withoutEndVersion})
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(10 * time.Second)
		h.ExpectRequests(0, "watch@+ watch@4+ list@4 watch@4")
		h.ExpectEvents()
	})
}

// The streaming reader accepts such a bookmark, too, and one whose version is no number.
func TestStreamedWatchListEndMayHaveNoNumber(t *testing.T) {
	for name, f := range cachetest.Formats {
		for _, version := range []string{"", "opaque"} {
			t.Run(name+" "+version, func(t *testing.T) { testStreamedEnd(t, f, version) })
		}
	}
}

func testStreamedEnd(t *testing.T, f cachetest.Format, version string) {
	t.Helper()
	bookmark := cachetest.Node("", version)
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	s := cachetest.NewScript(t, nil, nil)
	s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, slices.Concat(
		f.Event(watch.Added, cachetest.Node("a", "3")), f.Event(watch.Bookmark, bookmark), f.Event(watch.Added, cachetest.Node("b", "4"))))}
	h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{},
		func(o *cache.ReflectorOptions) { o.WatchList = true })
	h.Expect("A a@3", "A b@4")
	h.ExpectStreaming()
}
