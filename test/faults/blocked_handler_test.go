// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// blockableHandler blocks in its next call while it is blocked.
type blockableHandler struct {
	cache.EventHandler[*corev1.Pod]
	resume chan struct{} // nil if it is not blocked
}

func (b *blockableHandler) OnEvent(e cache.Event[*corev1.Pod]) {
	if b.resume != nil {
		<-b.resume
	}
	b.EventHandler.OnEvent(e)
}

// TestBlockedHandlerReceivesWhatARelistRemoves changes an object by the watch while the handler
// blocks, and then reverts the change by a list. The handler receives both, in order: an object
// that was only in its backlog when the list came is not left over, and one that was deleted and is
// listed again is not missing.
func TestBlockedHandlerReceivesWhatARelistRemoves(t *testing.T) {
	for name, c := range map[string]struct {
		byWatch, unstored func(h *cachetest.Harness)
		want              []string
	}{
		"added, then gone": {
			func(h *cachetest.Harness) { h.Create(cachetest.Pod("x")) },
			func(h *cachetest.Harness) { h.Delete("ns/x") },
			[]string{"U a@2→5", "A x@6", "D x@6"},
		},
		"deleted, then recreated": {
			func(h *cachetest.Harness) { h.Delete("ns/b") },
			func(h *cachetest.Harness) { h.Create(cachetest.Pod("b")) },
			[]string{"U a@2→5", "D b@6", "A b@7"},
		},
		"updated, then gone": {
			func(h *cachetest.Harness) { h.Update(cachetest.Pod("b")) },
			func(h *cachetest.Harness) { h.Delete("ns/b") },
			[]string{"U a@2→5", "U b@3→6", "D b@6"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			handler := &blockableHandler{}
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				handler.resume = make(chan struct{})
				h.Update(cachetest.Pod("a")) // blocks the handler
				c.byWatch(h)
				cachetest.Advance(time.Minute)
				h.InjectWatchFault(2, fake.Fault{Err: fake.Expired()}) // for the overlap, and for the version reached
				h.CloseWatches()
				c.unstored(h)
				cachetest.Advance(time.Minute)
				h.ExpectStored(h.Served())
				h.ExpectEvents()
				close(handler.resume)
				h.ExpectEvents(c.want...)
			}, func(h *cachetest.Harness) {
				handler.EventHandler = h.Handler
				h.Handler = handler
			})
		})
	}
}
