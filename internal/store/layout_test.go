// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/kinformer/kinformer/internal/feed"
)

// TestLongReadsWriteNoCacheLineOfGet checks that a reader that yields after a long read does not
// invalidate the CPU cache lines from which other readers decode values.
func TestLongReadsWriteNoCacheLineOfGet(t *testing.T) {
	const cacheLine = 64
	s := &New(Config{}).published // on the heap, where it stays
	start := uintptr(unsafe.Pointer(s))
	written := uintptr(unsafe.Pointer(&s.yielding)) - start
	for name, end := range map[string]uintptr{
		"entries":     uintptr(unsafe.Pointer(&s.entries)) + unsafe.Sizeof(s.entries),
		"direct":      uintptr(unsafe.Pointer(&s.direct)) + unsafe.Sizeof(s.direct),
		"nilPointer":  uintptr(unsafe.Pointer(&s.nilPointer)) + unsafe.Sizeof(s.nilPointer),
		"Packer":      uintptr(unsafe.Pointer(&s.config.Packer)) + unsafe.Sizeof(s.config.Packer),
		"PointerType": uintptr(unsafe.Pointer(&s.config.PointerType)) + unsafe.Sizeof(s.config.PointerType),
	} {
		if end -= start; written < end+cacheLine-1 {
			t.Errorf("%s ends at byte %d, and yielding is at byte %d: they may share a cache line", name, end, written)
		}
	}
}

// TestValueOfAnotherTypeIsNoEntry checks that a value that is not of the PointerType, which would
// be read as if it were, does not become an entry.
func TestValueOfAnotherTypeIsNoEntry(t *testing.T) {
	h := newHarness()
	for _, value := range []any{nil, new(string), object{}} {
		_, err := feed.CatchPanic(func() (*valueRef, error) { return h.refOf(value), nil })
		if err == nil || !strings.Contains(err.Error(), "*store.object") || !strings.Contains(err.Error(), fmt.Sprintf("%T", value)) {
			t.Errorf("%T: error %v", value, err)
		}
	}
}
