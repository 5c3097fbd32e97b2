// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// callTimer counts the calls of a handler's callback and measures how long they take. It reads the
// clock once for a batch of calls, as reading it takes longer than delivering an event. The
// handler's goroutine writes it; any goroutine may call total.
type callTimer struct {
	clock clock.PassiveClock
	calls atomic.Uint64
	last  time.Time // the end of the last row of calls; belongs to the handler's goroutine

	mu    sync.Mutex // guards the fields below; held for a few assignments only
	took  time.Duration
	began time.Time // of the row of calls in progress; zero between rows
}

// begin begins to measure the calls that follow, and returns the time.
func (t *callTimer) begin() time.Time {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = now
	return now
}

// resume begins to measure the calls that follow from the end of the last ones on, unless begin has
// done so. It does not read the clock.
func (t *callTimer) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.began = t.last
	}
}

func (t *callTimer) end() {
	t.last = t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.began.IsZero() {
		t.took += t.last.Sub(t.began)
	}
	t.began = time.Time{}
}

// total returns the number of calls that have returned, and how long they and the call in progress
// took.
func (t *callTimer) total() (calls uint64, took time.Duration) {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	took = t.took
	if !t.began.IsZero() {
		took += max(0, now.Sub(t.began))
	}
	return t.calls.Load(), took
}
