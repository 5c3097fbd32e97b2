package reflector

import (
	"time"

	"k8s.io/utils/clock"
)

const (
	// requestBurst is the number of requests that a reflector may make at once.
	requestBurst = 4
	// requestInterval is the time after which it may make one more. No fault of the server causes
	// more than 12 requests in any minute: requestBurst, and eight intervals.
	requestInterval = 7500 * time.Millisecond
	// maxDebt is the most that requests cost in advance, as time: one that waits for its token, and
	// one that was paid for afterwards. It bounds the wait if the clock is set back.
	maxDebt = 2 * requestInterval
)

// requestBudget is a token bucket. Each watch, each probe and each first page of a list costs a
// token in advance. A further page costs one afterwards if it failed or had no new object. The zero
// requestBudget is full. It is not safe for concurrent use.
type requestBudget struct {
	clock      clock.PassiveClock
	spentUntil time.Time // when the bucket will be full again
}

// spend takes a token, and returns how long the next request must wait.
func (b *requestBudget) spend() time.Duration {
	now := b.clock.Now()
	if b.spentUntil.Before(now) {
		b.spentUntil = now
	}
	const burst = requestBurst * requestInterval
	if b.spentUntil = b.spentUntil.Add(requestInterval); b.spentUntil.Sub(now) > burst+maxDebt {
		b.spentUntil = now.Add(burst + maxDebt)
	}
	return max(0, b.spentUntil.Sub(now)-burst)
}

// refund returns the token of a request that no server has received.
func (b *requestBudget) refund() { b.spentUntil = b.spentUntil.Add(-requestInterval) }
