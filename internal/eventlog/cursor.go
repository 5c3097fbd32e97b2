// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package eventlog

// Cursor reads a log from the time of its creation on. It must have only one user at a time.
type Cursor[E any] struct {
	at   *cell[E] // the first cell not read yet
	read uint64   // events of the log before at
}

// Ready returns a channel that is closed once TryNext returns a batch. The channel stays valid
// while another goroutine uses the cursor.
func (c *Cursor[E]) Ready() <-chan struct{} { return c.at.ready() }

// TryNext returns the next batch and reports whether there is one. All cursors share the slice; the
// caller must not modify it.
func (c *Cursor[E]) TryNext() ([]E, bool) {
	cell := c.at
	next := cell.next.Load()
	if next == nil {
		return nil, false
	}
	c.at, c.read = next, cell.end
	return cell.batch(), true
}

// Position returns how many events of the log precede the next one to read.
func (c *Cursor[E]) Position() uint64 { return c.read }

// ready returns a channel that is closed once the cell is filled. The reader stores the channel and
// then loads next; the writer does so in reverse order. Therefore at least one sees the other.
func (c *cell[E]) ready() <-chan struct{} {
	if c.next.Load() != nil {
		return closedChannel
	}
	waiting := c.waiting.Load()
	if waiting == nil {
		made := make(chan struct{})
		if c.waiting.CompareAndSwap(nil, &made) {
			waiting = &made
		} else {
			waiting = c.waiting.Load()
		}
	}
	if c.next.Load() != nil {
		return closedChannel
	}
	return *waiting
}

//nolint:gochecknoglobals // constant
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
