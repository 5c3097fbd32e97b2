package reflector

import (
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

// backoff computes the delays between attempts. They grow until attempts have succeeded for
// backoffReset. (wait.Backoff.DelayWithReset restarts after a time of failures, too.) It is not
// safe for concurrent use.
type backoff struct {
	config       wait.Backoff
	clock        clock.PassiveClock
	delay        wait.DelayFunc
	healthySince time.Time // zero after a failure
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

// next returns the delay after an attempt, which is not less than err's Retry-After. err may be
// nil.
func (b *backoff) next(err error) time.Duration {
	if !b.healthySince.IsZero() && b.clock.Since(b.healthySince) >= backoffReset {
		b.delay = b.config.DelayFunc()
	}
	b.healthySince = time.Time{}
	delay := b.delay()
	if asked := retryAfter(err); asked > 0 {
		delay = max(delay, wait.Jitter(asked, retryAfterJitter))
	}
	return delay
}
