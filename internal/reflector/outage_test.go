// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/url"
	"slices"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/kinformer/kinformer/internal/feed"
)

var (
	// errClosedByBalancer is what net/http returns if a connection was accepted and then closed.
	errClosedByBalancer = &url.Error{Op: "Get", URL: "https://server", Err: io.EOF}
	errRefused          = &url.Error{Op: "Get", URL: "https://server", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	errDialTimeout      = &url.Error{Op: "Get", URL: "https://server", Err: &net.OpError{Op: "dial", Err: context.DeadlineExceeded}}
	errExpired          = apierrors.NewResourceExpired("too old")
	errBadGateway       = apierrors.NewServiceUnavailable("no upstream")
)

// refusedInTurn returns watches that the server does not accept, for one error after another.
func refusedInTurn(errs ...error) (all watches) {
	for _, err := range errs {
		all = append(all, refusedWith(err))
	}
	return all
}

// timesOf returns a source whose watches are as given, followed by one that stays open.
func timesOf(script ...watches) *timedSource {
	return timedAt5(append(slices.Concat(script...), idleWatch)...)
}

// servedFor returns a watch that lives for d, until its connection breaks.
func servedFor(d time.Duration) func(context.Context, feed.WatchSink) error {
	return func(ctx context.Context, events feed.WatchSink) error {
		events.Opened()
		openFor(ctx, d)
		return io.ErrUnexpectedEOF
	}
}

// TestRelistAfterAnOutageFollowsSoon checks that the list after a 410 does not wait for the delay
// that failed connections have grown, with or without answers of a balancer among them, and that it
// waits for the delay that the server's own answers have grown, without a further step.
func TestRelistAfterAnOutageFollowsSoon(t *testing.T) {
	for name, c := range map[string]struct {
		failures []error
		min, max float64 // from the 410 to the list, in seconds
	}{
		"no failure":               {nil, 0, 0},
		"closed connections":       {[]error{errClosedByBalancer, errClosedByBalancer, errClosedByBalancer}, 0, 0.2},
		"refused connections":      {[]error{errRefused, errRefused, errRefused}, 0, 0.2},
		"no route":                 {[]error{errDialTimeout, errDialTimeout}, 0, 0.2},
		"and then 503":             {[]error{errClosedByBalancer, errClosedByBalancer, errBadGateway}, 0, 0.2},
		"503, and then connection": {[]error{errBadGateway, errBadGateway, errRefused}, 0, 0.2},
		"503":                      {[]error{errBadGateway, errBadGateway, errBadGateway}, 4, 4},
		"429":                      {[]error{apierrors.NewTooManyRequestsError("busy")}, 1, 1},
		"a stalled server":         {[]error{ErrStalled, ErrStalled}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			source := timesOf(refusedInTurn(append(c.failures, errExpired)...))
			source.run(t, time.Minute, withoutJitter())
			if len(source.listTimes) != 2 {
				t.Fatalf("lists at %v s, want two", source.listTimes)
			}
			if delay := source.listTimes[1] - source.watchTimes[len(c.failures)]; delay < c.min-0.001 || delay > c.max+0.001 {
				t.Errorf("the list follows %v s after the 410, want %v to %v s", delay, c.min, c.max)
			}
		})
	}
}

// TestInvalidStreamEndsNoOutage checks that a list which another error than a 410 causes waits for
// the backoff: what sends invalid events may be a proxy.
func TestInvalidStreamEndsNoOutage(t *testing.T) {
	source := timesOf(refusedInTurn(errRefused, errors.New("malformed")))
	source.run(t, time.Minute, withoutJitter())
	if delay := source.listTimes[1] - source.watchTimes[1]; math.Abs(delay-2) > 0.001 {
		t.Errorf("the list follows after %v s, want 2 s", delay)
	}
}

// TestRelistAfterEachRestartFollowsSoon checks that lists follow soon if a server restarts several
// times within two minutes, is back at once, and has no history each time.
func TestRelistAfterEachRestartFollowsSoon(t *testing.T) {
	restart := watches{servedFor(10 * time.Second), refusedWith(errExpired)}
	source := timesOf(restart, restart, restart)
	source.run(t, time.Minute, withoutJitter())
	for i, at := range source.listTimes[1:] {
		if delay := at - source.watchTimes[2*i+1]; delay > 0.201 {
			t.Errorf("list %d follows %v s after the 410, want at most 0.2 s", i+1, delay)
		}
	}
}

