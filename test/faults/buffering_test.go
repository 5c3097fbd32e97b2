// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"bytes"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// bufferWatches puts a proxy before the server that holds the headers and events of each watch
// back, for up to d.
func (n *network) bufferWatches(d time.Duration) {
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("watch") {
			return false
		}
		b := &bufferingWriter{ResponseWriter: w, header: make(http.Header)}
		done := make(chan struct{})
		var flushing sync.WaitGroup
		flushing.Go(func() { b.flushEvery(d, done) })
		n.serve(b, r)
		close(done)
		flushing.Wait()
		return true
	}
}

// bufferingWriter buffers a body, and the headers before it.
type bufferingWriter struct {
	http.ResponseWriter
	header http.Header // of the handler, which does not change it once begun is true

	mu    sync.Mutex // guards the fields below
	begun bool       // the handler has sent its header
	sent  bool       // to the client
	body  bytes.Buffer
}

func (b *bufferingWriter) Header() http.Header { return b.header }

func (b *bufferingWriter) WriteHeader(int) { b.Flush() }

func (b *bufferingWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
	return b.body.Write(p)
}

func (b *bufferingWriter) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
}

// flushEvery sends what was written, every d and once more when done is closed.
func (b *bufferingWriter) flushEvery(d time.Duration, done <-chan struct{}) {
	for open := true; open; {
		select {
		case <-time.After(d):
		case <-done:
			open = false
		}
		b.send()
	}
}

func (b *bufferingWriter) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		return
	}
	if !b.sent {
		b.sent = true
		maps.Copy(b.ResponseWriter.Header(), b.header)
	}
	_, _ = b.ResponseWriter.Write(b.body.Next(b.body.Len()))
	_ = http.NewResponseController(b.ResponseWriter).Flush()
}

// TestBufferedWatchIsNoFault reads through a proxy that buffers the responses of watches for
// minutes, their headers included. No watch is taken for a short or a stalled one, and events
// arrive as late as the proxy sends them.
func TestBufferedWatchIsNoFault(t *testing.T) {
	const buffered = 4 * time.Minute
	overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, _ *network) {
		cachetest.Advance(time.Second) // for which the initial list waits for the watch
		h.ExpectSynced()
		for range 20 {
			h.Update(cachetest.Pod("a"))
			cachetest.Advance(buffered + time.Second)
			h.ExpectStored(h.Served())
		}
		h.ExpectNoError()
		if lists := wholeLists(h.Requests()); lists != 1 {
			h.T.Errorf("%d lists, want the initial one", lists)
		}
	}, func(_ *cachetest.Harness, n *network) { n.bufferWatches(buffered) })
}
