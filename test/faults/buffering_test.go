package faults_test

import (
	"bytes"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/kinformer/kinformer/internal/cachetest"
)

// bufferWatches puts a proxy before the server that holds the headers and events of each watch back,
// for up to d.
func (n *network) bufferWatches(d time.Duration) {
	n.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if !r.URL.Query().Has("watch") {
			return false
		}
		b := &bufferingWriter{ResponseWriter: w}
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
	mu   sync.Mutex // guards body
	body bytes.Buffer
}

func (b *bufferingWriter) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.body.Write(p)
}

func (b *bufferingWriter) Flush() {}

// flushEvery sends what was written, every d and once more when done is closed.
func (b *bufferingWriter) flushEvery(d time.Duration, done <-chan struct{}) {
	for open := true; open; {
		select {
		case <-time.After(d):
		case <-done:
			open = false
		}
		b.mu.Lock()
		_, _ = b.ResponseWriter.Write(b.body.Next(b.body.Len()))
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		b.mu.Unlock()
	}
}

// TestBufferedWatchIsNoFault reads through a proxy that buffers the responses of watches for minutes,
// their headers included. No watch is taken for a short or a stalled one, and events arrive as late
// as the proxy sends them.
func TestBufferedWatchIsNoFault(t *testing.T) {
	const buffered = 4 * time.Minute
	eachClient(t, func(t *testing.T, connect func(*cachetest.Harness) *network) {
		cachetest.InBubble(t, func(h *cachetest.Harness) {
			h.ExpectSynced()
			for range 20 {
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(buffered + time.Second)
				h.ExpectStored(h.Served())
			}
			h.ExpectNoError()
			if lists := wholeLists(h.Requests()); lists != 1 {
				t.Errorf("%d lists, want the initial one", lists)
			}
		}, func(h *cachetest.Harness) { connect(h).bufferWatches(buffered) })
	})
}
