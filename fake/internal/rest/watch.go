// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/codec"
	"github.com/kinformer/kinformer/fake/internal/history"
)

const (
	// batchSize is the maximum number of events that are written and flushed together.
	batchSize = 100
	// minWatchTimeout is the minimum duration of a watch without timeoutSeconds. The maximum is
	// twice as long, as in the real server.
	minWatchTimeout = 30 * time.Minute
)

// watch serves a watch until its request ends. If it returns an error, nothing has been sent.
func (c *call) watch() error {
	opts, err := c.listOptions()
	if err != nil {
		return err
	}
	if opts.ResourceVersion != "" {
		if _, err := strconv.ParseUint(opts.ResourceVersion, 10, 64); err != nil {
			return err // 500, as from the real server
		}
	}
	if c.As == codec.MetadataList {
		return notAcceptable("you requested PartialObjectMetadataList, but the objects of a watch are not lists")
	}
	cursor, err := c.store.Watch(c.target.namespace, opts, c.fault.Replica())
	if err != nil && !history.IsStreamError(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), c.watchTimeout(opts))
	defer cancel()
	s := newStream(c)
	defer s.deadline(time.Time{}) // the connection may be reused for other requests
	c.w.Header().Set("Content-Type", c.StreamContentType)
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.WriteHeader(http.StatusOK)
	if flushErr := s.flush(); flushErr != nil {
		return nil // the client has disconnected
	}
	switch {
	case c.fault.CloseAfterEvents < 0:
	case c.fault.Stall:
		s.idle(ctx)
	case err != nil:
		s.finish(err)
	default:
		s.finish(s.run(ctx, cursor))
	}
	return nil
}

// watchTimeout returns the maximum duration of a watch. A stalled watch is limited only by the
// fault, and so is every watch of a handler with NoWatchTimeout.
func (c *call) watchTimeout(opts metav1.ListOptions) time.Duration {
	timeout := watchTimeout(opts)
	if c.fault.Stall || c.NoWatchTimeout {
		timeout = math.MaxInt64
	}
	if c.fault.CloseIn > 0 {
		timeout = min(timeout, c.fault.CloseIn)
	}
	return timeout
}

func watchTimeout(opts metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		return time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	return minWatchTimeout + rand.N(minWatchTimeout)
}

// stream writes the answer to a watch.
type stream struct {
	*call
	control *http.ResponseController
	variant string // identifies the encoding of events, shared by all watches with the same one
	sent    int    // number of events
}

func newStream(c *call) *stream {
	return &stream{
		call: c, control: http.NewResponseController(c.w),
		variant: c.ContentType + " " + c.As + " " + c.store.Kind.Version,
	}
}

// run sends the cursor's events until the watch ends. The returned error is nil if the watch ended
// normally.
func (s *stream) run(ctx context.Context, cursor *history.Watcher) error {
	bookmarks := time.NewTicker(s.BookmarkPeriod)
	defer bookmarks.Stop()
	ready := make(chan struct{})
	close(ready)
	for {
		withdrawn := s.withdrawn()
		events, changed, err := cursor.Next(batchSize)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			if err := s.send(events); err != nil {
				return err
			}
			changed = ready // go on at once, unless the watch has ended
		} else if withdrawn {
			return nil
		}
		select {
		case <-changed:
		case <-s.store.Withdrawn(): // after the last events
		case <-bookmarks.C:
			cursor.Bookmark()
		case <-ctx.Done():
			return nil
		case <-s.Closing:
			return nil
		}
	}
}

// withdrawn reports whether the resource is no longer served.
func (s *stream) withdrawn() bool {
	select {
	case <-s.store.Withdrawn():
		return true
	default:
		return false
	}
}

// idle sends nothing until the watch ends.
func (s *stream) idle(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.Closing:
	}
}

// send writes events and flushes them. Each event is encoded once for all streams of a variant.
func (s *stream) send(events []*history.Event) error {
	s.deadline(time.Now().Add(s.WriteTimeout))
	for _, event := range events {
		if err := s.sendOne(event); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s *stream) sendOne(event *history.Event) error {
	frame, err := event.Encoded(s.variant, s.encode)
	if err != nil {
		return err
	}
	if _, err := s.w.Write(frame); err != nil {
		return errClientGone
	}
	s.sent++
	if s.sent == s.fault.CloseAfterEvents {
		return errors.Join(s.flush(), errClientGone)
	}
	return nil
}

// deadline sets the deadline for writes. It ignores an error: a writer without deadlines does not
// block.
func (s *stream) deadline(t time.Time) {
	_ = s.control.SetWriteDeadline(t)
}

func (s *stream) encode(event *history.Event) ([]byte, error) {
	obj, err := s.represent(s.store.Present(event.Object))
	if err != nil {
		return nil, err
	}
	return s.EncodeEvent(event.Type, obj)
}

func (s *stream) flush() error {
	if err := s.control.Flush(); err != nil {
		return errClientGone
	}
	return nil
}

// errClientGone reports that the client has disconnected or reads too slowly.
var errClientGone = errors.New("client disconnected")

// finish sends the reason for the end of the watch as an ERROR event, if there is one to send.
func (s *stream) finish(err error) {
	if err == nil || errors.Is(err, errClientGone) || errors.Is(err, history.ErrEnded) {
		return
	}
	frame, encodeErr := s.EncodeEvent(watch.Error, runtime.Object(statusOf(err)))
	if encodeErr != nil {
		logFailure(s.r, encodeErr)
		return
	}
	if !history.IsStreamError(err) {
		logFailure(s.r, err)
	}
	s.deadline(time.Now().Add(s.WriteTimeout))
	if _, err := s.w.Write(frame); err == nil {
		_ = s.flush() // fails only if the client has disconnected
	}
}
