// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "runtime"

// LiveHeap returns the bytes in use after garbage collection. It collects three times, since memory
// in pools, and memory with a cleanup or a finalizer, is freed by a later collection only.
func LiveHeap() float64 {
	for range 3 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}
