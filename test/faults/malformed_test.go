// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// malformedResponses are responses with the code 200, and no list or watch in the body.
var malformedResponses = map[string]http.HandlerFunc{
	"empty":                cachetest.Serve("application/json", nil),
	"garbage":              cachetest.Serve("application/json", []byte("\x00\xff{]")),
	"garbage, as protobuf": cachetest.Serve("application/vnd.kubernetes.protobuf;stream=watch", []byte("k8s\x00\xff\xff\xff\xff\xff")),
	"HTML":                 cachetest.Serve("text/html", []byte("<html><body>Sign in</body></html>")),
	"HTML, as JSON":        cachetest.Serve("application/json", []byte("<html><body>Sign in</body></html>")),
	"half a frame":         cachetest.Serve("application/json", []byte(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","meta`)),
	"another kind":         cachetest.Serve("application/json", []byte(`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}`)),
	"null":                 cachetest.Serve("application/json", []byte("null")),
	"no content":           func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"not compressed": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		cachetest.Serve("application/json", []byte("{}"))(w, r)
	},
	"cut": cachetest.ServeTruncated("application/json", []byte(`{"`)),
	"two frames in a line": cachetest.Serve("application/json", []byte(
		`{"type":"ADDED","object":{"kind":"Pod"}}{"type":"ADDED","object":{"kind":"Pod"}}`)),
}

// TestRequestRateIsBoundedForMalformedResponses answers all lists, or all watches, with 200 and a
// body that is neither. The store keeps its objects, the rate of requests is bounded, and the
// informer recovers.
func TestRequestRateIsBoundedForMalformedResponses(t *testing.T) {
	for name, respond := range malformedResponses {
		for _, verb := range []string{"list", "watch"} {
			t.Run(name+" to each "+verb, func(t *testing.T) {
				overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
					cachetest.Advance(time.Minute)
					h.ExpectSynced()
					works := refuse(n, verb, respond)
					h.UpdateEverySecond(300)
					h.Expire() // if a watch is open, a list follows
					h.CloseWatches()
					cachetest.Advance(5 * time.Minute)
					n.expectRequestRate()
					if got := h.Store.Len(); got != 3 {
						h.T.Errorf("%d objects stored, want 3", got)
					}
					works.Store(true)
					h.CloseWatches()
					recovers(h, 2*time.Minute)
					n.expectRequestRate()
				})
			})
		}
	}
}

// expectRequestRate checks that the server has received at most 22 requests in any minute.
func (n *network) expectRequestRate() {
	n.T.Helper()
	all := n.allReceived()
	for i := range len(all) - cachetest.MaxRequestsInAMinute {
		if all[i+cachetest.MaxRequestsInAMinute].at.Sub(all[i].at) < time.Minute {
			n.T.Errorf("more than %d requests in the minute from %v", cachetest.MaxRequestsInAMinute, all[i].at)
			return
		}
	}
}
