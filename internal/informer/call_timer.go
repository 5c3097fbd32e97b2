package informer

import (
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
	took  atomic.Int64 // nanoseconds

	// The fields below belong to the handler's goroutine.
	began time.Time // of the calls that are not counted yet
	row   uint64    // their number
}

// begin begins to measure the calls that follow, and returns the time.
func (t *callTimer) begin() time.Time {
	t.began = t.clock.Now()
	return t.began
}

// called records that a call has returned.
func (t *callTimer) called() {
	if t.row++; t.row == batchSize {
		t.end()
	}
}

// end counts the calls since begin. It begins to measure those that follow.
func (t *callTimer) end() {
	now := t.clock.Now()
	t.took.Add(int64(now.Sub(t.began)))
	t.calls.Add(t.row)
	t.began, t.row = now, 0
}

// total returns the number of calls that were counted, and how long they took.
func (t *callTimer) total() (calls uint64, took time.Duration) {
	return t.calls.Load(), time.Duration(t.took.Load())
}
