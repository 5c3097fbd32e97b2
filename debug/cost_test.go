// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestPageOf500InformersIsSmall serves 500 healthy informers, each with two handlers and with
// events.
func TestPageOf500InformersIsSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		var servers []*fake.ListerWatcher[*corev1.Pod]
		for n := range 500 {
			informer, server := pods(fmt.Sprint("pods of cluster ", n))
			for h := range 2 {
				handler := cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) {})
				if _, err := informer.AddEventHandler(handler, cache.HandlerOptions{Name: fmt.Sprint("controller ", h)}); err != nil {
					t.Fatal(err)
				}
			}
			server.Create(pod("web"))
			servers = append(servers, server)
			group.Add(informer)
			start(t, informer.Run)
		}
		for range 11 {
			cachetest.Advance(25 * time.Second)
			for _, server := range servers {
				server.Update(pod("web"))
			}
		}
		synctest.Wait()
		text := get(t, Handler(Options{}, &group), "/")
		elements := len(regexp.MustCompile(`<[a-z]`).FindAllString(text, -1))
		if t.Logf("%d bytes, %d elements", len(text), elements); len(text) > 150_000 || elements > 5_000 {
			t.Errorf("got %d bytes and %d elements, want at most 150,000 and 5,000", len(text), elements)
		}
		expectNot(t, text, "Needs attention")
		if rows := strings.Count(text, `<td class="ok">Watching</td>`); rows != 500 {
			t.Errorf("got %d rows of healthy informers, want 500", rows)
		}
	})
}

// TestConcurrentRequests serves all pages while informers run, receive events and stop.
func TestConcurrentRequests(t *testing.T) {
	var group cache.Group
	handler := Handler(withObjects, &group)
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
		get(t, handler, "/")
		for _, view := range group.Views() {
			for _, target := range []string{page("informer", view.ID(), ""), page("informer.json", view.ID(), ""), page("object", view.ID(), "ns%2Fweb")} {
				if code := serve(t, handler, "GET "+target).Code; code != http.StatusOK && code != http.StatusNotFound {
					t.Errorf("%s: got status %d", target, code)
				}
			}
		}
	}
}
