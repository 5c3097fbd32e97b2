// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"runtime"
	"testing"

	"github.com/kinformer/kinformer/internal/pack"
)

// BenchmarkGetPacked measures Get of a decoded object, which a reader references or the hot set
// keeps.
func BenchmarkGetPacked(b *testing.B) {
	const n = 1000
	objects := numbered(n)
	for name, hotBytes := range map[string]int64{"referenced": -1, "hot": n * minHotSize} {
		b.Run(name, func(b *testing.B) {
			h := newHarness(func(c *Config[*object]) { c.Packer, c.HotBytes = jsonPacker{pack.New()}, hotBytes })
			h.relist("1", objects...)
			var kept []*object
			for _, o := range objects {
				decoded, _ := h.Get(o.Key)
				kept = append(kept, decoded)
			}
			i := 0
			for b.Loop() {
				if _, ok := h.Get(objects[i*7919%n].Key); !ok {
					b.Fatal("not found")
				}
				i++
			}
			runtime.KeepAlive(kept)
		})
	}
}
