// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package shard

import (
	"sync"
	"time"
)

// gate is closed while a process is stopped. Then no request leaves the process, and no response,
// timer or event arrives.
type gate struct {
	mu     sync.Mutex
	closed int           // how often
	opened chan struct{} // closed when the gate opens
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed++; g.closed == 1 {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed--; g.closed == 0 {
		close(g.opened)
	}
}

// reset opens the gate, however often it was closed.
func (g *gate) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed > 0 {
		g.closed = 0
		close(g.opened)
	}
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed == 0
}

// wait waits until the gate is open.
func (g *gate) wait() {
	for {
		g.mu.Lock()
		closed, opened := g.closed > 0, g.opened
		g.mu.Unlock()
		if !closed {
			return
		}
		<-opened
	}
}

// simulatedClock is the clock of a process. It runs at a rate of its own, while its machine is not
// suspended.
type simulatedClock struct {
	gate *gate
	rate float64

	mu        sync.Mutex
	read      time.Time // when the following were computed
	monotonic float64   // in nanoseconds, as is passed
	passed    float64   // by the wall clock
	wall      time.Time // when nothing had passed
	suspended int
	unsafe    time.Time // until then, the wall clock must not hide a suspension
}

func newSimulatedClock(gate *gate, rate float64, wall time.Time) *simulatedClock {
	return &simulatedClock{gate: gate, rate: rate, read: time.Now(), wall: wall.Round(0)}
}

func (c *simulatedClock) now() instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return instant{time.Duration(c.monotonic), c.wall.Add(time.Duration(c.passed))}
}

func (c *simulatedClock) advance() {
	now := time.Now()
	passed := float64(now.Sub(c.read)) * c.rate
	c.passed += passed
	if c.suspended == 0 {
		c.monotonic += passed
	}
	c.read = now
}

// after waits as a timer does, and passes its value on once the process runs.
func (c *simulatedClock) after(d time.Duration) (expired <-chan time.Time, stop func()) {
	channel, stopped := make(chan time.Time, 1), make(chan struct{})
	due := c.now().monotonic + d
	go func() {
		for c.gate.wait(); ; c.gate.wait() {
			left := due - c.now().monotonic
			if left <= 0 {
				channel <- time.Now()
				return
			}
			select {
			case <-time.After(time.Duration(float64(left)/c.rate) + time.Microsecond):
			case <-stopped:
				return
			}
		}
	}()
	return channel, func() { close(stopped) }
}

// suspend stops the monotonic clock, unless the wall clock was set back a short time before:
// nothing can notice both.
func (c *simulatedClock) suspend(options Options) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.suspended == 0 && time.Now().Before(c.unsafe) {
		return false
	}
	c.advance()
	c.suspended++
	c.unsafe = time.Now().Add(2 * options.LeaseDuration)
	return true
}

func (c *simulatedClock) resume(options Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	c.suspended--
	c.unsafe = time.Now().Add(options.LeaseDuration)
}

// jump sets the wall clock. It is not set back around a suspension.
func (c *simulatedClock) jump(d time.Duration, options Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 0 && (c.suspended > 0 || time.Now().Before(c.unsafe)) {
		return
	}
	c.advance()
	c.wall = c.wall.Add(d)
	if d < 0 {
		c.unsafe = time.Now().Add(options.LeaseDuration)
	}
}
