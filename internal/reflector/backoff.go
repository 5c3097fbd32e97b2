// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// backoffReset is how long attempts must succeed before the backoff restarts at its first step.
	backoffReset = 2 * time.Minute
	// maxRetryAfter caps the server's Retry-After.
	maxRetryAfter = 5 * time.Minute
	// retryAfterJitter spreads the retries of clients that received the same Retry-After.
	retryAfterJitter = 0.2
)

// DefaultBackoff returns a jittered backoff whose delays grow from 0.8 s to at most 30 s.
func DefaultBackoff() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 20 * time.Second}
}

// CheckBackoff returns an error for a backoff that has steps and no delay. The zero value is valid
// and stands for DefaultBackoff.
func CheckBackoff(b wait.Backoff) error {
	if b.Duration <= 0 && b.Steps > 0 {
		return fmt.Errorf("Backoff.Duration %v is not positive, with Steps %d", b.Duration, b.Steps)
	}
	return nil
}

// backoff computes the delays between attempts. They grow until attempts have succeeded for
// backoffReset. (wait.Backoff.DelayWithReset restarts after an interval, even if all attempts have
// failed.) It is not safe for concurrent use.
type backoff struct {
	config       wait.Backoff
	clock        clock.PassiveClock
	delay        wait.DelayFunc
	healthySince time.Time // zero after a failure
	failed       bool      // there was a failure since the backoff last restarted
}

func newBackoff(config wait.Backoff, c clock.PassiveClock) *backoff {
	return &backoff{config: config, clock: c, delay: config.DelayFunc()}
}

// markHealthy records a success.
func (b *backoff) markHealthy() {
	if b.healthySince.IsZero() {
		b.healthySince = b.clock.Now()
	}
}

// skipFirst reports whether a failure needs no delay: it is the first one, or the first after
// attempts have succeeded for backoffReset. It then records the failure, so that the next one has
// the second delay.
func (b *backoff) skipFirst() bool {
	if b.reset(); b.failed {
		return false
	}
	b.next(nil)
	return true
}

// reset restarts the backoff at its first step if attempts have succeeded for backoffReset.
func (b *backoff) reset() {
	if !b.healthySince.IsZero() && b.clock.Since(b.healthySince) >= backoffReset {
		b.delay, b.failed = b.config.DelayFunc(), false
	}
}

// next returns the delay after a failure, which is not less than err's Retry-After.
func (b *backoff) next(err error) time.Duration {
	b.reset()
	b.healthySince, b.failed = time.Time{}, true
	delay := b.delay()
	if asked := retryAfter(err); asked > 0 {
		delay = max(delay, wait.Jitter(asked, retryAfterJitter))
	}
	return delay
}

// jitter returns a random duration below limit, from the source of the backoff's delays. A test can
// seed it.
func jitter(limit time.Duration) time.Duration { return wait.Jitter(limit, 1) - limit }
