// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// # When a request follows
//
// A request that follows a success needs no delay: a watch after a list, or after a watch that
// lived as long as the reflector asked for. Nor does a fallback: a list after a WatchList, or a
// consistent read after a list whose resourceVersion the server refused. Three more follow soon:
//
//   - A list after a watch that cannot be resumed follows at once, unless there was another failure
//     or list within two minutes.
//   - A list after a 410 that ends an outage follows after a random delay of at most 200 ms.
//   - A watch that was open and ended early is resumed after a random delay of at most 100 ms. If
//     it brought nothing within a second, or ended with an error, that holds for the first one at
//     its resourceVersion; a broken connection of a watch that lasted longer is no such error.
//
// Every other request waits for the jittered exponential backoff, which starts again after two
// minutes of success, and when an outage ends: connections have failed, and the server then answers
// with a 410, a complete list, or a watch that brings something or lasts for a second. A 429 or 5xx
// may come from a balancer, and ends no outage. Without one, the first 410 does not make the delays
// grow.
//
// A watch whose connection failed waits no longer than this, and up to twice as long at random.
// Such watches leave two tokens in the bucket, for the requests that follow the outage.
//
//	the connection                             delay
//	─────────────────────────────────────────  ──────────────────────────────────────────
//	was not made, such as refused              1 s, or a quarter of the outage
//	was accepted and then broken, as by a      1 s, or half of the outage, up to 2.5 s; or a
//	balancer without a server                  twenty-fourth of the outage
//
// In addition, each request waits
//
//   - for the server's Retry-After;
//   - for a token of the bucket that all watches, probes and lists share (served.Budget): 10
//     tokens, and one more every 5 s, so that there are at most 22 requests in any minute, and 12 a
//     minute in the long run. Further pages of a list cost no token if they have new objects, or
//     are one of up to 100 empty ones in a row;
//   - if it is a list, until a minute has passed since the fourth-last list that the server
//     answered completely. The initial list is not counted, nor are refused ones.
//
// The last two do not apply to a fake of client-go, nor, between failed attempts, if Config.Backoff
// is set. That takes the place of the table, too, and also delays a watch after an open one that
// failed other than by its connection, and the request after a WatchList whose connection failed.

const (
	// backoffReset is how long attempts must succeed before the backoff restarts at its first step.
	backoffReset = 2 * time.Minute
	// retryAfterJitter spreads the retries of clients that received the same Retry-After.
	retryAfterJitter = 0.2

	// reconnectDelay is the longest delay of a watch, before its jitter, after connections have
	// failed for less than reconnectShare times as long; after that, it is that share of the
	// outage.
	reconnectDelay = time.Second
	reconnectShare = 4
	// brokenDelay is the longest delay, before its jitter, if connections are accepted and then
	// broken, as by a balancer without a server. The client of client-go repeats such requests each
	// second. Before that delay is reached, it is half of the outage, and in the end a brokenShare.
	brokenDelay = 2500 * time.Millisecond
	brokenShare = 24
	// reconnectJitter spreads the retries of clients whose connections failed together.
	reconnectJitter = 1
	// reconnectReserve is the number of tokens that watches leave in the bucket while connections
	// fail: for the list that follows a 410, once the server is back, and for another 410 if the
	// watch starts before the last changes.
	reconnectReserve = 2
	// maxRelistDelay is the longest delay of a list after the 410 that ends an outage. It is
	// random, so that the informers of a server do not list together.
	maxRelistDelay = 200 * time.Millisecond
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
// backoffReset, or until the server answers after an outage. (wait.Backoff.DelayWithReset restarts
// after an interval, even if all attempts have failed.) It is not safe for concurrent use.
type backoff struct {
	config       wait.Backoff
	clock        clock.PassiveClock
	steps        wait.Backoff // computes the next delay
	last         wait.Backoff // computed the last one
	healthySince time.Time    // zero after a failure

	// The following fields are of the failures since the backoff last restarted.

	failed    bool      // there was one
	relisted  bool      // a list has followed one
	downSince time.Time // the first failure of a connection; zero if there was none
}

func newBackoff(config wait.Backoff, c clock.PassiveClock) *backoff {
	b := &backoff{config: config, clock: c}
	b.restart()
	return b
}

// restart makes the next delay the first one.
func (b *backoff) restart() {
	b.steps, b.last = b.config, b.config
	b.failed, b.relisted, b.downSince = false, false, time.Time{}
}

// markHealthy records a success.
func (b *backoff) markHealthy() {
	if b.healthySince.IsZero() {
		b.healthySince = b.clock.Now()
	}
}

// endOutage restarts the backoff if connections have failed since it last restarted, and reports
// whether they have. It is called after an answer that the server itself has sent: a 410, or a
// complete list or watch. A balancer may send a 429 or 5xx.
func (b *backoff) endOutage() bool {
	if b.downSince.IsZero() {
		return false
	}
	b.restart()
	return true
}

// disconnected records a failure of a connection, if err is one.
func (b *backoff) disconnected(err error) {
	if b.downSince.IsZero() && isDown(err) {
		b.downSince = b.clock.Now()
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

// repeatLast makes the next delay, which is that of a list after a 410, as long as the last one. A
// healthy server sends a 410, so that only the second one makes the delays grow.
func (b *backoff) repeatLast() {
	if !b.relisted {
		b.steps, b.relisted = b.last, true
	}
}

// reset restarts the backoff at its first step if attempts have succeeded for backoffReset.
func (b *backoff) reset() {
	if !b.healthySince.IsZero() && b.clock.Since(b.healthySince) >= backoffReset {
		b.restart()
	}
}

// next returns the delay after a failure, which is not less than err's Retry-After.
func (b *backoff) next(err error) time.Duration {
	b.reset()
	b.healthySince, b.failed = time.Time{}, true
	b.disconnected(err)
	b.last = b.steps
	delay := b.steps.Step()
	if asked := retryAfter(err); asked > 0 {
		delay = max(delay, wait.Jitter(asked, retryAfterJitter))
	}
	return delay
}

// reconnect returns the delay of a watch after a connection has failed with err, if the backoff's
// is delay. It follows the length of the outage, so that a server that is back is noticed after a
// part of that. A shorter delay than the backoff's does not make the next one grow.
func (b *backoff) reconnect(delay time.Duration, err error) time.Duration {
	down := b.clock.Since(b.downSince)
	limit := max(reconnectDelay, down/reconnectShare)
	if isBroken(err) {
		limit = min(max(reconnectDelay, down/2), max(brokenDelay, down/brokenShare))
	}
	if limit = wait.Jitter(limit, reconnectJitter); limit >= delay {
		return delay
	}
	b.steps = b.last
	return limit
}

// jitter returns a random duration below limit, from the source of the backoff's delays. A test can
// seed it.
func jitter(limit time.Duration) time.Duration { return wait.Jitter(limit, 1) - limit }
