// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"time"

	"k8s.io/utils/clock"
)

// processClock is the time as a process sees it.
type processClock interface {
	now() instant
	// after returns a channel that receives a value once the monotonic clock has advanced by d.
	after(d time.Duration) (expired <-chan time.Time, stop func())
}

// instant is a time by two clocks. The monotonic one is not set, but on Linux it stands still while
// the machine is suspended, as a paused virtual machine is. The wall clock goes on, but may be set.
type instant struct {
	monotonic time.Duration // since the start of the process
	wall      time.Time
}

// elapsed returns the time since an earlier instant by the clock that has advanced further.
func (t instant) elapsed(earlier instant) time.Duration {
	return max(t.monotonic-earlier.monotonic, t.wall.Sub(earlier.wall))
}

// systemClock is the clock of this process.
type systemClock struct {
	clock.RealClock
	start time.Time
}

func newSystemClock() systemClock {
	return systemClock{start: clock.RealClock{}.Now()}
}

func (c systemClock) now() instant {
	now := c.Now()
	return instant{monotonic: now.Sub(c.start), wall: now.Round(0)}
}

func (c systemClock) after(d time.Duration) (expired <-chan time.Time, stop func()) {
	timer := c.NewTimer(d)
	return timer.C(), func() { timer.Stop() }
}
