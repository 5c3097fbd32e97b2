// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/cachetest"
)

// TestHotObjects checks that a packed informer keeps what it decodes for events and for GetByKey,
// unless HotBytes is negative.
func TestHotObjects(t *testing.T) {
	for _, c := range []struct {
		hotBytes int64
		want     int
	}{{0, 2}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			server := newServer("a", "b", "c")
			h := run(t, server, clientgo.Options{Packed: true, HotBytes: c.hotBytes})
			h.expectEvents("A a@2 initial", "A b@3 initial", "A c@4 initial")
			h.informer.GetStore().List()
			server.Create(cachetest.Pod("d"))
			h.expectEvents("A d@5")
			runtime.GC() // an object that is still live is not decoded
			_, _, _ = h.informer.GetStore().GetByKey("ns/a")
			if status := clientgo.StatusOf(h.informer); status.HotObjects != c.want || status.PackedBytes == 0 {
				t.Errorf("HotBytes %d: %d objects are kept, want %d; %d packed bytes", c.hotBytes, status.HotObjects, c.want, status.PackedBytes)
			}
		})
	}
}
