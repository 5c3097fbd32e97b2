package rest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

const (
	// batch is how many events are taken from the memory at a time; they are flushed together.
	batch = 100
	// minWatchTimeout is how long a watch without timeoutSeconds lasts at least, and half of what it lasts at most, as in the real server.
	minWatchTimeout = 30 * time.Minute
)

// watch serves one watch for as long as its request lives. An error it returns was met before the answer was begun.
func (c *call) watch(opts metav1.ListOptions) error {
	cursor, err := c.store.Watch(c.target.namespace, opts)
	if err != nil && !history.IsStreamError(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), watchTimeout(opts))
	defer cancel()
	s := &stream{call: c, control: http.NewResponseController(c.w)}
	defer s.deadline(time.Time{}) // the connection may serve other requests
	c.w.Header().Set("Content-Type", c.format.StreamContentType)
	c.w.Header().Set("Cache-Control", "no-cache, private")
	c.w.WriteHeader(http.StatusOK)
	if err != nil {
		s.end(err)
		return nil
	}
	if err := s.flush(); err == nil {
		s.end(s.run(ctx, cursor))
	}
	return nil
}

func watchTimeout(opts metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		return time.Duration(*opts.TimeoutSeconds) * time.Second
	}
	return minWatchTimeout + rand.N(minWatchTimeout)
}

// stream is the answer to a watch.
type stream struct {
	*call
	control *http.ResponseController
}

// run sends what the cursor finds until something ends the watch, and returns what that was; nil where the client need not be told.
func (s *stream) run(ctx context.Context, cursor *history.Watcher) error {
	bookmarks := time.NewTicker(s.BookmarkPeriod)
	defer bookmarks.Stop()
	atOnce := make(chan struct{})
	close(atOnce)
	for {
		events, changed, err := cursor.Next(batch)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			if err := s.send(events); err != nil {
				return err
			}
			changed = atOnce // unless the end has come
		}
		select {
		case <-changed:
		case <-bookmarks.C:
			if bookmark := cursor.Bookmark(); bookmark != nil {
				err = s.send([]*history.Event{bookmark})
			}
		case <-ctx.Done():
			return nil
		case <-s.Closing:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// send writes some events and flushes them. Each event is encoded once for all watchers of one content type.
func (s *stream) send(events []*history.Event) error {
	s.deadline(time.Now().Add(s.WriteTimeout))
	for _, event := range events {
		frame, err := event.Encoded(s.format.ContentType, s.encode)
		if err != nil {
			return err
		}
		if _, err := s.w.Write(frame); err != nil {
			return errGone
		}
	}
	return s.flush()
}

// deadline limits how long the next writes may take. A writer that cannot be limited is one that does not block.
func (s *stream) deadline(t time.Time) {
	_ = s.control.SetWriteDeadline(t)
}

func (s *stream) encode(event *history.Event) ([]byte, error) {
	return s.format.EncodeEvent(event.Type, event.Object)
}

func (s *stream) flush() error {
	if err := s.control.Flush(); err != nil {
		return errGone
	}
	return nil
}

// errGone means that nobody reads the stream any more, or not quickly enough.
var errGone = errors.New("the client is gone")

// end tells the client why the watch has ended, where it can be told.
func (s *stream) end(err error) {
	if err == nil || errors.Is(err, errGone) || errors.Is(err, history.ErrEnded) {
		return
	}
	frame, encodeErr := s.format.EncodeEvent(watch.Error, runtime.Object(statusOf(err)))
	if encodeErr != nil {
		logFailure(s.r, encodeErr)
		return
	}
	if !history.IsStreamError(err) {
		logFailure(s.r, err)
	}
	s.deadline(time.Now().Add(s.WriteTimeout))
	if _, err := s.w.Write(frame); err == nil {
		_ = s.flush() // the client is gone: there is nobody left to tell
	}
}
