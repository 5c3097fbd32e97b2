// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync/atomic"
	"time"
)

// lag measures how far a handler is behind the log, in events and in time. Both are upper bounds:
// the events of the current batch count, and so do those already delivered as part of a coalesced
// change. The handler's goroutine writes it; any goroutine may read it.
type lag struct {
	delivered atomic.Uint64 // log position up to which everything is delivered
	since     atomic.Int64  // everything appended before this time (Unix ns) is delivered; zero: nothing is undelivered

	// A mark is a time and the length of the log at that time. It belongs to the handler's
	// goroutine.
	markPosition uint64
	markTime     int64
}

// markInterval is the number of events a handler reads before it reads the clock again.
const markInterval = 64

// markBehind records that there are undelivered events, and that the log holds appended events
// now. Once the handler has passed the mark, the remaining events are younger than the mark.
func (l *lag) markBehind(appended uint64, now func() time.Time) {
	delivered := l.delivered.Load()
	if l.since.Load() != 0 && delivered < l.markPosition {
		return
	}
	at := now().UnixNano()
	if l.since.Load() == 0 {
		l.since.Store(at)
	} else {
		l.since.Store(l.markTime)
	}
	l.markPosition, l.markTime = max(appended, delivered+markInterval), at
}

func (l *lag) markCaughtUp() {
	if l.since.Load() != 0 {
		l.since.Store(0)
	}
}

// age returns an upper bound of how long the oldest undelivered event has waited.
func (l *lag) age(now time.Time) time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, time.Duration(now.UnixNano()-since))
}
