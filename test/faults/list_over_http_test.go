// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestListBodyWithoutVersionKeepsTheStore answers relists with 200 and a body that decodes as an
// empty list, or as one without a valid version. The store keeps its objects, no event is
// delivered, and no watch follows until a list has a version.
func TestListBodyWithoutVersionKeepsTheStore(t *testing.T) {
	for name, body := range map[string]string{
		"without metadata":         `{"kind":"PodList","apiVersion":"v1"}`,
		"without metadata, items":  `{"kind":"PodList","apiVersion":"v1","items":[]}`,
		"empty metadata":           `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}`,
		"version 0":                `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"0"},"items":[]}`,
		"a version that is a word": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"latest"},"items":[]}`,
		"one item, no version":     `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"9"}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			eachClient(t, func(t *testing.T, connect func(*cachetest.Harness) *network) {
				var n *network
				cachetest.InBubble(t, func(h *cachetest.Harness) {
					cachetest.Advance(time.Second)
					h.ExpectSynced()
					served := n.requests()
					n.setIntercept(func(w http.ResponseWriter, r *http.Request) bool {
						if r.URL.Query().Has("watch") {
							return false
						}
						cachetest.Serve("application/json", []byte(body))(w, r)
						return true
					})
					h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
					h.CloseWatches()
					h.Update(cachetest.Pod("a"))
					h.Delete("ns/b")
					cachetest.Advance(5 * time.Minute)
					h.ExpectStored("a@2 b@3 c@4")
					h.ExpectEvents()
					if status := h.Controller.Status(); status.Err == nil || status.Phase != cache.PhaseRetrying {
						t.Errorf("status %+v", status)
					}
					if later := strings.TrimPrefix(n.requests(), served+" watch@4 "); strings.Contains(later, "watch") {
						t.Errorf("requests after the watch expired: [%s]", later)
					}
					n.setIntercept(nil)
					cachetest.Advance(time.Minute)
					h.ExpectEvents("D b@3", "U a@2→5")
				}, func(h *cachetest.Harness) { n = connect(h) })
			})
		})
	}
}
