// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// shutDown ends the server as a rolling restart does: connections of HTTP/2 receive GOAWAY, and the
// watches end. Another server takes over at the same address.
func (n *network) shutDown() {
	n.mu.Lock()
	old := n.server
	n.mu.Unlock()
	done := make(chan struct{})
	go func() {
		_ = old.Shutdown(context.Background())
		close(done)
	}()
	synctest.Wait()
	n.start()
	n.CloseWatches()
	<-done
}

// TestLostConnectionsAreResumedWithoutAHerd ends all connections of many informers at once. Each
// resumes its watch at the version reached, within 100 ms but not together, and makes no list but a
// probe.
func TestLostConnectionsAreResumedWithoutAHerd(t *testing.T) {
	for name, lose := range map[string]func(n *network){
		"closed": func(n *network) { n.each(func(c *connection) { _ = c.server.Close() }) },
		"reset":  func(n *network) { n.each((*connection).resetByPeer) },
		"GOAWAY": func(n *network) { n.shutDown() },
		"restarted": func(n *network) {
			n.stop()
			n.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachClient(t, func(t *testing.T, connect func(*cachetest.Harness) *network) {
				synctest.Test(t, func(t *testing.T) {
					const informers = 30
					h := cachetest.New(t)
					h.KeepWatchesOpen = true
					n := connect(h)
					stop := runInformers(h, informers)
					cachetest.Advance(4 * time.Minute)
					before := len(h.Requests())
					lose(n)
					lost := time.Now()
					cachetest.Advance(4 * time.Minute)
					expectNoHerd(t, h.Requests()[before:], lost, informers)
					stop()
				})
			})
		})
	}
}

// runInformers runs more informers of the harness's source, until stop.
func runInformers(h *cachetest.Harness, informers int) (stop func()) {
	ctx, cancel := context.WithCancel(h.T.Context())
	done := make(chan error)
	for range informers {
		pods := cache.NewSharedInformer(h.Source, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{ErrorHandler: h.Report})
		go func() { done <- pods.Run(ctx) }()
	}
	return func() {
		cancel()
		for range informers {
			if err := <-done; err != nil {
				h.T.Error(err)
			}
		}
	}
}

// expectNoHerd checks that each informer has made two requests: within 100 ms, but not together, a
// watch at the version reached, and later a probe. The probes are spread over a minute.
func expectNoHerd(t *testing.T, requests []fake.Request, lost time.Time, informers int) {
	t.Helper()
	count := make(map[string]int)
	for _, request := range requests {
		after := request.Time.Sub(lost)
		if request.Verb == "watch" {
			count[fmt.Sprintf("watches in the 10 ms from %v on", after.Truncate(10*time.Millisecond))]++
		} else {
			count[fmt.Sprintf("probes in the second from %v on", after.Truncate(time.Second))]++
		}
		isResumed := request.Verb == "watch" && request.Options.ResourceVersion == "4" && after <= 100*time.Millisecond
		isProbe := request.Verb == "list" && request.Options.Limit == 1 && after > 100*time.Millisecond
		if !isResumed && !isProbe {
			t.Errorf("%s at %q %v after the connections were lost", request.Verb, request.Options.ResourceVersion, after)
		}
	}
	for what, n := range count {
		if n > informers/2 {
			t.Errorf("%d %s, want at most %d", n, what, informers/2)
		}
	}
	if len(requests) != 2*informers {
		t.Errorf("%d requests, want a watch and a probe of each of %d informers", len(requests), informers)
	}
}

// TestRefusedConnectionsKeepTheVersion refuses all connections for a while. The store keeps its
// state, Status has the error, and the watch is resumed at the version reached, without a list.
func TestRefusedConnectionsKeepTheVersion(t *testing.T) {
	for _, down := range []time.Duration{time.Second, time.Minute, time.Hour} {
		t.Run(fmt.Sprint(down), func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(time.Minute)
				h.ExpectSynced()
				n.stop()
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(down)
				h.ExpectStored("a@2 b@3 c@4")
				if status := h.Controller.Status(); !cachetest.ErrorContains("connection refused")(status.Err) {
					h.T.Errorf("status %+v", status)
				}
				n.start()
				cachetest.Advance(31 * time.Second)
				h.ExpectEvents("U a@2→5")
				if requests := n.requests(); strings.Count(requests, "list") != 1 || !strings.HasSuffix(requests, "watch@4 watch@4") {
					h.T.Errorf("requests [%s]", requests)
				}
			})
		})
	}
}
