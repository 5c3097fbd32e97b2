// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestStatusCountsRequestsAndBytes checks what Status counts of a server that refuses the first
// list, closes a watch after an event and the next at once, and no longer has the version of the
// next one or the one that it had reached. The relist decodes the unchanged object to compare it.
func TestStatusCountsRequestsAndBytes(t *testing.T) {
	for name, f := range cachetest.Formats {
		t.Run(name, func(t *testing.T) {
			list := f.Nodes("3", cachetest.Node("a", "1"), cachetest.Node("b", "2"))
			event := f.Event(watch.Modified, cachetest.Node("b", "4"))
			s := cachetest.NewScript(t, []http.HandlerFunc{
				cachetest.ServeStatus(http.StatusForbidden, "", "Forbidden"),
				cachetest.Serve(f.ListType, list),
				cachetest.Serve(f.ListType, f.Nodes("8", cachetest.Node("a", "1"))),
			}, nil)
			s.Watches = []http.HandlerFunc{
				cachetest.Serve(f.WatchType, event), cachetest.Serve(f.WatchType, nil),
				cachetest.ServeStatus(http.StatusGone, "", "Expired"), cachetest.ServeStatus(http.StatusGone, "", "Expired"), s.ServeOpen(f.WatchType, f.Event(watch.Added, cachetest.Node("c", "9"))),
			}
			h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
			h.Expect("A a@1", "A b@2", "U b@2→4", "D b@4", "A c@9")
			cachetest.ExpectNext(t, s.Requests, "list@0", "list@0", "watch@3", "watch@3", "watch@3", "watch@4", "list@4", "watch@8")
			status := h.Controller.Status()
			expectCount(t, status.Requests.Results, cache.Request{Verb: "WATCH", Code: "200"}, 3)
			expectCount(t, status.Requests.Results, cache.Request{Verb: "LIST", Code: "403"}, 1)
			expectCount(t, status.Requests.Results, cache.Request{Verb: "LIST", Code: "200"}, 2)
			expectCount(t, status.Requests.Results, cache.Request{Verb: "WATCH", Code: "410"}, 2)
			expectCount(t, status.Requests.Relists, "Expired", 1)
			if least := uint64(len(list) + len(event)); status.Requests.BytesRead < least || status.Requests.BytesRead > 2*least {
				t.Errorf("%d bytes read, of responses of %d and more", status.Requests.BytesRead, least)
			}
			if status.Requests.Decoded != 4 || status.Requests.DecodeTime <= 0 || status.Store.Changes != 5 || status.Requests.WatchRestarts != 1 || status.Requests.Received != 0 {
				t.Errorf("%d decoded in %v, %d changes, %d watches resumed, %d received, want 4, 5, 1 and 0",
					status.Requests.Decoded, status.Requests.DecodeTime, status.Store.Changes, status.Requests.WatchRestarts, status.Requests.Received)
			}
			ctx := testContext(t)
			for recentEvents(status) < 2 && ctx.Err() == nil { // an event is counted after it was delivered
				status = h.Controller.Status()
			}
			if len(status.Requests.RecentEvents) != 60 || recentEvents(status) != 2 {
				t.Errorf("recent events %v, want two", status.Requests.RecentEvents)
			}
		})
	}
}

// recentEvents returns the number of recent watch events.
func recentEvents(status cache.Status) (sum uint32) {
	for _, n := range status.Requests.RecentEvents {
		sum += n
	}
	return sum
}

func expectCount[K comparable](t *testing.T, counts map[K]uint64, key K, want uint64) {
	t.Helper()
	if counts[key] != want {
		t.Errorf("%d of %v, want %d: %v", counts[key], key, want, counts)
	}
}

// TestStatusCountsRequestsThatAreNotStreamed counts lists and watches of the client's own decoding.
func TestStatusCountsRequestsThatAreNotStreamed(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
		h.CloseWatches()
		cachetest.Advance(10 * time.Second)
		status := h.Controller.Status()
		expectCount(t, status.Requests.Results, cache.Request{Verb: "LIST", Code: "200"}, 2)
		expectCount(t, status.Requests.Results, cache.Request{Verb: "WATCH", Code: "200"}, 2)
		expectCount(t, status.Requests.Results, cache.Request{Verb: "WATCH", Code: "410"}, 1)
		if status.Requests.BytesRead != 0 || status.Requests.Decoded != 0 {
			t.Errorf("%d bytes read and %d objects decoded by the client", status.Requests.BytesRead, status.Requests.Decoded)
		}
	})
}

