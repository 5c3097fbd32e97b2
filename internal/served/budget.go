// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package served

import "time"

const (
	// requestBurst is the number of requests that a reflector may make at once.
	requestBurst = 10
	// requestInterval is the time after which it may make one more.
	requestInterval = 5 * time.Second
	// maxDebt is the most by which the bucket may be overdrawn, as a time: by one request that
	// waits for its token, and by one page that costs its token afterwards. It bounds the wait if
	// the clock is set back.
	maxDebt = 2 * requestInterval

	// maxLists is the number of lists within any listWindow that the server may answer, besides the
	// initial one. A list costs a server more than other requests.
	maxLists   = 4
	listWindow = time.Minute

	// MaxRetryAfter caps the server's Retry-After.
	MaxRetryAfter = 5 * time.Minute
)

// Budget limits the rate of requests for a collection. It is not safe for concurrent use. The zero
// Budget is full.
//
// It is a token bucket, limits the lists that the server answered completely, and keeps the
// server's last Retry-After; see the doc.go of package reflector. If there is no token, a request
// waits for its own. A further page of a list that failed or had no new object costs one
// afterwards: the page has been sent, and the next request waits.
type Budget struct {
	spentUntil time.Time           // when the bucket will be full again
	lists      [maxLists]time.Time // when the last answered lists were requested; list n is at n%maxLists
	answered   int                 // number of lists, with the initial one, which is not in lists
	notBefore  time.Time           // of the last Retry-After
}

// Spend takes a token, and returns how long the next request must wait.
func (b *Budget) Spend(now time.Time) time.Duration {
	if b.spentUntil.Before(now) {
		b.spentUntil = now
	}
	const burst = requestBurst * requestInterval
	if b.spentUntil = b.spentUntil.Add(requestInterval); b.spentUntil.Sub(now) > burst+maxDebt {
		b.spentUntil = now.Add(burst + maxDebt)
	}
	return max(0, b.spentUntil.Sub(now)-burst)
}

// UntilLeft returns how long the next request must wait to leave n tokens in the bucket.
func (b *Budget) UntilLeft(now time.Time, n int) time.Duration {
	missing := b.spentUntil.Add(-time.Duration(requestBurst-1-n) * requestInterval).Sub(now)
	return min(max(0, missing), requestBurst*requestInterval) // the clock may be set back
}

// ListAnswered records a list that the server answered completely, and when it was requested.
func (b *Budget) ListAnswered(requested time.Time) {
	if b.answered++; b.answered > 1 {
		b.lists[b.answered%maxLists] = requested
	}
}

// UntilList returns how long the next list must wait. That is at most listWindow, also if the clock
// is set back.
func (b *Budget) UntilList(now time.Time) time.Duration {
	oldest := b.lists[(b.answered+1)%maxLists]
	return min(listWindow, max(0, listWindow-now.Sub(oldest)))
}

// RetryAfter records that the server has asked for no request before a time.
func (b *Budget) RetryAfter(notBefore time.Time) { b.notBefore = notBefore }

// UntilRetry returns how long the next request must wait for the last Retry-After.
func (b *Budget) UntilRetry(now time.Time) time.Duration {
	return min(max(0, b.notBefore.Sub(now)), MaxRetryAfter) // the clock may be set back
}

// UntilStart returns how long an informer must wait before its first requests, a probe and a list,
// so that these need not wait.
func (b *Budget) UntilStart(now time.Time) time.Duration {
	return max(b.UntilRetry(now), b.UntilList(now), b.UntilLeft(now, 1))
}

// IsOver reports whether the budget does not limit requests more than a new one would.
func (b *Budget) IsOver(now time.Time) bool {
	return now.Sub(b.spentUntil) >= listWindow && b.UntilRetry(now) == 0
}
