// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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
	// maxDebt is the most by which the bucket may be overdrawn, as time: one request that waits for
	// its token, and one page that is paid for afterwards. It bounds the wait if the clock is set
	// back.
	maxDebt = 2 * requestInterval
)

// requestBudget is a token bucket. Each watch, each probe and each first page of a list costs a
// token in advance: if there is none, the request waits for its token. A further page costs one
// afterwards, if it failed or had no new object: the page has been sent, and the next request
// waits. The zero requestBudget is full. It is not safe for concurrent use.
//
// For example, a server fails the second page of each list. Two lists empty the bucket: each first
// page takes a token before it is sent, and each second page takes one after it has failed. The
// first page of the third list waits 7.5 s for a token. Its second page fails at once and takes a
// token that the bucket lacks, so the fourth list waits 15 s: for that token, and for its own.
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
