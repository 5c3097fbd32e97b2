// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
)

// TestOnlyTheFirstFailureIsResumedSoon checks that a watch which fails again, without an event
// since, is resumed after the backoff.
func TestOnlyTheFirstFailureIsResumedSoon(t *testing.T) {
	failure := io.ErrUnexpectedEOF
	source := timedAt5(openedThen(failure), openedThen(failure), idleWatch)
	runFor(t, time.Minute, Config{Source: source})
	if soon := source.watchTimes[1] - source.watchTimes[0]; soon > maxResumeDelay.Seconds() {
		t.Errorf("resumed after %v s, want at most %v", soon, maxResumeDelay)
	}
	if later := source.watchTimes[2] - source.watchTimes[1]; later < 0.99 {
		t.Errorf("resumed a second time after %v s, want the backoff of 1 s", later)
	}
}

// TestRetryAfterPrecedesEveryRetry checks that neither a resume nor a relist, which need no
// backoff, comes before the Retry-After of an error that is no refusal.
func TestRetryAfterPrecedesEveryRetry(t *testing.T) {
	broken := apierrors.NewInternalError(errors.New("broken"))
	broken.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 20}
	gone := apierrors.NewResourceExpired("too old")
	gone.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 20}
	for name, err := range map[string]error{"resume": broken, "relist": gone} {
		t.Run(name, func(t *testing.T) {
			source := timedAt5(openedThen(err), idleWatch)
			runFor(t, time.Minute, Config{Source: source})
			if waited := source.watchTimes[1] - source.watchTimes[0]; waited < 20 {
				t.Errorf("the next watch follows after %v s, want at least 20 s", waited)
			}
		})
	}
}

// TestConsistentReadIsForgottenOnceCommitted checks that a reflector which is run again after a
// consistent read lists at the version reached.
func TestConsistentReadIsForgottenOnceCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &timedSource{scriptedSource: scriptedSource{
			lists:   lists{listAt("9"), listAt("5"), listAt("5"), listAt("6")}, // a list, a probe, the consistent read
			watches: watches{openedThen(nil), idleWatch},
		}}
		r := New(Config{Source: source, Sink: emptySink{}, Backoff: withoutJitter()})
		for range 2 {
			run(t, 2*probeInterval, r)
		}
		want := []string{"0", "", "", "5"}
		for i, version := range want {
			if len(source.listVersions) <= i || source.listVersions[i] != version {
				t.Fatalf("lists at %q, want them to begin with %q", source.listVersions, want)
			}
		}
	})
}

// TestNoRequestPrecedesRetryAfter checks that requests which need no backoff, the list after a
// WatchList and the probe of a watch, wait for the Retry-After of the request before.
func TestNoRequestPrecedesRetryAfter(t *testing.T) {
	busy := apierrors.NewServiceUnavailable("starting")
	busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 60}
	var times []time.Time
	request := func() { times = append(times, time.Now()) }
	source := &scriptedSource{
		lists: lists{func() (string, error) { request(); return "", busy }},
		watches: watches{func(context.Context, feed.WatchSink) error {
			request()
			return busy
		}},
	}
	runFor(t, 10*time.Minute, Config{Source: source, WatchList: always(true)})
	probes := 0
	source = &scriptedSource{
		lists: lists{listAt("5"), func() (string, error) { request(); probes++; return "", busy }},
		watches: watches{
			openedThen(nil), func(ctx context.Context, events feed.WatchSink) error { times = nil; return idleWatch(ctx, events) },
		},
	}
	for i := 1; i < len(times); i++ {
		if waited := times[i].Sub(times[i-1]); waited < time.Minute {
			t.Errorf("request %d follows after %v, want at least a minute", i, waited)
		}
	}
	runFor(t, 5*time.Minute, Config{Source: source})
	for i := 1; i < len(times); i++ {
		if waited := times[i].Sub(times[i-1]); waited < time.Minute {
			t.Errorf("probe %d follows after %v, want at least a minute", i, waited)
		}
	}
	if probes == 0 {
		t.Error("no probe")
	}
}

// quarantinedSink has an object that cannot be stored. It counts the lists.
type quarantinedSink struct {
	emptySink
	lists *int
}

func (s quarantinedSink) Begin() feed.Replacement {
	*s.lists++
	return s.emptySink.Begin()
}
func (quarantinedSink) Quarantined() int { return 1 }

// TestQuarantinedObjectsAreListedThoughWatchesFail checks that objects which could not be stored
// are requested again if every watch ends with an error.
func TestQuarantinedObjectsAreListedThoughWatchesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var version atomic.Int64 // of lists, and of probes during a watch
		version.Store(10)
		source := &scriptedSource{
			lists: lists{func() (string, error) { return fmt.Sprint(version.Load()), nil }},
			watches: watches{func(ctx context.Context, events feed.WatchSink) error {
				events.Opened()
				openFor(ctx, 4*time.Minute)
				if err := events.Bookmark(fmt.Sprint(version.Add(1)), false); err != nil {
					return err
				}
				return syscall.ECONNRESET
			}},
		}
		lists := 0
		run(t, 12*time.Hour, New(Config{Source: source, Sink: quarantinedSink{lists: &lists}}))
		if lists < 5 || lists > 12 {
			t.Errorf("%d lists in 12 hours, want more and more rare ones", lists)
		}
	})
}

// TestFreshnessOfASlowList checks that a list is as fresh as when it was requested.
func TestFreshnessOfASlowList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		source := &scriptedSource{
			lists:   lists{func() (string, error) { <-time.After(4 * time.Minute); return "5", nil }},
			watches: watches{idleWatch},
		}
		r := New(Config{Source: source, Sink: emptySink{}})
		run(t, 4*time.Minute+30*time.Second, r)
		if fresh := r.Status().FreshAt; !fresh.Equal(began) {
			t.Errorf("FreshAt is %v after the request of the list, want 0s", fresh.Sub(began))
		}
	})
}
