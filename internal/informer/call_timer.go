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
// handler's goroutine writes it; any goroutine may call total and current.
type callTimer struct {
	clock clock.PassiveClock
	calls atomic.Uint64
	last  time.Time // the end of the last row of calls; belongs to the handler's goroutine

	mu       sync.Mutex // guards the fields below; held for a few assignments only
	took     time.Duration
	began    time.Time // of the row of calls in progress; zero between rows
	rowCalls uint64    // calls that had returned then
	key      string    // of the call in progress, or of the last one of the row; the handler's goroutine reads it without mu
	seen     struct {  // the call that current last saw, unless it was the first of its row
		calls uint64    // that had returned before it
		at    time.Time // when current first saw it
	}
}

// begin begins to measure the calls that follow, and returns the time.
func (t *callTimer) begin() time.Time {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginRow(now)
	return now
}

// resume begins to measure the calls that follow from the end of the last ones on, unless begin has
// done so. It does not read the clock.
func (t *callTimer) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.beginRow(t.last)
	}
}

// beginRow begins a row of calls. The caller holds mu.
func (t *callTimer) beginRow(now time.Time) {
	t.began, t.rowCalls, t.key = now, t.calls.Load(), ""
}

// call records the key of the call that begins.
func (t *callTimer) call(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.key = key
}

// current returns the key of the call in progress, and how long the call has taken. If the call is
// not the first of its row, that is a lower bound: the time since current first saw the call. The
// key is empty if no call is in progress.
func (t *callTimer) current() (key string, took time.Duration) {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := t.calls.Load()
	switch {
	case t.began.IsZero() || t.key == "":
		return "", 0
	case calls == t.rowCalls:
		return t.key, max(0, now.Sub(t.began))
	case t.seen.at.IsZero() || t.seen.calls != calls:
		t.seen.calls, t.seen.at = calls, now
	}
	return t.key, max(0, now.Sub(t.seen.at))
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
