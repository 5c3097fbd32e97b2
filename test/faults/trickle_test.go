// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// trickle makes the server send the body of its nth response a few bytes a second.
func (n *network) trickle(nth, bytesPerSecond int) {
	var count atomic.Int32
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if int(count.Add(1)) != nth {
			return false
		}
		n.serve(&slowWriter{w, r, bytesPerSecond}, r)
		return true
	}
}

// slowWriter sends a body a few bytes a second, until the client closes the connection.
type slowWriter struct {
	http.ResponseWriter
	request        *http.Request
	bytesPerSecond int
}

func (w *slowWriter) Write(p []byte) (int, error) {
	for chunk := range slices.Chunk(p, w.bytesPerSecond) {
		if _, err := w.ResponseWriter.Write(chunk); err != nil {
			return 0, err
		}
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		select {
		case <-time.After(time.Second):
		case <-w.request.Context().Done():
			return 0, w.request.Context().Err()
		}
	}
	return len(p), nil
}

func (w *slowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// large sets an annotation of a kilobyte.
func large(p *corev1.Pod) { p.Annotations = map[string]string{"large": strings.Repeat("x", 1000)} }

// TestTricklingListIsGivenUp sends a list a byte a second, so that no object arrives for longer
// than the idle timeout. The list is given up and retried.
func TestTricklingListIsGivenUp(t *testing.T) {
	overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
		cachetest.Advance(4*time.Minute + 50*time.Second)
		h.ExpectNoError()
		cachetest.Advance(2 * time.Minute)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		if want := "list@0 list@0 watch@5"; n.requests() != want {
			h.T.Errorf("requests [%s], want [%s]", n.requests(), want)
		}
		h.ExpectStored("a@5 b@3 c@4")
	}, func(h *cachetest.Harness, n *network) {
		h.Update(cachetest.Pod("a", large))
		n.trickle(1, 1)
	})
}

// TestSlowListIsNotGivenUp sends a list so slowly that it takes longer than the idle timeout,
// although an object arrives every few minutes. A streaming client waits for it.
func TestSlowListIsNotGivenUp(t *testing.T) {
	for _, version := range []protocol{http1, http2} {
		t.Run(string(version), func(t *testing.T) {
			overNetwork(t, version, streamingClient, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(7 * time.Minute)
				if h.Controller.HasDelivered() {
					t.Error("synced before the list ended")
				}
				cachetest.Advance(5 * time.Minute)
				h.ExpectNoError()
				h.ExpectStored("a@5 b@6 c@7")
				if want := "list@0 watch@7"; n.requests() != want {
					t.Errorf("requests [%s], want [%s]", n.requests(), want)
				}
			}, func(h *cachetest.Harness, n *network) {
				for _, name := range []string{"a", "b", "c"} {
					h.Update(cachetest.Pod(name, large))
				}
				n.trickle(1, 5)
			})
		})
	}
}

// TestTricklingWatchIsGivenUp sends the first event of a watch a byte a second, although the watch
// was to end after its timeout. The watch is given up and resumed.
func TestTricklingWatchIsGivenUp(t *testing.T) {
	overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
		h.ExpectSynced()
		h.Update(cachetest.Pod("a", large))
		cachetest.Advance(untilGivenUp)
		h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		if want := "list@0 watch@4 watch@4"; !strings.HasPrefix(n.requests(), want) { // a third follows two short ones
			h.T.Errorf("requests [%s], want [%s]", n.requests(), want)
		}
		h.ExpectEvents("U a@2→5")
	}, func(_ *cachetest.Harness, n *network) { n.trickle(2, 1) })
}

// TestTrickleEndsWithTheContext cancels the informer while a response trickles. InBubble checks
// that Run returns within a second.
func TestTrickleEndsWithTheContext(t *testing.T) {
	for nth, what := range []string{"list", "watch"} {
		t.Run(what, func(t *testing.T) {
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, _ *network) {
				h.Update(cachetest.Pod("a", large))
				cachetest.Advance(time.Minute)
			}, func(_ *cachetest.Harness, n *network) { n.trickle(nth+1, 1) })
		})
	}
}
