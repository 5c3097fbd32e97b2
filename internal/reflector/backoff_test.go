// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

// withoutJitter returns a backoff of 1, 2, 4, 8, 8, ... seconds.
func withoutJitter() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Steps: 10, Cap: 8 * time.Second}
}

// delays returns the next n delays of b, without waiting for them.
func delays(b *backoff, n int) (all []time.Duration) {
	for range n {
		all = append(all, b.next(nil))
	}
	return all
}

func TestBackoffGrowsToCap(t *testing.T) {
	b := newBackoff(withoutJitter(), clock.RealClock{})
	if got := fmt.Sprint(delays(b, 6)); got != "[1s 2s 4s 8s 8s 8s]" {
		t.Errorf("delays are %s, want [1s 2s 4s 8s 8s 8s]", got)
	}
}

func TestBackoffResetsOnlyAfterSuccesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackoff(withoutJitter(), clock.RealClock{})
		delays(b, 3)
		<-time.After(time.Hour) // without an attempt since the failure
		if got := b.next(nil); got != 8*time.Second {
			t.Errorf("delay after an hour without an attempt is %v, want 8s", got)
		}
		b.markHealthy()
		<-time.After(backoffReset - time.Nanosecond)
		b.markHealthy()
		if got := b.next(nil); got != 8*time.Second {
			t.Errorf("delay after less than %v of successes is %v, want 8s", backoffReset, got)
		}
		b.markHealthy()
		<-time.After(backoffReset / 2)
		b.markHealthy()
		<-time.After(backoffReset / 2)
		if got := fmt.Sprint(delays(b, 2)); got != "[1s 2s]" {
			t.Errorf("delays after %v of successes are %s, want [1s 2s]", backoffReset, got)
		}
	})
}

func TestBackoffIsAtLeastRetryAfter(t *testing.T) {
	tooManyRequests := func(seconds int) error {
		return fmt.Errorf("watch: %w", apierrors.NewTooManyRequests("wait", seconds))
	}
	for _, c := range []struct {
		err         error
		least, most time.Duration
	}{
		{nil, time.Second, time.Second},
		{errors.New("any"), time.Second, time.Second},
		{tooManyRequests(0), time.Second, time.Second},
		{tooManyRequests(-7), time.Second, time.Second},
		{tooManyRequests(7), 7 * time.Second, 9 * time.Second},
		{tooManyRequests(1 << 30), served.MaxRetryAfter, served.MaxRetryAfter * 6 / 5},
		{apierrors.NewServerTimeout(podResource, "watch", 3), 3 * time.Second, 4 * time.Second},
		{apierrors.NewServerTimeout(podResource, "watch", 0), time.Second, time.Second},
	} {
		if got := newBackoff(withoutJitter(), clock.RealClock{}).next(c.err); got < c.least || got > c.most {
			t.Errorf("delay after %v is %v, want %v to %v", c.err, got, c.least, c.most)
		}
	}
}

func TestDefaultBackoffIsFrom800msTo30s(t *testing.T) {
	b := newBackoff(DefaultBackoff(), clock.RealClock{})
	all := delays(b, 50)
	if all[0] < 800*time.Millisecond || all[0] > 1200*time.Millisecond {
		t.Errorf("first delay is %v, want 0.8s to 1.2s", all[0])
	}
	for i, d := range all {
		if d > 30*time.Second || i > 5 && d < 20*time.Second {
			t.Errorf("delay %d is %v, want 20s to 30s", i, d)
		}
	}
}

// TestExplicitBackoffSpacesTheFirstFailedWatch checks that a Backoff of the program delays the
// request after the first failed watch: after a WatchList whose connection failed, and an open
// watch that failed but for its connection. A list follows at once where the server answers a
// WatchList.
func TestExplicitBackoffSpacesTheFirstFailedWatch(t *testing.T) {
	for name, c := range map[string]struct {
		watchList   bool
		watch       func(context.Context, feed.WatchSink) error
		least, most float64 // delay of the next request, in seconds
	}{
		"refused WatchList":     {true, refusedWith(errRefused), 1, 1}, // again
		"broken WatchList":      {true, refusedWith(errClosedByBalancer), 1, 1},
		"failed WatchList":      {true, refusedWith(errBadGateway), 0, 0},
		"unsupported WatchList": {true, refusedWith(apierrors.NewBadRequest("sendInitialEvents")), 0, 0},
		"refused watch":         {false, refusedWith(errRefused), 1, 1},
		"failed open watch":     {false, openedThen(errors.New("malformed")), 1, 1},
		"broken open watch":     {false, openedThen(io.ErrUnexpectedEOF), 0, 0.1},
		"closed watch":          {false, openedThen(nil), 0, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			source := timedAt5(c.watch, idleWatch)
			synctest.Test(t, func(t *testing.T) {
				run(t, time.Minute, New(Config{Source: source, Sink: bookmarkSink{}, Backoff: withoutJitter(), WatchList: always(c.watchList)}))
			})
			all := slices.Sorted(slices.Values(append(slices.Clone(source.listTimes), source.watchTimes...)))
			next := all[1]
			if !c.watchList {
				next = all[2] - source.watchTimes[0]
			}
			if next < c.least-0.001 || next > c.most+0.001 {
				t.Errorf("the next request follows after %v s, want %v to %v s", next, c.least, c.most)
			}
		})
	}
}
