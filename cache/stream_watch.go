package cache

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// Watch makes one watch request.
func (s streamSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	if s.way.hasGivenUp() {
		return s.classic.Watch(ctx, options, events)
	}
	f := &following{source: s, codecs: s.codecs(true), events: events, logger: klog.FromContext(ctx)}
	t := s.tap(f.consume)
	stream, err := s.classic.open(tap.With(ctx, t), options)
	answer := t.Finish()
	s.way.took(ctx, answer, err)
	if err == nil && !answer.Consumed {
		return s.classic.follow(ctx, stream, events)
	}
	if err == nil {
		drain(ctx, stream)
		stopWatch(stream)
	}
	f.close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return withRetryAfter(err, answer)
	}
	return f.ended
}

// drain waits until a stream is closed or ctx ends. What comes of the stream is
// nothing: its events go another way.
func drain(ctx context.Context, stream watch.Interface) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-stream.ResultChan():
			if !ok {
				return
			}
		}
	}
}

// following is one watch request. The client's goroutine feeds it, and may go on
// after whoever watches has given up.
type following struct {
	gate
	source streamSource
	codecs *codecs
	events feed.WatchSink
	logger klog.Logger

	refused error // by pass
	ended   error // how the stream ended, once it has
}

// consume reads the body. The client is left with the end of it.
func (f *following) consume(format wire.Format, body io.Reader) []byte {
	f.source.way.cuts(f.logger)
	_ = f.push(func() error {
		f.events.Opened()
		return nil
	})
	connection := &connection{Reader: body}
	err := wire.Watch(connection, format, f.source.expected(), f.event)
	_ = f.push(func() error {
		if f.refused == nil && connection.broke(err) {
			f.logger.V(4).Info("The connection of a watch broke", "err", err)
			err = nil
		}
		f.ended = err
		return nil
	})
	return nil
}

func (f *following) event(event *wire.Event) error {
	return f.push(func() error {
		f.refused = f.pass(event)
		return f.refused
	})
}

// pass passes an event on.
func (f *following) pass(event *wire.Event) error {
	switch event.Type {
	case watch.Error:
		return event.Err()
	case watch.Bookmark:
		version, end, err := event.Bookmark()
		if err != nil {
			return err
		}
		return f.events.Bookmark(version, end)
	default:
		item, err := feedItem(&event.Object, f.codecs)
		if err != nil {
			return fmt.Errorf("%s event: %w", event.Type, err)
		}
		return f.events.Event(event.Type, item)
	}
}

// connection is the body of a watch that remembers how it ended.
type connection struct {
	io.Reader
	end error
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		c.end = err
	}
	return n, err
}

// broke tells whether a stream ended with err because its connection did. Clients'
// timeouts do that, and proxies that find a watch idle: it is how watches end, half
// an event is none, and if the server is in trouble the next request will tell.
func (c *connection) broke(err error) bool {
	return c.end != nil && (errors.Is(err, c.end) || errors.Is(err, io.ErrUnexpectedEOF))
}