// TestSecondExpiredWatchGrowsTheBackoff checks that only the first 410 repeats the last delay.
func TestSecondExpiredWatchGrowsTheBackoff(t *testing.T) {
	source := timesOf(refusedInTurn(errBadGateway, errExpired, errExpired, errExpired))
	source.run(t, time.Minute, withoutJitter())
	var delays []float64
	for i, at := range source.listTimes[1:] {
		delays = append(delays, math.Round(at-source.watchTimes[1+i]))
	}
	if want := []float64{1, 2, 4}; !slices.Equal(delays, want) {
		t.Errorf("lists follow %v s after the 410s, want %v s", delays, want)
	}
}

// TestOutageAfterARecoveryHasTheFirstDelay lets connections fail several times within two minutes.
// The backoff starts again after each list, and after each watch that was served, but not after a
// watch that ended at once, or an answer of a balancer.
func TestOutageAfterARecoveryHasTheFirstDelay(t *testing.T) {
	down := refusedInTurn(errRefused, errRefused, errRefused)
	for name, c := range map[string]struct {
		between watches
		want    float64 // the delay after the first refused watch of the second outage
	}{
		"410 and a list": {watches{refusedWith(errExpired), servedFor(10 * time.Second)}, 1},
		"a served watch": {watches{servedFor(10 * time.Second)}, 1},
		"a broken watch": {watches{servedFor(0)}, 8},
		"a closed watch": {watches{openedThen(nil)}, 8},
		"429":            {watches{refusedWith(apierrors.NewTooManyRequestsError("busy"))}, 8},
		"502":            {watches{refusedWith(errBadGateway)}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			source := timesOf(down, c.between, down)
			source.run(t, 2*time.Minute, withoutJitter())
			second := len(down) + len(c.between)
			if delay := source.watchTimes[second+1] - source.watchTimes[second]; math.Abs(delay-c.want) > 0.001 {
				t.Errorf("the second outage's first retry follows after %v s, want %v s", delay, c.want)
			}
		})
	}
}

// TestAnswerDuringAnOutageIsRetriedSoon lets connections fail for ten seconds, and a balancer
// answer then. The frequent retries before that have not made the delay grow beyond the outage.
func TestAnswerDuringAnOutageIsRetriedSoon(t *testing.T) {
	for range 20 {
		clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
		b := newBackoff(DefaultBackoff(), clock)
		for began := clock.Now(); clock.Since(began) < 10*time.Second; {
			clock.SetTime(clock.Now().Add(b.reconnect(b.next(errRefused), errRefused)))
		}
		if delay, first := b.next(errBadGateway), DefaultBackoff().Duration; delay < first || delay > 10*time.Second {
			t.Errorf("the retry follows after %v, want %v to 10 s", delay, first)
		}
	}
}

// TestListEndsAnOutage checks that the backoff starts again after a complete list, also if no 410
// came before it: connections failed before the first list.
func TestListEndsAnOutage(t *testing.T) {
	source := timesOf(refusedInTurn(errRefused))
	source.lists = lists{listError(errRefused), listError(errRefused), listError(errRefused), listAt("5")}
	source.run(t, time.Minute, withoutJitter())
	if delay := source.watchTimes[1] - source.watchTimes[0]; math.Abs(delay-1) > 0.001 {
		t.Errorf("the watch is retried after %v s, want 1 s", delay)
	}
}

// TestExplicitBackoffReplacesTheBudgetAfterAnOutage checks that neither the bucket nor the limit of
// lists delays a list after an outage, if a Backoff of the program spaces failed attempts.
func TestExplicitBackoffReplacesTheBudgetAfterAnOutage(t *testing.T) {
	var cycles watches
	for range 20 {
		cycles = append(cycles, refusedInTurn(errRefused, errExpired)...)
	}
	source := timesOf(cycles)
	source.run(t, time.Minute, explicit())
	if last := source.listTimes[len(source.listTimes)-1]; len(source.listTimes) != 21 || last > 20*0.22 {
		t.Errorf("%d lists, the last at %v s, want the 21st after 20 delays of at most 0.21 s", len(source.listTimes), last)
	}
}

// outageOf returns a source whose watches fail with err for a time from the first list on. The next
// one fails with a 410, and the one after the list stays open.
func outageOf(err error, lasting time.Duration) *timedSource {
	source := timedAt5()
	source.watches = watches{func(ctx context.Context, events feed.WatchSink) error {
		switch {
		case time.Since(source.began) < lasting:
			return err
		case len(source.listTimes) == 1:
			return errExpired
		}
		return idleWatch(ctx, events)
	}}
	return source
}

