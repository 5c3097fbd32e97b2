// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
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
			overEachClient(t, cache.ReflectorOptions{}, func(h *cachetest.Harness, n *network) {
				cachetest.Advance(time.Second)
				h.ExpectSynced()
				served := n.requests()
				works := refuse(n, "list", cachetest.Serve("application/json", []byte(body)))
				h.InjectWatchFault(1, fake.Fault{Err: fake.Expired()})
				h.CloseWatches()
				h.Update(cachetest.Pod("a"))
				h.Delete("ns/b")
				cachetest.Advance(5 * time.Minute)
				h.ExpectStored("a@2 b@3 c@4")
				h.ExpectEvents()
				if status := h.Controller.Status(); status.Err == nil || status.Phase != cache.PhaseRetrying {
					h.T.Errorf("status %+v", status)
				}
				if later := strings.TrimPrefix(n.requests(), served+" watch@4 "); strings.Contains(later, "watch") {
					h.T.Errorf("requests after the watch expired: [%s]", later)
				}
				works.Store(true)
				cachetest.Advance(time.Minute)
				h.ExpectEvents("D b@3", "U a@2→5")
			})
		})
	}
}
