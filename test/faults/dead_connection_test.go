// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// deadConnection is a moment at which a connection dies.
type deadConnection struct {
	bookmarks time.Duration // between two of them; zero for none
	resumed   bool          // the watch is not the first one
}

func (d deadConnection) String() string {
	return fmt.Sprintf("bookmarks every %v, resumed: %v", d.bookmarks, d.resumed)
}

func deadConnections() []deadConnection {
	return []deadConnection{{0, false}, {0, true}, {time.Minute, false}, {time.Minute, true}}
}

// reach brings the informer to that moment.
func (d deadConnection) reach(h *cachetest.Harness) {
	cachetest.Advance(3 * time.Minute)
	h.ExpectSynced()
	if d.resumed {
		h.CloseWatches()
		cachetest.Advance(3 * time.Minute)
	}
}

// TestDeadConnectionIsReplaced kills all connections: nothing that is sent arrives any more, and
// neither end is closed. Another connection is opened and the store becomes equal to the server's
// state, within five minutes if there were bookmarks, and within fifteen without.
func TestDeadConnectionIsReplaced(t *testing.T) {
	for _, d := range deadConnections() {
		t.Run(d.String(), func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				d.reach(h)
				n.each((*connection).kill)
				died := time.Now()
				h.Update(cachetest.Pod("a"))
				if d.bookmarks > 0 {
					cachetest.Advance(5 * time.Minute)
				} else {
					cachetest.Advance(15 * time.Minute)
				}
				h.ExpectStored(h.Served())
				h.ExpectRates(died)
			}, func(h *cachetest.Harness, _ *network) { h.BookmarkEvery(d.bookmarks) })
		})
	}
}

// TestDeadConnectionWithoutPingsIsReported kills the connection of an HTTP/2 client whose pings are
// disabled, against client-go's default. The client sends further requests over it until the
// operating system closes it. Until then each attempt is given up and reported, Status is stale,
// and the watch is resumed at the version reached.
func TestDeadConnectionWithoutPingsIsReported(t *testing.T) {
	for _, d := range deadConnections() {
		t.Run(d.String(), func(t *testing.T) {
			overNetwork(t, http2, streamingClient, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				d.reach(h)
				n.each((*connection).kill)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(time.Hour)
				h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
				if err := h.Controller.HealthCheck(cache.HealthOptions{MaxStaleness: 30 * time.Minute})(nil); err == nil {
					t.Errorf("healthy; status %+v", h.Controller.Status())
				}
				n.each(func(c *connection) { _ = c.client.Close() })
				cachetest.Advance(time.Minute)
				h.ExpectStored(h.Served())
				h.ExpectEvents("U a@2→5")
			}, func(h *cachetest.Harness, n *network) {
				n.transport.HTTP2 = &http.HTTP2Config{}
				h.BookmarkEvery(d.bookmarks)
			})
		})
	}
}

// TestFrozenServerIsGivenUpOverHTTP lets the server accept every request and answer none, after the
// headers of watches. Each watch is given up, Status and HealthCheck say so, and the informer
// recovers with the server.
func TestFrozenServerIsGivenUpOverHTTP(t *testing.T) {
	for _, d := range deadConnections() {
		t.Run(d.String(), func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, _ *network) {
				d.reach(h)
				freeze(h)
				frozen := time.Now()
				h.CloseWatches()
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(2 * time.Hour)
				h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
				if status := h.Controller.Status(); status.Requests.Watches < 10 || status.Freshness.FreshAt.After(frozen) {
					h.T.Errorf("status after two hours: %+v", status)
				}
				if h.Controller.HealthCheck(cache.HealthOptions{MaxStaleness: 30 * time.Minute})(nil) == nil {
					h.T.Error("healthy")
				}
				h.ExpectRates(frozen)
				h.ClearFaults()
				cachetest.Advance(untilGivenUp)
				h.ExpectStored(h.Served())
			}, func(h *cachetest.Harness, _ *network) { h.BookmarkEvery(d.bookmarks) })
		})
	}
}
