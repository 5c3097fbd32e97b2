// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// probeTimeout is how long a probe may take.
	probeTimeout = 30 * time.Second
)

// watchdog returns a context that is cancelled with ErrStalled once r.activity has not changed for
// timeout. stop cancels it and waits for its goroutine.
func (r *Reflector) watchdog(ctx context.Context, timeout time.Duration) (_ context.Context, stop func()) {
	return r.watchIdle(ctx, func() time.Duration { return timeout }, func(context.Context) error { return nil })
}

// sessionWatchdog is the watchdog of a watch. If a resumed watch is idle, it probes the server.
// After a restore of etcd from a backup, the API server accepts a watch from a resourceVersion that
// it has not reached again, and sends nothing until it has (kubernetes/kubernetes#107457). The time
// of the probe is random: many watches may have been resumed together.
func (r *Reflector) sessionWatchdog(ctx context.Context, s *watchSession, limit time.Duration) (_ context.Context, stop func()) {
	timeout := func() time.Duration {
		if !s.initialDone.Load() {
			return initialIdleTimeout
		}
		return s.bookmarks.idleTimeout(limit)
	}
	mustProbe := r.state == stateResuming && s.initial == nil && isValid(s.from)
	probeAt := s.started.Add(probeInterval/2 + jitter(probeInterval/2))
	return r.watchIdle(ctx, timeout, func(ctx context.Context) error {
		if now := r.clock.Now(); !mustProbe || now.Before(probeAt) || now.Before(r.notBefore) {
			return nil
		}
		if r.status.confirmedSince(s.started) {
			mustProbe = false
			return nil
		}
		answered, err := r.probe(ctx)
		mustProbe = !answered
		return err
	})
}

// probe requests a list of one object for its resourceVersion. It returns ErrVersionRegressed if
// that is older than the one reached. answered is false if the server did not answer within
// probeTimeout.
func (r *Reflector) probe(ctx context.Context) (answered bool, err error) {
	ctx, cancel := r.withTimeout(ctx, probeTimeout)
	defer cancel()
	if err := r.awaitBudget(ctx); err != nil {
		return false, nil // a probe that was not made proves nothing
	}
	reached := r.version()
	page, err := r.page(ctx, metav1.ListOptions{Limit: 1}, func(feed.Item) error { return nil })
	if feed.IsPanic(err) {
		return false, err // ends the watch; raised in the reflector's goroutine
	}
	if err != nil {
		return false, nil // a failed probe proves nothing
	}
	order, err := resourceversion.CompareResourceVersion(page.ResourceVersion, reached)
	switch {
	case err != nil:
		return true, nil // incomparable versions prove nothing
	case order < 0:
		return true, fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, page.ResourceVersion, reached)
	case order == 0:
		r.status.advance("", r.clock.Now())
	}
	r.status.confirm(r.clock.Now())
	return true, nil
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

// watchIdle returns a context that is cancelled with ErrStalled once r.activity has not changed for
// timeout(), or with an error of onIdle, which is called in between. stop cancels the context and
// waits for the goroutine that polls r.activity. Polling makes an event cost no more than an atomic
// addition.
func (r *Reflector) watchIdle(ctx context.Context, timeout func() time.Duration, onIdle func(context.Context) error) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.pollActivity(ctx, timeout, onIdle); err != nil {
			cancel(err)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-done
	}
}

// pollActivity polls at least three times within the timeout, and within probeInterval, at random
// intervals.
func (r *Reflector) pollActivity(ctx context.Context, timeout func() time.Duration, onIdle func(context.Context) error) error {
	seen, since := r.activity.Load(), r.clock.Now()
	for {
		limit := timeout()
		interval := min(limit, probeInterval) / 3
		interval = min(interval*3/4+jitter(interval/4), limit-r.clock.Since(since))
		timer := r.clock.NewTimer(max(interval, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		if activity := r.activity.Load(); activity != seen {
			seen, since = activity, r.clock.Now()
		} else if r.clock.Since(since) >= limit {
			return ErrStalled
		} else if err := onIdle(ctx); err != nil {
			return err
		}
	}
}