// TestStatusCountsTheObjectsOfAListInProgress reads Status between the pages of a list.
func TestStatusCountsTheObjectsOfAListInProgress(t *testing.T) {
	f := cachetest.Formats["JSON"]
	first := make(chan struct{})
	page := []byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"3","continue":"x"},"items":[{"metadata":{"name":"a","resourceVersion":"1"}}]}`)
	s := cachetest.NewScript(t, []http.HandlerFunc{
		cachetest.Serve(f.ListType, page),
		func(w http.ResponseWriter, r *http.Request) {
			<-first
			cachetest.Serve(f.ListType, f.Nodes("3", cachetest.Node("b", "2")))(w, r)
		},
	}, nil)
	s.Watches = []http.HandlerFunc{s.ServeOpen(f.WatchType, nil)}
	h := cachetest.RunOverNetwork(t, cachetest.NodesOf(s.Config()), &corev1.Node{})
	cachetest.ExpectNext(t, s.Requests, "list@0", "list@")
	if status := h.Controller.Status(); status.Requests.Received != 1 || status.Store.Objects != 0 {
		t.Errorf("%d received and %d stored after one page, want 1 and 0", status.Requests.Received, status.Store.Objects)
	}
	close(first)
	h.Expect("A a@1", "A b@2")
	cachetest.ExpectNext(t, s.Requests, "watch@3") // the list is over
	if status := h.Controller.Status(); status.Requests.Received != 0 || status.Store.Objects != 2 {
		t.Errorf("%d received and %d stored after the list, want 0 and 2", status.Requests.Received, status.Store.Objects)
	}
}

// TestViewShowsAnInformer reads a store of Pods through its View.
func TestViewShowsAnInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byNode := cache.Indexers[*corev1.Pod]{"node": cache.ByObject(func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil })}
		s := newSharedHarness(t, cache.InformerOptions[*corev1.Pod]{Name: "pods", Indexers: byNode})
		for _, name := range []string{"web-2", "db", "web-1", "web-3"} {
			s.Create(cachetest.Pod(name))
		}
		s.start()
		view := s.Views()[0]
		if view.Kind() != "Pod" || view.Status().Name != "pods" {
			t.Errorf("kind %q, name %q", view.Kind(), view.Status().Name)
		}
		if keys, found := view.FindKeys("web", 2); found != 3 || !slices.Equal(keys, []string{"ns/web-1", "ns/web-2"}) {
			t.Errorf("found %d keys, the first are %v", found, keys)
		}
		if keys, found := view.FindKeys("", 0); found < 4 || len(keys) != 0 {
			t.Errorf("found %d keys, returned %v", found, keys)
		}
		if indexes := view.Indexes(); !maps.Equal(indexes, map[string]int{"node": 1}) {
			t.Errorf("indexes %v", indexes)
		}
		if obj, exists, err := view.Get("ns/db"); err != nil || !exists || obj.GetName() != "db" {
			t.Errorf("Get returned %v, %v, %v", obj, exists, err)
		}
		if obj, exists, err := view.Get("ns/none"); obj != nil || exists || err != nil {
			t.Errorf("Get of another key returned %v, %v, %v", obj, exists, err)
		}
		if err := s.stopRun(); err != nil {
			t.Error(err)
		}
	})
}

// TestGroupForgetsStoppedInformers checks the views of a group of informers and factories.
func TestGroupForgetsStoppedInformers(t *testing.T) {
	withFactory(t, func(f *factoryHarness) {
		pods := newSharedHarness(f.t, cache.InformerOptions[*corev1.Pod]{})
		var group cache.Group
		group.Add(pods, f)
		group.Add(pods)
		if views := group.Views(); len(views) != 1 || views[0].ID() != pods.Views()[0].ID() {
			t.Errorf("%d views of one informer", len(views))
		}
		healthy := group.HealthCheck(cache.HealthOptions{})
		if err := healthy(nil); !cachetest.ErrorContains("Run has not been called")(err) {
			t.Errorf("the health of a group with an informer that does not run is %v", err)
		}
		f.start()
		ref, err := cache.InformerFor(f.Factory, f.pods("ns"), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		if err != nil {
			t.Fatal(err)
		}
		pods.start()
		if views := group.Views(); len(views) != 2 || views[0].ID() != pods.Views()[0].ID() || views[1].ID() != ref.Informer().Views()[0].ID() {
			t.Errorf("%d views, want one of each informer in the order in which they were made", len(views))
		}
		if err := healthy(nil); err != nil {
			t.Error(err)
		}
		if err := pods.stopRun(); err != nil {
			t.Error(err)
		}
		if views := group.Views(); len(views) != 1 || views[0].ID() == pods.Views()[0].ID() {
			t.Errorf("%d views after one informer has stopped, want 1", len(views))
		}
		ref.Release()
	})
}
