package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/tap"
	"github.com/kinformer/kinformer/internal/wire"
)

// Watch makes one watch request.
func (s streamSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	if s.mode.isDisabled() {
		return s.decoded.Watch(ctx, options, events)
	}
	request := &watchRequest{source: s, codecs: s.decoders.ForWatch(), events: events, logger: klog.FromContext(ctx)}
	t := s.tap(request.consume)
	stream, err := s.decoded.open(tap.With(ctx, t), options)
	response := t.Finish()
	s.mode.record(ctx, response, err)
	if err == nil && !response.Consumed {
		return s.decoded.follow(ctx, stream, events)
	}
	if err == nil {
		drain(ctx, stream)
		stopWatch(stream)
	}
	request.close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return withRetryAfter(err, response)
	}
	return request.err
}

// drain blocks until the client's stream is closed or ctx ends. The stream has no events: they are
// read from the body.
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

// watchRequest is one watch request. The client's goroutine feeds it, and may continue after Watch
// has returned.
type watchRequest struct {
	gate
	source streamSource
	codecs *codec.Codecs
	events feed.WatchSink
	logger klog.Logger

	sinkErr error // returned by events
	err     error // with which the stream ended
}

// consume splits the body. The client gets an empty one.
func (r *watchRequest) consume(format wire.Format, body io.Reader) []byte {
	r.source.mode.markStreaming(r.logger)
	_ = r.push(func() error {
		r.events.Opened()
		return nil
	})
	connection := &connection{Reader: body}
	err := wire.Watch(connection, format, r.source.expected(), r.pushEvent)
	_ = r.push(func() error {
		if r.sinkErr == nil && connection.broke(err) {
			r.logger.V(4).Info("Watch connection broke", "err", err)
			err = nil
		}
		r.err = err
		return nil
	})
	return nil
}

func (r *watchRequest) pushEvent(event *wire.Event) error {
	return r.push(func() error {
		r.sinkErr = r.deliver(event)
		return r.sinkErr
	})
}

func (r *watchRequest) deliver(event *wire.Event) error {
	if err := event.Err(); err != nil {
		return err
	}
	switch event.Type {
	case watch.Bookmark:
		version, end, err := event.Bookmark()
		if err != nil {
			return err
		}
		return r.events.Bookmark(version, end)
	default:
		item, err := feedItem(&event.Object, r.codecs)
		if err != nil {
			return fmt.Errorf("%s event: %w", event.Type, err)
		}
		if err := checkVersion(item.ResourceVersion); err != nil {
			return fmt.Errorf("%s event of %q: %w", event.Type, item.Key, err)
		}
		return r.events.Event(event.Type, item)
	}
}

// connection is the body of a watch response that remembers its read error.
type connection struct {
	io.Reader
	err error
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		c.err = err
	}
	return n, err
}

// broke reports whether a stream ended with err because its connection did. Client timeouts and
// proxies that close idle connections end watches that way; half an event is discarded, and if the
// server is in trouble the next request shows it.
func (c *connection) broke(err error) bool {
	return c.err != nil && (errors.Is(err, c.err) || errors.Is(err, io.ErrUnexpectedEOF))
}
