// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
)

const (
	// listIdleTimeout is the longest wait for the first or next item of a list.
	listIdleTimeout = 5 * time.Minute
	// initialIdleTimeout is the longest wait for the first or next item of a WatchList.
	initialIdleTimeout = 30 * time.Second
	// watchTimeoutMargin is added to the timeoutSeconds of a watch for the idle timeout of one
	// without bookmarks.
	watchTimeoutMargin = 15 * time.Second
	// bookmarkIdleTimeout is the least idle timeout of a watch with regular bookmarks. The API
	// server sends one about every minute.
	bookmarkIdleTimeout = 3 * time.Minute
	// probeInterval is how long a server without activity is assumed not to have regressed.
	probeInterval = 2 * time.Minute
	// probeTimeout is how long a probe may take, or before the first list receive nothing.
	probeTimeout = 30 * time.Second
	// askPoll is how often the watchdog checks whether the server is to be asked for the last
	// changes.
	askPoll = time.Second
	// maxPoll is the longest time between two polls.
	maxPoll = bookmarkIdleTimeout
	// minProbeSilence is how long nothing must have been received before a probe.
	minProbeSilence = probeInterval / 4
	// noIdleTimeout is the idle timeout of a watch that may stay silent.
	noIdleTimeout = time.Duration(math.MaxInt64)
)

// sessionWatchdog is watchIdle for a watch. If a resumed watch is idle, it probes the server.
// After a restore of etcd from a backup, the API server accepts a watch from a resourceVersion that
// it has not reached again, and sends nothing until it has (kubernetes/kubernetes#107457). The time
// of the probe is random: many watches may have been resumed together. Where a watch does not
// repeat the last changes, the watchdog asks the server for them. It also ends a watch when a list
// is due. A watch of client-go's fakes has no connection that could break, and ends neither by
// itself nor for its silence: the fake would send the next one objects that were sent before.
func (r *Reflector) sessionWatchdog(ctx context.Context, s *watchSession, limit time.Duration) (_ context.Context, stop func()) {
	timeout := func() time.Duration {
		if !s.initialDone.Load() {
			return initialIdleTimeout
		}
		if r.config.Source.Traits().Fake {
			return noIdleTimeout
		}
		return s.bookmarks.idleTimeout(limit)
	}
	probes := sessionProbes{
		s:         s,
		mustProbe: r.state == stateResuming && s.initial == nil && isValid(s.from),
		probeAt:   s.started.Add(probeInterval/2 + jitter(probeInterval/2)),
	}
	return r.watchIdle(ctx, polling{timeout: timeout, interval: probes.pollInterval, poll: probes.poll})
}

// sessionProbes are the probes of a watch. Only its watchdog uses them.
type sessionProbes struct {
	s         *watchSession
	mustProbe bool
	probeAt   time.Time
}

// pollInterval returns the longest time until the next poll.
func (p *sessionProbes) pollInterval(limit time.Duration) time.Duration {
	if p.mustProbe {
		limit = min(limit, max(p.probeAt.Sub(p.s.r.clock.Now()), minProbeSilence))
	}
	if due, scheduled := p.s.r.proof.scheduled.wait(p.s.r.clock.Now()); scheduled {
		limit = min(limit, due)
	}
	if p.s.proof.asking.Load() {
		limit = min(limit, askPoll)
	}
	return limit
}

// poll asks or probes the server if that is due. idle is how long nothing was received.
func (p *sessionProbes) poll(ctx context.Context, idle time.Duration) error {
	r, s, now := p.s.r, p.s, p.s.r.clock.Now()
	if due, scheduled := r.proof.scheduled.wait(now); scheduled && due <= 0 && s.initialDone.Load() {
		return errUnconfirmed
	}
	if r.pacing.budget.UntilRetry(now) > 0 {
		return nil
	}
	if proof := &s.proof; s.opened.Load() && proof.asking.Load() && (!proof.overlapping.Load() || idle >= overlapSilence) {
		err := proof.ask(ctx)
		if ctx.Err() == nil {
			proof.asking.Store(false)
		}
		return err
	}
	p.mustProbe = p.mustProbe && r.status.confirmedAt().Before(s.started)
	if !p.mustProbe || idle < minProbeSilence || now.Before(p.probeAt) {
		return nil
	}
	order, answered, err := r.probe(ctx)
	p.mustProbe = !answered
	if err == nil && answered && order == 0 {
		r.status.advance("", r.clock.Now())
	}
	return err
}

// mostRecent requests a list of one object, for the resourceVersion of the most recent state. The
// error is ErrStalled if the server did not answer within probeTimeout.
func (r *Reflector) mostRecent(ctx context.Context) (version string, err error) {
	probe, _ := feed.WithProbe(ctx)
	page, err := r.requestOne(probe, "", func(feed.Item) error { return nil })
	return page.ResourceVersion, err
}

// probe compares the resourceVersion of the most recent state with the one reached. It returns
// ErrVersionRegressed if it is older. answered is false if the server did not answer within
// probeTimeout. A version that cannot be compared counts as newer.
func (r *Reflector) probe(ctx context.Context) (order int, answered bool, err error) {
	reached := r.version()
	version, err := r.mostRecent(ctx)
	if feed.IsPanic(err) {
		return 0, false, err // ends the watch; raised in the reflector's goroutine
	}
	if err != nil {
		return 0, false, nil //nolint:nilerr // a failed probe proves nothing
	}
	order, err = resourceversion.CompareResourceVersion(version, reached)
	switch {
	case err != nil:
		return 1, true, nil //nolint:nilerr // incomparable versions prove nothing
	case order < 0:
		return order, true, fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, version, reached)
	}
	r.status.confirm(r.clock.Now())
	return order, true, nil
}

// withTimeout is context.WithTimeout on the reflector's clock.
func (r *Reflector) withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := r.clock.NewTimer(timeout)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// polling is what a watchdog does.
type polling struct {
	timeout  func() time.Duration                                // without activity
	interval func(longest time.Duration) time.Duration           // until the next poll; may be nil
	poll     func(ctx context.Context, idle time.Duration) error // called at each poll before the timeout; may be nil
}

// watchIdle returns a context that is cancelled with ErrStalled once nothing was received for
// p.timeout(), or with an error of p.poll, which is called in between. stop cancels the context and
// waits for the goroutine that polls. Polling makes an event cost no more than a look at the clock.
func (r *Reflector) watchIdle(ctx context.Context, p polling) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.pollActivity(ctx, p); err != nil {
			cancel(err)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// active records that the server has sent something, for the watchdog.
func (r *Reflector) active() { r.activeAt.Store(int64(r.clock.Since(r.made))) }

// pollActivity polls when the timeout would end if nothing more were received, and at least once in
// maxPoll, as the timeout may become shorter. A process may have many idle watches, and each poll
// wakes it up.
func (r *Reflector) pollActivity(ctx context.Context, p polling) error {
	began := r.clock.Since(r.made)
	idle := func() time.Duration { return r.clock.Since(r.made) - max(began, time.Duration(r.activeAt.Load())) }
	for {
		interval := min(p.timeout()-idle(), maxPoll*3/4+jitter(maxPoll/4))
		if p.interval != nil {
			interval = p.interval(interval)
		}
		timer := r.clock.NewTimer(max(interval, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		silence := idle()
		if silence >= p.timeout() {
			return ErrStalled
		}
		if p.poll == nil {
			continue
		}
		if err := p.poll(ctx, silence); err != nil {
			return err
		}
	}
}
