// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"time"

	"k8s.io/utils/clock"
)

const (
	// requestBurst is the number of requests that a reflector may make at once.
	requestBurst = 10
	// requestInterval is the time after which it may make one more.
	requestInterval = 5 * time.Second
	// maxDebt is the most by which the bucket may be overdrawn, as a time: by one request that
	// waits for its token, and by one page that costs its token afterwards. It bounds the wait if
	// the clock is set back.
	maxDebt = 2 * requestInterval

	// reconnectReserve is the number of tokens that watches leave in the bucket while connections
	// fail: for the list that follows a 410, once the server is back, and for another 410 if the
	// watch starts before the last changes.
	reconnectReserve = 2

	// maxLists is the number of lists within any listWindow that the server may answer, besides the
	// initial one. A list costs a server more than other requests.
	maxLists   = 4
	listWindow = time.Minute
)

// pacing is what delays the requests of a reflector.
type pacing struct {
	backoff    *backoff
	ownBackoff bool // Config.Backoff is set
	paced      bool // Config.Backoff has delayed the attempt, instead of the budget
	budget     requestBudget
	notBefore  time.Time // of the server's last Retry-After
}

// requestBudget limits the rate of a reflector's requests. It is not safe for concurrent use. A
// requestBudget with a clock alone is full.
//
// It is a token bucket, and limits the lists that the server answered completely; see doc.go. If
// there is no token, a request waits for its own. A further page of a list that failed or had no
// new object costs one afterwards: the page has been sent, and the next request waits.
type requestBudget struct {
	clock      clock.PassiveClock
	spentUntil time.Time           // when the bucket will be full again
	lists      [maxLists]time.Time // when the last answered lists were requested; list n is at n%maxLists
	answered   int                 // number of lists, with the initial one, which is not in lists
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

// untilLeft returns how long the next request must wait to leave n tokens in the bucket.
func (b *requestBudget) untilLeft(n int) time.Duration {
	missing := b.spentUntil.Sub(b.clock.Now()) - time.Duration(requestBurst-1-n)*requestInterval
	return min(max(0, missing), requestBurst*requestInterval) // the clock may be set back
}

// listAnswered records a list that the server answered completely, and when it was requested.
func (b *requestBudget) listAnswered(requested time.Time) {
	if b.answered++; b.answered > 1 {
		b.lists[b.answered%maxLists] = requested
	}
}

// untilList returns how long the next list must wait. That is at most listWindow, also if the clock
// is set back.
func (b *requestBudget) untilList() time.Duration {
	oldest := b.lists[(b.answered+1)%maxLists]
	return min(listWindow, max(0, listWindow-b.clock.Since(oldest)))
}
