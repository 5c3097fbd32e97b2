package eventlog

import (
	"context"
	"errors"
)

// ErrClosed is returned by Cursor.Next once the log is closed and read to its
// end.
var ErrClosed = errors.New("event log is closed")

// Cursor reads a log from the moment it was made. It belongs to one goroutine at
// a time: whoever hands it over says when.
type Cursor[E any] struct {
	log  *Log[E]
	at   *cell[E] // the first cell not read yet
	read uint64   // events of the log before at
}

// Next returns the next batch, waiting for one if there is none. The error is
// the context's, or ErrClosed. The slice is shared by all cursors and must not
// be changed.
func (c *Cursor[E]) Next(ctx context.Context) ([]E, error) {
	for {
		if batch, ok := c.TryNext(); ok {
			return batch, nil
		}
		if c.at.next.Load() == c.at {
			return nil, ErrClosed
		}
		select {
		case <-c.at.ready():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Ready returns a channel that is closed once there is something to read, or the
// log is closed. It is for those who wait for several things at once; they may wait
// for it after they have handed the cursor over.
func (c *Cursor[E]) Ready() <-chan struct{} { return c.at.ready() }

// TryNext returns the next batch if there is one already.
func (c *Cursor[E]) TryNext() ([]E, bool) {
	cell := c.at
	next := cell.next.Load()
	if next == nil || next == cell { // nothing yet, or never again
		return nil, false
	}
	c.at, c.read = next, cell.end
	return cell.batch(), true
}

// Position returns how many events of the log come before the next one to read.
func (c *Cursor[E]) Position() uint64 { return c.read }

// Lag returns how many events have been appended that this cursor has not
// returned yet.
func (c *Cursor[E]) Lag() uint64 { return c.log.appended.Load() - c.read }

// ready returns a channel that is closed once the cell is filled. The reader
// publishes the channel first and looks at next afterwards, the writer the other
// way round, so that one of the two sees the other.
func (c *cell[E]) ready() <-chan struct{} {
	if c.next.Load() != nil {
		return closedChannel
	}
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
		return closedChannel
	}
	return *wake
}

//nolint:gochecknoglobals // closed from the beginning, it never changes
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
