package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	// backoffReset is how long attempts must have gone well for the next failure
	// to be treated as a first one.
	backoffReset = 2 * time.Minute
	// maxRetryAfter caps what a server may ask for.
	maxRetryAfter = 5 * time.Minute
	// retryAfterJitter spreads clients that were asked to wait the same time.
	retryAfterJitter = 0.2
)

// DefaultBackoff waits 0.8 s to 30 s between attempts.
func DefaultBackoff() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 20 * time.Second}
}

// backoff spaces attempts: each wait is longer than the one before, until
// attempts have gone well for a while. (wait.Backoff.DelayWithReset begins anew
// after a while of failures, too.) It belongs to the reflector's goroutine.
type backoff struct {
	config  wait.Backoff
	clock   clock.PassiveClock
	delay   wait.DelayFunc
	healthy time.Time // since when attempts go well; zero where the last did not
}

func newBackoff(config wait.Backoff, c clock.PassiveClock) *backoff {
	return &backoff{config: config, clock: c, delay: config.DelayFunc()}
}

// well notes that an attempt goes well.
func (b *backoff) well() {
	if b.healthy.IsZero() {
		b.healthy = b.clock.Now()
	}
}

// next returns how long to wait after an attempt that ended with err, or nil, and
// no less than the server asked for.
func (b *backoff) next(err error) time.Duration {
	if !b.healthy.IsZero() && b.clock.Since(b.healthy) >= backoffReset {
		b.delay = b.config.DelayFunc()
	}
	b.healthy = time.Time{}
	delay := b.delay()
	if asked := retryAfter(err); asked > 0 {
		delay = max(delay, wait.Jitter(asked, retryAfterJitter))
	}
	return delay
}
