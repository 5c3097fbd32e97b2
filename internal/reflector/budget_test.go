// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"io"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/kinformer/internal/feed"
)

// timedSource records the times of lists and watches, as seconds since the first, and the versions
// of lists.
type timedSource struct {
	scriptedSource
	began                 time.Time
	listTimes, watchTimes []float64
	listVersions          []string
}

func (s *timedSource) seconds() float64 {
	if s.began.IsZero() {
		s.began = time.Now()
	}
	return time.Since(s.began).Seconds()
}

func (s *timedSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	s.listTimes = append(s.listTimes, s.seconds())
	s.listVersions = append(s.listVersions, options.ResourceVersion)
	return s.scriptedSource.List(ctx, options, add)
}

func (s *timedSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	s.watchTimes = append(s.watchTimes, s.seconds())
	return s.scriptedSource.Watch(ctx, options, events)
}

// bookmarkSink accepts empty lists and bookmarks.
type bookmarkSink struct{ emptySink }

func (bookmarkSink) AdvanceVersion(string) {}

// run runs a reflector of the source for d of fake time.
func (s *timedSource) run(t *testing.T, d time.Duration, backoff wait.Backoff) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		run(t, d, New(Config{Source: s, Sink: bookmarkSink{}, Backoff: backoff}))
	})
}

// inWindow returns the greatest number of times within any window of that many seconds.
func inWindow(times []float64, seconds float64) (most int) {
	for first, n := 0, 0; n < len(times); n++ {
		for times[n]-times[first] >= seconds {
			first++
		}
		most = max(most, n-first+1)
	}
	return most
}

// timedAt5 returns a source whose lists are at version 5.
func timedAt5(watches ...func(context.Context, feed.WatchSink) error) *timedSource {
	return &timedSource{scriptedSource: listedAt5(watches...)}
}

// expiredWatches returns a source whose lists succeed and whose watches fail with 410.
func expiredWatches() *timedSource {
	return timedAt5(refusedWith(apierrors.NewResourceExpired("too old")))
}

// TestAnsweredListsAreLimited checks that the server answers at most four lists in any minute after
// the initial one, though the backoff permits more.
func TestAnsweredListsAreLimited(t *testing.T) {
	source := expiredWatches()
	source.run(t, 10*time.Minute, wait.Backoff{})
	later := source.listTimes[1:]
	if got := inWindow(later, 60); got != 4 {
		t.Errorf("%d lists within a minute, want 4: %v", got, later)
	}
	if third := later[2]; third > 8 {
		t.Errorf("the third relist is at %v s, want the backoff alone before it", third)
	}
}

// TestRefusedListsArePacedByTheBackoff checks that lists which the server refuses do not count as
// answered: the sixth follows its backoff.
func TestRefusedListsArePacedByTheBackoff(t *testing.T) {
	source := &timedSource{scriptedSource: scriptedSource{lists: lists{listError(apierrors.NewForbidden(podResource, "", nil))}}}
	source.run(t, time.Minute, wait.Backoff{})
	if sixth := source.listTimes[5]; sixth > 1.2*31 {
		t.Errorf("the sixth list is at %v s, want it after delays of 0.8, 1.6, 3.2, 6.4 and 12.8 s and their jitter", sixth)
	}
}

// TestAllRequestsShareABucket lets the server close each watch after an event, which needs no
// backoff.
func TestAllRequestsShareABucket(t *testing.T) {
	version := 5
	source := timedAt5(func(_ context.Context, events feed.WatchSink) error {
		events.Opened()
		version++
		return events.Bookmark(strconv.Itoa(version), false)
	})
	source.run(t, 10*time.Minute, wait.Backoff{})
	all := slices.Sorted(slices.Values(append(slices.Clone(source.listTimes), source.watchTimes...)))
	if got := inWindow(all, 2); got != 10 {
		t.Errorf("%d requests within two seconds, want 10", got)
	}
	if got := inWindow(all, 60); got > 22 {
		t.Errorf("%d requests within a minute, want at most 22", got)
	}
	if got := len(all); got > 10+120 {
		t.Errorf("%d requests in ten minutes, want at most 130", got)
	}
}

// TestFakesCostNoTokens checks that requests to a fake of client-go are not limited, since they
// burden no server, and that its failures are followed by the backoff all the same.
func TestFakesCostNoTokens(t *testing.T) {
	source := timedAt5(servedWatch)
	source.traits = feed.Traits{Fake: true}
	source.run(t, time.Minute, wait.Backoff{})
	if got := len(source.watchTimes); got < 50 {
		t.Errorf("%d watches of one second in a minute, want at least 50", got)
	}
	source = expiredWatches()
	source.traits = feed.Traits{Fake: true}
	source.run(t, time.Minute, withoutJitter())
	if got := source.listTimes; len(got) < 6 || got[4] != 14 || got[5] != 22 {
		t.Errorf("lists at %v s, want them at 0, 0, 2, 6, 14 and 22 s", got)
	}
}

