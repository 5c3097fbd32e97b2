package fake

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// streamBuffer is how many events a watch runs ahead of its reader. It lets a write put its event into the channel by itself; beyond it a
// goroutine helps, for as long as the reader is behind.
const streamBuffer = 100

// stream is one watch of a ListerWatcher: a cursor into the history, pumped into a channel. Nothing is buffered beyond the channel, so a reader
// that is slower than the history is long gets a 410.
//
// Whoever may have something new for the stream calls pump. The lock is never held while the channel is waited for.
type stream struct {
	fault  Fault
	forget func(*stream)

	mu      sync.Mutex       // guards everything below
	cursor  *history.Watcher // nil once the stream takes nothing more from the history
	queue   []watch.Event    // taken and not yet sent
	count   int              // events sent
	helped  bool             // a goroutine is sending
	closed  bool             // result is closed
	release []func()         // stops timers and the like at the end

	result  chan watch.Event
	stopped chan struct{} // closed by Stop: who waits to send gives up
	stop    sync.Once
}

var _ watch.Interface = (*stream)(nil)

func newStream(cursor *history.Watcher, fault Fault, forget func(*stream)) *stream {
	s := &stream{
		fault:   fault,
		forget:  forget,
		cursor:  cursor,
		result:  make(chan watch.Event, streamBuffer),
		stopped: make(chan struct{}),
	}
	if fault.CloseAfterEvents < 0 {
		s.cursor = nil
	}
	return s
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event {
	return s.result
}

// Stop implements watch.Interface. Events already in the channel can still be received.
func (s *stream) Stop() {
	s.stop.Do(func() { close(s.stopped) })
	s.mu.Lock()
	s.cursor, s.queue = nil, nil
	s.mu.Unlock()
	s.settle()
}

// finish lets the stream take nothing more: it closes when what it has taken is sent, after an ERROR event if err is not nil.
func (s *stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishLocked(err)
}

func (s *stream) finishLocked(err error) {
	s.cursor = nil
	if err != nil {
		s.queue = append(s.queue, s.edited(ErrorEvent(err))...)
	}
}

// send puts an event of the test's own behind all that the history has for the stream.
func (s *stream) send(event watch.Event) {
	s.mu.Lock()
	if s.cursor != nil && !s.fault.Stall {
		for s.take() {
		}
		if event.Object != nil {
			event.Object = event.Object.DeepCopyObject()
		}
		s.queue = append(s.queue, event)
	}
	s.mu.Unlock()
	s.pump()
}

// pump sends what there is to send, and closes the channel if there will never be more.
func (s *stream) pump() {
	if s.fault.Stall {
		return
	}
	s.settle()
}

func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.helped && !s.closed {
		event, ok := s.next()
		if !ok {
			s.closeIfDone()
			return
		}
		select {
		case s.result <- event:
		default:
			s.helped = true
			go s.help(event)
		}
	}
}

// help sends to a slow reader until it has caught up. It is the stream's only goroutine, and only while it is needed.
func (s *stream) help(event watch.Event) {
	for {
		select {
		case s.result <- event:
		case <-s.stopped:
		}
		s.mu.Lock()
		next, ok := s.next()
		if !ok {
			s.helped = false
			s.closeIfDone()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		event = next
	}
}

// next returns the next event to send. The caller holds mu.
func (s *stream) next() (watch.Event, bool) {
	for len(s.queue) == 0 {
		if !s.take() {
			return watch.Event{}, false
		}
	}
	event := s.queue[0]
	s.queue = s.queue[1:]
	s.count++
	if s.count == s.fault.CloseAfterEvents {
		s.cursor, s.queue = nil, nil
	}
	return event, true
}

// take moves one event from the history to the queue, and tells whether there was one. The caller holds mu.
func (s *stream) take() bool {
	if s.cursor == nil {
		return false
	}
	events, _, err := s.cursor.Next(1)
	if err != nil {
		if !history.IsStreamError(err) {
			err = nil
		}
		s.finishLocked(err)
		return len(s.queue) > 0
	}
	for _, event := range events {
		s.queue = append(s.queue, s.edited(watch.Event{Type: event.Type, Object: event.Object.DeepCopyObject()})...)
	}
	return len(events) > 0
}

func (s *stream) edited(event watch.Event) []watch.Event {
	if s.fault.EditEvent == nil {
		return []watch.Event{event}
	}
	return s.fault.EditEvent(event)
}

// closeIfDone closes the channel once nothing can come any more. The caller holds mu, and nobody is sending.
func (s *stream) closeIfDone() {
	if s.cursor != nil || s.closed {
		return
	}
	s.closed = true
	close(s.result)
	for _, release := range s.release {
		release()
	}
	s.forget(s)
}

// endAfter closes the stream after a time.
func (s *stream) endAfter(d time.Duration) {
	timer := time.AfterFunc(d, func() {
		s.finish(nil)
		s.settle()
	})
	s.onEnd(func() { timer.Stop() })
}

// endWith stops the stream when a context ends.
func (s *stream) endWith(ctx context.Context) {
	detach := context.AfterFunc(ctx, s.Stop)
	s.onEnd(func() { detach() })
}

// bookmarkEvery sends a bookmark each period.
func (s *stream) bookmarkEvery(period time.Duration) {
	var timer *time.Timer
	s.mu.Lock()
	defer s.mu.Unlock()
	timer = time.AfterFunc(period, func() {
		s.bookmark()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			timer.Reset(period)
		}
	})
	s.release = append(s.release, func() { timer.Stop() })
}

func (s *stream) bookmark() {
	s.mu.Lock()
	if s.cursor != nil {
		if event := s.cursor.Bookmark(); event != nil {
			s.queue = append(s.queue, s.edited(watch.Event{Type: event.Type, Object: event.Object})...)
		}
	}
	s.mu.Unlock()
	s.pump()
}

// onEnd has something released when the stream ends, at once if it has ended.
func (s *stream) onEnd(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return
	}
	s.release = append(s.release, release)
}
