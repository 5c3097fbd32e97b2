// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/fake"
)

// many runs 50 informers with 200 handlers, each informer with 100 Pods and 300 events.
func many(tb testing.TB) *cache.Group {
	tb.Helper()
	var group cache.Group
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	tb.Cleanup(func() { cancel(); running.Wait() })
	for n := range 50 {
		server := fake.NewListerWatcher(&corev1.Pod{})
		for p := range 100 {
			server.Create(pod(fmt.Sprint("web-", p)))
		}
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Name:     fmt.Sprint("pods of cluster ", n),
			Indexers: cache.Indexers[*corev1.Pod]{cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc)},
		})
		for h := range 4 {
			handler := cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) {})
			if _, err := informer.AddEventHandler(handler, cache.HandlerOptions{Name: fmt.Sprint("controller ", h)}); err != nil {
				tb.Fatal(err)
			}
		}
		group.Add(informer)
		running.Go(func() { _ = informer.Run(ctx) })
		if err := informer.WaitForSync(ctx); err != nil {
			tb.Fatal(err)
		}
		for range 300 {
			server.Update(pod("web-1"))
		}
	}
	return &group
}

// serve200 returns how long a page takes to serve, and its size.
func serve200(tb testing.TB, handler http.Handler, target string) (time.Duration, int) {
	tb.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, target, nil)
	answer, began := httptest.NewRecorder(), time.Now()
	handler.ServeHTTP(answer, r)
	took := time.Since(began)
	if answer.Code != http.StatusOK {
		tb.Fatalf("%s: got status %d", target, answer.Code)
	}
	return took, answer.Body.Len()
}

// TestOverviewIsFast serves the page of 50 informers and 200 handlers within 50 ms.
func TestOverviewIsFast(t *testing.T) {
	handler := debug.Handler(debug.Options{}, many(t))
	for _, target := range []string{"/", "/informers.json"} {
		var times []time.Duration
		var size int
		for range 21 {
			var took time.Duration
			took, size = serve200(t, handler, target)
			times = append(times, took)
		}
		slices.Sort(times)
		median := times[len(times)/2]
		t.Logf("%s: %d bytes in %v", target, size, median)
		if median > refreshTime {
			t.Errorf("%s took %v, want at most %v", target, median, refreshTime)
		}
	}
}

// BenchmarkOverview serves the page of 50 informers and 200 handlers.
func BenchmarkOverview(b *testing.B) {
	handler := debug.Handler(debug.Options{}, many(b))
	b.ReportAllocs()
	for b.Loop() {
		serve200(b, handler, "/")
	}
}

// TestConcurrentRequests serves all pages while informers run, receive events and stop.
func TestConcurrentRequests(t *testing.T) {
	var group cache.Group
	handler := debug.Handler(withObjects, &group)
	var working sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		working.Go(func() {
			for n := range 20 {
				informer, server := pods(fmt.Sprint("pods-", n))
				server.Create(pod("web"))
				group.Add(informer)
				ctx, cancel := context.WithCancel(context.Background())
				stopped := make(chan error, 1)
				go func() { stopped <- informer.Run(ctx) }()
				if err := informer.WaitForSync(ctx); err != nil {
					t.Error(err)
				}
				server.Update(pod("web"))
				cancel()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { working.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
		}
		serve200(t, handler, "/")
		for _, view := range group.Views() {
			for _, target := range []string{page("informer", view.ID(), ""), page("informer.json", view.ID(), ""), page("object", view.ID(), "ns%2Fweb")} {
				if code := serve(t, handler, "GET "+target).Code; code != http.StatusOK && code != http.StatusNotFound {
					t.Errorf("%s: got status %d", target, code)
				}
			}
		}
	}
}
