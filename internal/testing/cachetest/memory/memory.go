// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package memory measures what a function allocates.
package memory

import (
	"runtime"
	"testing"
)

// Slack is what a function may allocate whatever its input: its buffers, and what other goroutines
// of the test allocate meanwhile.
const Slack = 256 << 10

// Allocated returns the bytes that the process allocates while f runs, those included that are
// garbage already.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// ExpectProportional calls f, which reads size bytes of untrusted input. It fails the test if f
// allocates more than factor bytes for each of them, beyond Slack.
func ExpectProportional(t testing.TB, size, factor int, f func()) {
	t.Helper()
	if allocated := Allocated(f); allocated > uint64(factor*size)+Slack {
		t.Fatalf("%d bytes allocated for an input of %d, want at most %d for each and %d", allocated, size, factor, Slack)
	}
}
