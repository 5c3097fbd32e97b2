package eventlog

import "sync/atomic"

// Log is an append-only sequence of batches of events. The zero value is not
// usable; call New.
type Log[E any] struct {
	tail     atomic.Pointer[cell[E]] // the empty cell that the next Append fills
	appended atomic.Uint64           // events appended since New
}

// cell holds one batch. batch and end are written once, before next is
// published.
type cell[E any] struct {
	next   atomic.Pointer[cell[E]]       // nil while this cell is the empty tail
	asleep atomic.Pointer[chan struct{}] // closed when this cell is filled; made by the first reader that has to wait
	batch  []E
	single [1]E   // the storage of a batch of one: such a batch costs one allocation
	end    uint64 // how many events the log held up to and including this batch
	closed bool   // the last cell of a closed log
}

// New returns an empty log.
func New[E any]() *Log[E] {
	l := &Log[E]{}
	l.tail.Store(&cell[E]{})
	return l
}

// Append adds events as one batch, which every cursor receives undivided. The
// log keeps the slice: the caller must not touch it afterwards. An empty batch
// is not appended. Appending to a closed log panics.
func (l *Log[E]) Append(events []E) {
	if len(events) == 0 {
		return
	}
	l.fill(func(c *cell[E]) { c.batch = events })
}

// AppendOne is Append for a batch of a single event, without a slice to
// allocate.
func (l *Log[E]) AppendOne(event E) {
	l.fill(func(c *cell[E]) {
		c.single[0] = event
		c.batch = c.single[:]
	})
}

// Close ends the log: cursors that have read everything get ErrClosed. Closing
// twice is harmless.
func (l *Log[E]) Close() {
	if !l.tail.Load().closed {
		l.fill(func(c *cell[E]) { c.closed = true })
	}
}

// Appended returns how many events have been appended since New.
func (l *Log[E]) Appended() uint64 { return l.appended.Load() }

// Cursor returns a reader of everything appended from now on. "Now" is only
// well defined for a caller that excludes Append meanwhile.
func (l *Log[E]) Cursor() *Cursor[E] {
	c := &Cursor[E]{log: l, at: l.tail.Load()}
	c.read.Store(l.appended.Load())
	return c
}

// fill writes the tail cell, publishes it and wakes who waits for it, in that
// order.
func (l *Log[E]) fill(write func(*cell[E])) {
	filled := l.tail.Load()
	if filled.closed {
		panic("eventlog: append to a closed log")
	}
	write(filled)
	filled.end = l.appended.Load() + uint64(len(filled.batch))
	next := &cell[E]{closed: filled.closed}
	if next.closed { // a cursor made from now on is at the end at once
		next.next.Store(next)
	}
	l.appended.Store(filled.end)
	l.tail.Store(next)
	filled.next.Store(next)
	if asleep := filled.asleep.Load(); asleep != nil {
		close(*asleep)
	}
}
