// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

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
	err = s.decoded.objects.WithoutValues(err)
	s.record(ctx, response, err)
	if !response.Consumed { // otherwise it was counted when it began
		s.decoded.traffic.record(verbWatch, response, err)
	}
	if err == nil && !response.Consumed {
		return s.decoded.follow(ctx, options, stream, events)
	}
	var panicked error
	if err == nil {
		panicked = errors.Join(drain(ctx, stream), stopWatch(ctx, stream))
	}
	request.close()
	switch {
	case panicked != nil:
		return panicked
	case feed.IsPanic(request.err):
		return request.err
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.checkRetries(ctx, err, response)
		return withRetryAfter(err, response)
	}
	return request.err
}

// drain blocks until the client's stream is closed or ctx ends. The stream has no events: they are
// read from the body. drain returns nil or a *feed.PanicError.
func drain(ctx context.Context, stream watch.Interface) error {
	results, err := resultChan(stream)
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-results:
			if !ok {
				return nil
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
func (r *watchRequest) consume(format wire.Format, from io.ReadCloser, _ wire.Format) []byte {
	body := r.source.decoded.traffic.reader(from)
	r.source.mode.markStreaming(r.logger)
	r.source.decoded.traffic.record(verbWatch, tap.Response{StatusCode: http.StatusOK}, nil)
	_ = r.push(func() error {
		r.events.Opened()
		return nil
	})
	connection := &connection{Reader: body}
	err := r.split(connection, format)
	if r.push(func() error {
		if r.sinkErr == nil && connection.broke(err) {
			r.logger.V(4).Info("Watch connection broke", "err", err)
			err = nil
		}
		r.err = err
		return nil
	}) != nil {
		feed.LogPanic(r.logger, err)
	}
	return nil
}

// split passes on the events of the body. A panic, such as of the client's transport, is a
// *feed.PanicError.
func (r *watchRequest) split(body io.Reader, format wire.Format) (err error) {
	defer feed.RecoverPanic("reading the watch's response", &err)
	return wire.Watch(body, format, r.source.expected(), r.pushEvent)
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
			return r.events.Bookmark("", false) // it brings nothing
		}
		if err := checkVersion(version); err != nil {
			return fmt.Errorf("%w in a bookmark", err)
		}
		return r.events.Bookmark(version, end)
	default:
		item, err := feedItem(&event.Object, r.codecs)
		if errors.Is(err, wire.ErrWrongKind) && r.source.mode.byDefault && !r.source.decoded.objects.IsUnstructured() {
			r.source.mode.disable(r.logger, reasonKindName)
			return inEvent(event.Type, err)
		}
		if err != nil {
			return r.events.Unreadable(event.Type, unreadable(item, inEvent(event.Type, err)))
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
