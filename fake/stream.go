// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/fault"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// streamBuffer is the number of events that a watch buffers for its reader. Up to that many, writes
// send their events to the channel themselves. Beyond it, a goroutine sends until the reader has
// caught up.
const streamBuffer = 100

// stream is one watch of a ListerWatcher. It reads events from the history through a cursor and
// sends them to a channel. It buffers no more than the channel does, so a reader that falls behind
// by more than the history holds receives a 410.
//
// After an action that may produce events for the stream, its caller calls pump. The lock is never
// held during a blocking send.
type stream struct {
	fault  fault.Fault
	remove func(*stream) // called once, when the stream is closed

	mu       sync.Mutex       // guards the fields below, up to releases
	cursor   *history.Watcher // nil after the last event is read from the history
	queue    []watch.Event    // read and not yet sent
	count    int              // events sent
	sending  bool             // a goroutine runs send
	closed   bool             // result is closed
	releases []func()         // called when the stream is closed

	result   chan watch.Event
	stopped  chan struct{} // closed by Stop, to end a blocking send
	stopOnce sync.Once
}

var _ watch.Interface = (*stream)(nil)

func newStream(cursor *history.Watcher, f fault.Fault, remove func(*stream)) *stream {
	s := &stream{
		fault:   f,
		remove:  remove,
		cursor:  cursor,
		result:  make(chan watch.Event, streamBuffer),
		stopped: make(chan struct{}),
	}
	if f.CloseAfterEvents < 0 {
		s.cursor = nil
	}
	return s
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event {
	return s.result
}

// Stop implements watch.Interface. Events that are in the channel can still be received.
func (s *stream) Stop() {
	s.stopOnce.Do(func() { close(s.stopped) })
	s.mu.Lock()
	s.cursor, s.queue = nil, nil
	s.mu.Unlock()
	s.flush()
}

// finish detaches the stream from the history. The stream closes after the queued events and, if
// err is not nil, an ERROR event.
func (s *stream) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishLocked(err)
}

func (s *stream) finishLocked(err error) {
	s.cursor = nil
	if err != nil {
		s.queue = append(s.queue, s.edit(ErrorEvent(err))...)
	}
}

// inject sends a copy of event after all events that the history holds for the stream.
func (s *stream) inject(event watch.Event) {
	s.mu.Lock()
	if s.cursor != nil && !s.fault.Stall {
		for s.read() {
		}
		if event.Object != nil {
			event.Object = event.Object.DeepCopyObject()
		}
		s.queue = append(s.queue, event)
	}
	s.mu.Unlock()
	s.pump()
}

// pump sends the events of the stream, unless the stream is stalled.
func (s *stream) pump() {
	if s.fault.Stall {
		return
	}
	s.flush()
}

// flush sends events until the channel is full, and closes the channel after the last one.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.sending && !s.closed {
		event, ok := s.next()
		if !ok {
			s.closeIfDone()
			return
		}
		select {
		case s.result <- event:
		default:
			s.sending = true
			go s.send(event)
		}
	}
}

// send sends events to a slow reader until it has caught up. It runs in the stream's only
// goroutine.
func (s *stream) send(event watch.Event) {
	for {
		select {
		case s.result <- event:
		case <-s.stopped:
		}
		s.mu.Lock()
		next, ok := s.next()
		if !ok {
			s.sending = false
			s.closeIfDone()
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		event = next
	}
}

// next returns the next event to send. The caller must hold mu.
func (s *stream) next() (watch.Event, bool) {
	for len(s.queue) == 0 {
		if !s.read() {
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

// read appends the next event of the history to the queue and reports whether there was one. The
// caller must hold mu.
func (s *stream) read() bool {
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
		s.queue = append(s.queue, s.edit(watch.Event{Type: event.Type, Object: event.Object.DeepCopyObject()})...)
	}
	return len(events) > 0
}

func (s *stream) edit(event watch.Event) []watch.Event {
	if s.fault.EditEvent == nil {
		return []watch.Event{event}
	}
	return s.fault.EditEvent(event)
}

// closeIfDone closes the channel if the stream has no more events. The caller must hold mu, and
// sending must be false.
func (s *stream) closeIfDone() {
	if s.cursor != nil || s.closed {
		return
	}
	s.closed = true
	close(s.result)
	for _, release := range s.releases {
		release()
	}
	s.remove(s)
}

// closeIn closes the stream after d.
func (s *stream) closeIn(d time.Duration) {
	timer := time.AfterFunc(d, func() {
		s.finish(nil)
		s.flush()
	})
	s.onClose(func() { timer.Stop() })
}

// stopWith stops the stream when ctx is done.
func (s *stream) stopWith(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.Stop)
	s.onClose(func() { stop() })
}

// bookmarkEvery sends a bookmark each period until the stream is closed.
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
	s.releases = append(s.releases, func() { timer.Stop() })
}

func (s *stream) bookmark() {
	s.mu.Lock()
	if s.cursor != nil {
		s.cursor.Bookmark()
	}
	s.mu.Unlock()
	s.pump()
}

// onClose calls release when the stream is closed, or now if it is closed already.
func (s *stream) onClose(release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		release()
		return
	}
	s.releases = append(s.releases, release)
}
