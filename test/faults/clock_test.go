// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// settableClock is the real clock, whose wall time can be set as by an operator or NTP. Monotonic
// time and timers go on, as the operating system's do. A process that was suspended sees the same:
// wall time has gone on, monotonic time has not.
type settableClock struct {
	clock.RealClock
	offset atomic.Int64 // of the wall time, in nanoseconds
}

// set puts the wall time forward by d, or back.
func (c *settableClock) set(d time.Duration) { c.offset.Add(int64(d)) }

// Now returns the time.
func (c *settableClock) Now() time.Time {
	now := time.Now() // has no monotonic reading in a bubble
	return withMonotonic(now.Add(time.Duration(c.offset.Load())), now.Sub(time.Unix(0, 0)))
}

// Since returns the time since t.
func (c *settableClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// withMonotonic returns t with a monotonic reading, which only time.Now sets otherwise, and not in
// a bubble. The words of such a time are a flag, the seconds since 1885 and the nanoseconds of the
// wall time, and the monotonic reading.
func withMonotonic(t time.Time, reading time.Duration) time.Time {
	const from1885 = 2_682_288_000            // seconds until 1970
	words := (*[2]uint64)(unsafe.Pointer(&t)) //nolint:gosec // see above
	words[0] = 1<<63 | uint64(t.Unix()+from1885)<<30 | uint64(t.Nanosecond())
	words[1] = uint64(reading)
	return t
}

func TestWithMonotonic(t *testing.T) {
	wall := time.Unix(1_000_000_000, 7)
	for _, jump := range clockJumps {
		a, b := withMonotonic(wall, time.Hour), withMonotonic(wall.Add(jump), time.Hour+time.Second)
		if b.Sub(a) != time.Second || b.Round(0).Sub(a.Round(0)) != jump || !a.Round(0).Equal(wall) {
			t.Errorf("%v to %v: %v on the monotonic clock, %v on the wall clock", a, b, b.Sub(a), b.Round(0).Sub(a.Round(0)))
		}
	}
}

const year = 365 * 24 * time.Hour

var clockJumps = []time.Duration{time.Hour, -time.Hour, 26 * year, -26 * year}

// eachJump runs a test for each jump of the clock.
func eachJump(t *testing.T, test func(t *testing.T, c *settableClock, jump time.Duration)) {
	t.Helper()
	for _, jump := range clockJumps {
		t.Run(fmt.Sprint(jump), func(t *testing.T) { test(t, &settableClock{}, jump) })
	}
}

// TestClockJumpsWhileFailing sets the clock while requests fail, in each of many ways. The informer
// stays within its budget of requests, and recovers with the server.
func TestClockJumpsWhileFailing(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("starting")
	for name, inject := range map[string]func(h *cachetest.Harness){
		"503":            func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: unavailable}) },
		"410":            func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: fake.Expired()}) },
		"Retry-After":    func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{Err: fake.TooManyRequests(20)}) },
		"short watches":  func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseAfterEvents: -1}) },
		"early ends":     func(h *cachetest.Harness) { h.InjectWatchFault(-1, fake.Fault{CloseIn: 30 * time.Second}) },
		"frozen server":  freeze,
		"nothing":        func(*cachetest.Harness) {},
		"older bookmark": olderBookmarks,
	} {
		t.Run(name, func(t *testing.T) {
			eachJump(t, func(t *testing.T, c *settableClock, jump time.Duration) {
				cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{Clock: c}, func(h *cachetest.Harness) {
					h.ExpectSynced()
					inject(h)
					began := time.Now()
					h.CloseWatches()
					for range 10 {
						cachetest.Advance(31 * time.Second)
						c.set(jump)
						cachetest.Advance(31 * time.Second)
						c.set(-jump)
					}
					h.ExpectRequestRate(began)
					h.ClearFaults()
					c.set(jump)
					h.Update(cachetest.Pod("a"))
					h.CloseWatches()
					cachetest.Advance(11 * time.Minute)
					h.ExpectStored(h.Served())
				})
			})
		})
	}
}

// TestFrozenServerIsGivenUpAfterClockJump sets the clock while a watch is silent. Its deadline
// holds.
func TestFrozenServerIsGivenUpAfterClockJump(t *testing.T) {
	eachJump(t, func(t *testing.T, c *settableClock, jump time.Duration) {
		cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{Clock: c}, func(h *cachetest.Harness) {
			h.ExpectSynced()
			freeze(h)
			h.CloseWatches()
			cachetest.Advance(time.Minute)
			c.set(jump)
			cachetest.Advance(11 * time.Minute)
			h.ExpectError(cachetest.ErrorIs(cache.ErrStalled))
		})
	})
}

// TestHealthCheckUsesBothClocks suspends the process, and sets the wall time back while the server
// is frozen. The health check fails if either clock says that the store is too old.
func TestHealthCheckUsesBothClocks(t *testing.T) {
	run := func(name string, test func(h *cachetest.Harness, c *settableClock, healthy func() bool)) {
		t.Run(name, func(t *testing.T) {
			c := &settableClock{}
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{Clock: c}, func(h *cachetest.Harness) {
				check := h.Controller.HealthCheck(cache.HealthOptions{MaxStaleness: 10 * time.Minute})
				cachetest.Advance(3 * time.Minute)
				if err := check(nil); err != nil {
					t.Error(err)
				}
				test(h, c, func() bool { return check(nil) == nil })
			}, func(h *cachetest.Harness) { h.BookmarkEvery(time.Minute) })
		})
	}
	run("suspended", func(h *cachetest.Harness, c *settableClock, healthy func() bool) {
		c.set(8 * time.Hour)
		if healthy() {
			t.Errorf("healthy after eight hours of suspension; status %+v", h.Controller.Status())
		}
		cachetest.Advance(time.Minute)
		if !healthy() {
			t.Error("not healthy after the next bookmark")
		}
	})
	run("set back", func(h *cachetest.Harness, c *settableClock, healthy func() bool) {
		c.set(-time.Hour)
		freeze(h)
		h.CloseWatches()
		cachetest.Advance(5 * time.Minute)
		if !healthy() {
			t.Error("not healthy within MaxStaleness")
		}
		cachetest.Advance(6 * time.Minute)
		if healthy() {
			t.Errorf("healthy although the server is frozen; status %+v", h.Controller.Status())
		}
	})
}
