package eventlog

import "sync/atomic"

// Log is an append-only sequence of batches of events. The zero value is not
// usable; call New.
type Log[E any] struct {
	tail     atomic.Pointer[cell[E]] // the empty cell that the next Append fills
	appended atomic.Uint64           // events appended since New
	alarm    alarm
}

// cell holds one batch: many or, where that is nil, single. All but asleep is
// written once, before next is published.
type cell[E any] struct {
	next   atomic.Pointer[cell[E]]       // nil while this cell is the empty tail; itself once the log is closed here
	asleep atomic.Pointer[chan struct{}] // closed when next is there; made by the first reader that has to wait
	many   *[]E
	single [1]E   // a batch of one costs one allocation
	end    uint64 // how many events the log held up to and including this batch
}

// New returns an empty log.
func New[E any]() *Log[E] {
	l := &Log[E]{}
	l.tail.Store(&cell[E]{})
	l.alarm.init()
	return l
}

// Append adds events as one batch, which every cursor receives undivided. The
// log keeps the slice: the caller must not touch it afterwards. An empty batch
// is not appended. Appending to a closed log panics.
func (l *Log[E]) Append(events []E) {
	if len(events) > 0 {
		filled := l.empty()
		filled.many = &events
		l.publish(filled, len(events))
	}
}

// AppendOne is Append for a batch of a single event, without a slice to
// allocate.
func (l *Log[E]) AppendOne(event E) {
	filled := l.empty()
	filled.single[0] = event
	l.publish(filled, 1)
}

// Close ends the log: cursors that have read everything get ErrClosed. Closing
// twice is harmless.
func (l *Log[E]) Close() {
	last := l.tail.Load()
	if last.next.CompareAndSwap(nil, last) {
		last.wake()
	}
}

// Appended returns how many events have been appended since New.
func (l *Log[E]) Appended() uint64 { return l.appended.Load() }

// Cursor returns a reader of everything appended from now on. "Now" is only
// well defined for a caller that excludes Append meanwhile.
func (l *Log[E]) Cursor() *Cursor[E] {
	return &Cursor[E]{log: l, at: l.tail.Load(), read: l.appended.Load()}
}

// empty returns the cell to fill.
func (l *Log[E]) empty() *cell[E] {
	tail := l.tail.Load()
	if tail.next.Load() != nil {
		panic("eventlog: append to a closed log")
	}
	return tail
}

// publish shows a filled cell of n events to the readers, and wakes those who
// wait for it, in that order.
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
	if asleep := c.asleep.Load(); asleep != nil {
		close(*asleep)
	}
}

func (c *cell[E]) batch() []E {
	if c.many != nil {
		return *c.many
	}
	return c.single[:]
}
