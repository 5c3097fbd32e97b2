// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"runtime"
	"testing"
)

func TestPeakMemoryCountsWhatWasUsed(t *testing.T) {
	_, before, err := Memory()
	if err != nil {
		t.Fatal(err)
	}
	if before == 0 {
		t.Skip("not known on this system")
	}
	const size = 64 << 20
	buffer := make([]byte, size)
	for i := 0; i < len(buffer); i += 4096 {
		buffer[i] = 1
	}
	runtime.KeepAlive(buffer)
	if _, peak, err := Memory(); err != nil || peak < size || peak < before {
		t.Errorf("peak %.0f after %.0f, error %v, want at least %d", peak, before, err, size)
	}
}

func TestLiveHeapIsWithoutGarbage(t *testing.T) {
	before := LiveHeap()
	kept := make([]byte, 10<<20)
	_ = make([]byte, 10<<20)
	if grown := LiveHeap() - before; grown < 9<<20 || grown > 12<<20 {
		t.Errorf("the heap grew by %.0f bytes, want 10 MiB", grown)
	}
	runtime.KeepAlive(kept)
}