// explicit is a backoff of a program, far shorter than the interval of the budget.
func explicit() wait.Backoff { return wait.Backoff{Duration: 10 * time.Millisecond} }

// TestExplicitBackoffReplacesTheBudget checks that neither the bucket nor the limit of lists delays
// attempts that follow a failure, and that both hold again once a watch was served.
func TestExplicitBackoffReplacesTheBudget(t *testing.T) {
	source := expiredWatches()
	for range 29 {
		source.watches = append(source.watches, source.watches[0])
	}
	source.watches = append(source.watches, idleWatch)
	source.run(t, time.Minute, explicit())
	if n, last := len(source.watchTimes), source.watchTimes[len(source.watchTimes)-1]; n != 31 || last > 0.5 {
		t.Errorf("watch %d is at %v s, want the 31st after 29 delays of 10 ms", n, last)
	}

	source = expiredWatches()
	source.watches = append(source.watches, source.watches[0], servedWatch)
	source.run(t, 2*time.Minute, explicit())
	if got := inWindow(source.watchTimes, 60); got > 22 {
		t.Errorf("%d watches within a minute after the failure, want at most 22", got)
	}
}

// servedWatch is a watch that the server closes after a second.
func servedWatch(ctx context.Context, events feed.WatchSink) error {
	events.Opened()
	openFor(ctx, shortWatch)
	return nil
}

// TestExplicitBackoffKeepsRetryAfter checks that a shorter Backoff does not shorten the server's
// Retry-After, and that a longer one does not delay a watch after one whose connection broke.
func TestExplicitBackoffKeepsRetryAfter(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 7)
	source := timedAt5(refusedWith(busy), openedThen(io.EOF), idleWatch)
	source.run(t, time.Minute, explicit())
	if got := source.watchTimes[1]; got < 7 || got > 1.2*7 {
		t.Errorf("the watch after Retry-After: 7 follows after %v s, want 7 to 8.4 s", got)
	}
	source = timedAt5(openedThen(io.ErrUnexpectedEOF), idleWatch)
	source.run(t, time.Minute, wait.Backoff{Duration: time.Hour})
	if got := source.watchTimes[1]; got > maxResumeDelay.Seconds() {
		t.Errorf("the first broken watch is resumed after %v s, want at most 0.1 s", got)
	}
}

// TestRepeatedShortWatchesArePaced checks that only the first of several watches that the server
// closes at once is resumed without a backoff.
func TestRepeatedShortWatchesArePaced(t *testing.T) {
	source := timedAt5(openedThen(nil))
	source.run(t, time.Minute, withoutJitter())
	times := source.watchTimes
	for n, want := range map[int][2]float64{1: {0, 0.1}, 2: {0.99, 1.01}} {
		if got := times[n] - times[n-1]; got < want[0] || got > want[1] {
			t.Errorf("watch %d follows after %v s, want %v to %v s", n, got, want[0], want[1])
		}
	}
}

// TestSecondRelistHasTheSecondDelay checks that the relist after the first 410 follows at once, and
// takes the place of the backoff's first delay: otherwise many informers would list twice within a
// second.
func TestSecondRelistHasTheSecondDelay(t *testing.T) {
	source := expiredWatches()
	source.run(t, time.Minute, withoutJitter())
	for n, want := range map[int]float64{1: 0, 2: 2, 3: 6} {
		if got := source.listTimes[n]; got != want {
			t.Errorf("relist %d is at %v s, want %v s", n, got, want)
		}
	}
}

// TestBrokenConnectionOfAServedWatchIsResumedSoon checks that a watch whose connection breaks a
// second time, without an event since, is resumed without a backoff if it had been served, as when
// two API servers restart one after the other.
func TestBrokenConnectionOfAServedWatchIsResumedSoon(t *testing.T) {
	broken := func(ctx context.Context, events feed.WatchSink) error {
		events.Opened()
		openFor(ctx, 5*time.Second)
		return io.ErrUnexpectedEOF
	}
	source := timedAt5(broken, broken, broken, idleWatch)
	source.run(t, time.Minute, withoutJitter())
	for n := 1; n < 4; n++ {
		if got := source.watchTimes[n] - source.watchTimes[n-1]; got > 5.1 {
			t.Errorf("watch %d is resumed %v s after the connection broke, want at most 0.1 s", n, got-5)
		}
	}
}
