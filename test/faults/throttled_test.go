// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// throttling is a row of 429 responses to one kind of request.
type throttling struct {
	verb     string // list, watch or WatchList
	inStream bool   // the 429 is an ERROR event of an open watch
}

// throttlings returns the kinds of requests that a 429 may answer.
func throttlings() []throttling {
	return []throttling{{"list", false}, {"watch", false}, {"watch", true}, {"WatchList", false}, {"WatchList", true}}
}

func (o throttling) String() string {
	return o.verb + map[bool]string{true: ", in the stream", false: ""}[o.inStream]
}

func (o throttling) options() cache.ReflectorOptions {
	if o.verb == "WatchList" {
		return cache.ReflectorOptions{WatchList: true}
	}
	return cache.ReflectorOptions{}
}

// throttle makes the server answer the first n requests of the kind with 429 and a Retry-After
// header, which may be empty. In a stream, the Status has seconds. It returns when the last one was
// answered.
func (o throttling) throttle(net *network, n int, header string, seconds int) (last *time.Time) {
	last = new(time.Time)
	if o.inStream {
		net.BookmarkEvery(time.Second)
		net.InjectWatchFault(n, fake.Fault{CloseAfterEvents: 1, EditEvent: func(watch.Event) []watch.Event {
			*last = time.Now()
			return []watch.Event{fake.ErrorEvent(fake.TooManyRequests(seconds))}
		}})
		return last
	}
	net.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("watch") == (o.verb == "list") || n == 0 {
			return false
		}
		n--
		*last = time.Now()
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests) // as kube-apiserver
		return true
	}
	return last
}

// retryAfters are Retry-After headers, and the least and longest wait before the next request.
var retryAfters = map[string]struct {
	seconds  int
	min, max time.Duration
}{
	"":           {0, 800 * time.Millisecond, 1200 * time.Millisecond},
	"0":          {0, 800 * time.Millisecond, 1200 * time.Millisecond},
	"soon":       {0, 800 * time.Millisecond, 1200 * time.Millisecond},
	"7":          {7, 7 * time.Second, 9 * time.Second},
	"1000000000": {1_000_000_000, 5 * time.Minute, 6*time.Minute + time.Second},
}

// TestThrottledRequestWaitsForRetryAfter answers one request with 429. The same request follows
// after the Retry-After, or after the first backoff, and is the only one.
func TestThrottledRequestWaitsForRetryAfter(t *testing.T) {
	for header, want := range retryAfters {
		for _, o := range throttlings() {
			t.Run(fmt.Sprintf("%s, %q", o, header), func(t *testing.T) {
				var throttled *time.Time
				overEachClient(t, o.options(), func(h *cachetest.Harness, n *network) {
					cachetest.Advance(10 * time.Minute)
					failed := 1 // position of the request that was answered with 429
					if o.verb == "watch" {
						failed = 2
					}
					if waited := n.received[failed].at.Sub(*throttled); waited < want.min || waited > want.max {
						h.T.Errorf("the next request followed after %v, want %v to %v", waited, want.min, want.max)
					}
					if words := strings.Fields(n.requests()); words[failed] != words[failed-1] {
						h.T.Errorf("%s was followed by %s", words[failed-1], words[failed])
					}
					h.ExpectSynced()
					h.ExpectRequestRate(h.Requests()[0].Time)
				}, func(_ *cachetest.Harness, n *network) { throttled = o.throttle(n, 1, header, want.seconds) })
			})
		}
	}
}

// TestWaitAfterThrottlingEndsWithTheContext cancels the informer at moments all over the wait that
// a 429 asks for. InBubble checks that Run returns within a second, and that no request follows.
func TestWaitAfterThrottlingEndsWithTheContext(t *testing.T) {
	for header, want := range retryAfters {
		for _, o := range throttlings() {
			t.Run(fmt.Sprintf("%s, %q", o, header), func(t *testing.T) {
				const moments = 8
				for i := range moments {
					overNetwork(t, http1, streamingClient, o.options(), func(*cachetest.Harness, *network) {
						cachetest.Advance(time.Minute + time.Duration(i)*max(want.min, 30*time.Second)/moments)
					}, func(_ *cachetest.Harness, n *network) { o.throttle(n, -1, header, want.seconds) })
				}
			})
		}
	}
}
