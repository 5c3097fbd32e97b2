package informer

import (
	"sync/atomic"
	"time"
)

// lag says how far a handler is behind: in events exactly, to a hand's worth, and in
// time from above. Its goroutine writes, anybody reads.
type lag struct {
	reached atomic.Uint64 // so many events of the log are delivered, all of them
	since   atomic.Int64  // everything appended before this time (Unix ns) is delivered; zero: simply everything

	// A mark is a time, and how much the log held then. The goroutine's own.
	mark   uint64
	marked int64
}

// markEvery is how many events a handler takes before it looks at the clock again.
const markEvery = 64

// behind notes that there are events to deliver, of which appended are in the log now.
// Once all is delivered that was in the log at the mark, what is not is younger.
func (l *lag) behind(appended uint64, now func() time.Time) {
	reached := l.reached.Load()
	if l.since.Load() != 0 && reached < l.mark {
		return
	}
	at := now().UnixNano()
	if l.since.Load() == 0 {
		l.since.Store(at)
	} else {
		l.since.Store(l.marked)
	}
	l.mark, l.marked = max(appended, reached+markEvery), at
}

// level notes that everything is delivered.
func (l *lag) level() {
	if l.since.Load() != 0 {
		l.since.Store(0)
	}
}

// age returns for how long, at most, the oldest event has waited that is not delivered.
func (l *lag) age(now time.Time) time.Duration {
	since := l.since.Load()
	if since == 0 {
		return 0
	}
	return max(0, time.Duration(now.UnixNano()-since))
}