// TestWatchesAreRetriedOftenDuringAnOutage checks the delays of watches whose connections fail for
// up to ten minutes, that the bucket has tokens left for the 410 and the list that follow, and that
// the requests stay within the limits.
func TestWatchesAreRetriedOftenDuringAnOutage(t *testing.T) {
	refused := func(down float64) float64 { return 2 * max(1, down/4) }
	broken := func(down float64) float64 { return 2 * min(max(1, down/2), max(2.5, down/24)) }
	for name, c := range map[string]struct {
		err     error
		longest func(down float64) float64 // delay after a time, in seconds
	}{
		"closed": {errClosedByBalancer, broken}, "reset": {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, broken},
		"refused": {errRefused, refused}, "no route": {errDialTimeout, refused},
	} {
		for _, lasting := range []time.Duration{5 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 10 * time.Minute} {
			t.Run(name+" for "+lasting.String(), func(t *testing.T) {
				for range 10 {
					source := outageOf(c.err, lasting)
					source.run(t, lasting+time.Minute, wait.Backoff{})
					source.checkRecovery(t, lasting.Seconds(), c.longest)
				}
			})
		}
	}
}

// checkRecovery checks the delays during an outage, the list after it, and the rates of requests.
func (s *timedSource) checkRecovery(t *testing.T, lasting float64, longest func(down float64) float64) {
	t.Helper()
	first := s.watchTimes[0]
	for i, at := range s.watchTimes[1:] {
		before := s.watchTimes[i]
		limit := longest(before-first) + 0.001
		if before > 8 { // the bucket may have no token to spare, and gets one every 5 s
			limit += 5
		}
		if before < lasting && at-before > limit {
			t.Errorf("the watch after %v s follows after %v s, want at most %v s", before, at-before, limit)
			return
		}
	}
	answered := s.watchTimes[slices.IndexFunc(s.watchTimes, func(at float64) bool { return at >= lasting })]
	if listed := s.listTimes[1] - answered; listed > 0.201 {
		t.Errorf("the list follows %v s after the 410 at %v s, want at most 0.2 s", listed, answered)
	}
	s.checkRates(t)
}

// checkRates checks the limits of requests, and of lists but the first.
func (s *timedSource) checkRates(t *testing.T) {
	t.Helper()
	all := slices.Sorted(slices.Values(append(slices.Clone(s.listTimes), s.watchTimes...)))
	minute, ten, lists := inWindow(all, 59.999), inWindow(all, 599.999), inWindow(s.listTimes[1:], 59.999)
	if minute > 22 || ten > 130 || lists > 4 {
		t.Errorf("%d requests and %d lists in a minute, %d requests in ten, want at most 22, 4 and 130", minute, lists, ten)
	}
}

// TestRecoveriesStayWithinTheLimits lets each connection fail, and each watch after that end with a
// 410, for ten minutes. Such a 410 ends the backoff, so that the bucket and the limit of lists are
// all that spaces the requests.
func TestRecoveriesStayWithinTheLimits(t *testing.T) {
	for name, cycle := range map[string]watches{
		"410":            refusedInTurn(errClosedByBalancer, errExpired),
		"served":         {refusedWith(errRefused), servedFor(time.Second)},
		"served and 410": {refusedWith(errClosedByBalancer), servedFor(time.Second), refusedWith(errExpired)},
	} {
		t.Run(name, func(t *testing.T) {
			source := timedAt5()
			for range 200 {
				source.watches = append(source.watches, cycle...)
			}
			source.run(t, 10*time.Minute, wait.Backoff{})
			source.checkRates(t)
			if requests := len(source.watchTimes) + len(source.listTimes); requests < 100 {
				t.Errorf("%d requests in ten minutes, want those of the bucket", requests)
			}
		})
	}
}

// TestRelistsAfterAnOutageAreSpread lets many reflectors of one server receive a 410 at the same
// moment, after their connections failed. Their lists are spread over 0.2 s.
func TestRelistsAfterAnOutageAreSpread(t *testing.T) {
	const reflectors = 50
	var delays []float64
	for range reflectors {
		source := timesOf(refusedInTurn(errRefused, errExpired))
		source.run(t, time.Minute, withoutJitter())
		delays = append(delays, source.listTimes[1]-source.watchTimes[1])
	}
	slices.Sort(delays)
	if most := inWindow(delays, 0.05); most > reflectors/2 || delays[0] == delays[reflectors-1] {
		t.Errorf("%d of %d lists within 50 ms, want at most half: %v", most, reflectors, delays)
	}
}
