// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// lateClock is the real clock, but for what it lags behind. The lag can be made smaller, so that
// minutes of events are recorded within seconds. Its timers are real.
type lateClock struct {
	clock.RealClock

	mu  sync.Mutex // guards lag
	lag time.Duration
}

// Now returns the time.
func (c *lateClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.RealClock.Now().Add(-c.lag)
}

// Since returns the time since t.
func (c *lateClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// catchUp lets some time pass, until there is no lag.
func (c *lateClock) catchUp(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lag = max(0, c.lag-d)
}
