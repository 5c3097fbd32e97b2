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
	// contentsSpread is the longest delay, which is random, of a list because of other contents.
	contentsSpread = 30 * time.Second
	// confirmInterval is the least time between two of these lists because the history is
	// unavailable, and contentsInterval because of other contents.
	confirmInterval  = 30 * time.Minute
	contentsInterval = 5 * time.Minute
)

// errUnconfirmed ends a watch so that a list can confirm the server's history. It is not a failure,
// and is not reported.
var errUnconfirmed = errors.New("the server's history is to be confirmed by a list")

// confirmation schedules a list that confirms the server's history, while watches go on. It is safe
// for concurrent use by the reflector and by the watchdog of a watch.
type confirmation struct {
	mu    sync.Mutex // guards the fields below
	due   time.Time  // zero if no list is scheduled
	cause evidence
	last  [historyUnavailable + 1]time.Time // when the last list of each cause began
}

// schedule schedules a list because of cause, unless an earlier one is scheduled.
func (c *confirmation) schedule(now time.Time, cause evidence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, interval := now.Add(confirmAfter+jitter(confirmSpread)), confirmInterval
	if cause == otherContents {
		due, interval = now.Add(jitter(contentsSpread)), contentsInterval
	}
	if earliest := c.last[cause].Add(interval); !c.last[cause].IsZero() && due.Before(earliest) {
		due = earliest.Add(due.Sub(now))
	}
	if c.due.IsZero() || due.Before(c.due) {
		c.due, c.cause = due, cause
	}
}

// wait returns the time until the scheduled list, or false if there is none.
func (c *confirmation) wait(now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.due.Sub(now), !c.due.IsZero()
}

// begin records that the scheduled list begins now, and returns its cause.
func (c *confirmation) begin(now time.Time) evidence {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[c.cause] = now
	return c.cause
}

// settle removes the scheduled list, because a list was committed, for whatever cause.
func (c *confirmation) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due = time.Time{}
}
