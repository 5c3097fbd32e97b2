// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package goroutines

import (
	"testing"

	"go.uber.org/goleak"
)

// TestGoroutinesThatAreEndingAreAwaited ends a goroutine after goleak has given it up.
func TestGoroutinesThatAreEndingAreAwaited(t *testing.T) {
	before, done := goleak.IgnoreCurrent(), make(chan struct{})
	go func() { <-done }()
	go func() {
		defer close(done)
		for range 2 { // the first one may end before that of VerifyNone does
			if goleak.Find(before) == nil {
				t.Error("goleak has not found the goroutine")
			}
		}
	}()
	VerifyNone(t, before)
}
