package eventlog

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrClosed is returned by Cursor.Next once the log is closed and read to its
// end.
var ErrClosed = errors.New("event log is closed")

// Cursor reads a log from the moment it was made. It is not safe for use by
// several goroutines at once, Lag excepted.
type Cursor[E any] struct {
	log  *Log[E]
	at   *cell[E]      // the first cell not read yet
	read atomic.Uint64 // events of the log before at
}

// Next returns the next batch, waiting for one if there is none. The error is
// the context's, or ErrClosed. The slice is shared by all cursors and must not
// be changed.
func (c *Cursor[E]) Next(ctx context.Context) ([]E, error) {
	for {
		if batch, ok := c.TryNext(); ok {
			return batch, nil
		}
		if c.at.next.Load() != nil && c.at.closed { // closed may be read once next is published
			return nil, ErrClosed
		}
		if err := c.at.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// TryNext returns the next batch if there is one already.
func (c *Cursor[E]) TryNext() ([]E, bool) {
	cell := c.at
	next := cell.next.Load()
	if next == nil || cell.closed {
		return nil, false
	}
	c.at = next
	c.read.Store(cell.end)
	return cell.batch, true
}

// Lag returns how many events have been appended that this cursor has not
// returned yet. It may be called from any goroutine.
func (c *Cursor[E]) Lag() uint64 {
	read := c.read.Load() // before appended, which never falls behind it
	return c.log.appended.Load() - read
}

// wait blocks until the cell is filled. The reader publishes its channel first
// and looks at next afterwards, the writer the other way round, so that one of
// the two sees the other.
func (c *cell[E]) wait(ctx context.Context) error {
	wake := c.asleep.Load()
	if wake == nil {
		made := make(chan struct{})
		if c.asleep.CompareAndSwap(nil, &made) {
			wake = &made
		} else {
			wake = c.asleep.Load()
		}
	}
	if c.next.Load() != nil {
		return nil
	}
	select {
	case <-*wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
