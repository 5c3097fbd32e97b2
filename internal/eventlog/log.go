// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package eventlog

import "sync/atomic"

// Log is an append-only sequence of batches of events. The zero value is not usable; call New.
type Log[E any] struct {
	tail     atomic.Pointer[cell[E]] // the empty cell that the next Append fills
	appended atomic.Uint64           // events appended since New
	alarm    alarm
}

// cell holds one batch: many or, if that is nil, single. All fields but waiting are written once,
// before next.
type cell[E any] struct {
	next    atomic.Pointer[cell[E]]       // nil in the tail
	waiting atomic.Pointer[chan struct{}] // closed when next is set; made by the first waiting reader
	many    *[]E
	single  [1]E   // avoids a second allocation for a batch of one
	end     uint64 // events of the log up to and including this batch
}

// New returns an empty log.
func New[E any]() *Log[E] {
	l := &Log[E]{}
	l.tail.Store(&cell[E]{})
	l.alarm.init()
	return l
}

// Append adds events as one batch, which each cursor returns undivided. It retains the slice; the
// caller must not modify it afterwards. An empty batch is not appended.
func (l *Log[E]) Append(events []E) {
	if len(events) > 0 {
		filled := l.tail.Load()
		filled.many = &events
		l.publish(filled, len(events))
	}
}

// AppendOne adds a batch of one event without allocating a slice.
func (l *Log[E]) AppendOne(event E) {
	filled := l.tail.Load()
	filled.single[0] = event
	l.publish(filled, 1)
}

// Appended returns how many events have been appended since New.
func (l *Log[E]) Appended() uint64 { return l.appended.Load() }

// Cursor returns a cursor at the end of the log. It must not be called concurrently with an append;
// the cursor may be used concurrently with appends.
func (l *Log[E]) Cursor() *Cursor[E] {
	return &Cursor[E]{at: l.tail.Load(), read: l.appended.Load()}
}

// publish makes a filled cell of n events visible to readers, and then wakes those that wait for
// it.
func (l *Log[E]) publish(filled *cell[E], n int) {
	filled.end = l.appended.Load() + uint64(n)
	next := &cell[E]{}
	l.appended.Store(filled.end)
	l.tail.Store(next)
	filled.next.Store(next)
	filled.wake()
	l.alarm.reached(filled.end)
}

func (c *cell[E]) wake() {
	if waiting := c.waiting.Load(); waiting != nil {
		close(*waiting)
	}
}

func (c *cell[E]) batch() []E {
	if c.many != nil {
		return *c.many
	}
	return c.single[:]
}
