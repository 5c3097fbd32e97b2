// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"sync"
	"time"
)

const (
	// confirmAfter is the least delay of a list that confirms the server's history. confirmSpread
	// is the most that is added to it at random: an API server that has restarted has no history
	// for any of its informers, and they must not list together.
	confirmAfter  = time.Minute
	confirmSpread = 4 * time.Minute
	// confirmInterval is the least time between two of these lists.
	confirmInterval = 30 * time.Minute
)

// errUnconfirmed ends a watch so that a list can confirm the server's history. It is not a failure,
// and is not reported.
var errUnconfirmed = errors.New("the server's history is to be confirmed by a list")

// confirmation schedules a list that confirms the server's history, while watches go on. It is safe
// for concurrent use by the reflector and by the watchdog of a watch.
type confirmation struct {
	mu   sync.Mutex // guards the fields below
	due  time.Time  // zero if no list is scheduled
	last time.Time  // when the last list began
}

// schedule schedules a list. It returns false if one is scheduled already.
func (c *confirmation) schedule(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.due.IsZero() {
		return false
	}
	after := confirmAfter + jitter(confirmSpread)
	if c.due = now.Add(after); !c.last.IsZero() && c.due.Before(c.last.Add(confirmInterval)) {
		c.due = c.last.Add(confirmInterval + after)
	}
	return true
}

// wait returns the time until the scheduled list, or false if there is none.
func (c *confirmation) wait(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.due.Sub(now), !c.due.IsZero()
}

// begin records that the scheduled list begins now.
func (c *confirmation) begin(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = now
}

// settle removes the scheduled list: a list was committed, for whatever cause, or the server has
// repeated the changes for which it was scheduled.
func (c *confirmation) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
}
