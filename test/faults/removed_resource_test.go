// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestRemovedResourceKeepsStateAndRecovers answers all requests with 404 for hours, as a server
// does whose CustomResourceDefinition was deleted. The store keeps its state, and Status has the
// error and when it began. Once the resource is back, with other objects, the store follows.
func TestRemovedResourceKeepsStateAndRecovers(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		cachetest.Advance(5 * time.Minute)
		removed := time.Now()
		notFound := fake.Fault{Err: apierrors.NewNotFound(cachetest.PodResource, "")}
		h.InjectListFault(-1, notFound)
		h.InjectWatchFault(-1, notFound)
		h.CloseWatches()
		cachetest.Advance(3 * time.Hour)
		h.ExpectStored("a@2 b@3 c@4")
		h.ExpectEvents()
		status := h.Controller.Status()
		if !apierrors.IsNotFound(status.Err) || status.Phase != cache.PhaseRetrying || status.ErrSince.Sub(removed) > 10*time.Second {
			t.Errorf("status %+v, the resource was removed at %v", status, removed)
		}
		if err := h.Controller.HealthCheck(cache.HealthOptions{MaxStaleness: time.Hour})(nil); !apierrors.IsNotFound(err) {
			t.Errorf("health check: %v", err)
		}
		h.ExpectRates(removed.Add(time.Minute))

		for _, name := range []string{"a", "b", "c"} {
			h.Delete("ns/" + name)
		}
		h.Compact()
		h.Create(cachetest.Pod("a"))
		h.ClearFaults()
		cachetest.Advance(time.Minute)
		h.ExpectEvents("D b@3", "D c@4", "D a@2", "A a@8") // deletions first
		if status := h.Controller.Status(); status.Err != nil || status.Phase != cache.PhaseWatching {
			t.Errorf("status after the resource is back: %+v", status)
		}
	})
}
