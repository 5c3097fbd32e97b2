// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"unsafe"
)

// TestLongReadsWriteNoCacheLineOfGet checks that a reader that yields after a long read does not
// invalidate the CPU cache lines from which other readers decode values.
func TestLongReadsWriteNoCacheLineOfGet(t *testing.T) {
	const cacheLine = 64
	var s published[*object]
	start := uintptr(unsafe.Pointer(&s))
	written := uintptr(unsafe.Pointer(&s.yielding)) - start
	for name, end := range map[string]uintptr{
		"entries":     uintptr(unsafe.Pointer(&s.entries)) + unsafe.Sizeof(s.entries),
		"direct":      uintptr(unsafe.Pointer(&s.direct)) + unsafe.Sizeof(s.direct),
		"arePointers": uintptr(unsafe.Pointer(&s.arePointers)) + unsafe.Sizeof(s.arePointers),
		"Packer":      uintptr(unsafe.Pointer(&s.config.Packer)) + unsafe.Sizeof(s.config.Packer),
		"PointerType": uintptr(unsafe.Pointer(&s.config.PointerType)) + unsafe.Sizeof(s.config.PointerType),
	} {
		if end -= start; written < end+cacheLine-1 {
			t.Errorf("%s ends at byte %d, and yielding is at byte %d: they may share a cache line", name, end, written)
		}
	}
}
