package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// session is one watch request: the sink of its stream, and what became of it.
type session struct {
	r *Reflector

	// initial is the state that a WatchList builds up; nil once it is
	// committed, and in a plain watch.
	initial feed.Replacement

	ready atomic.Bool // no initial state, or no longer

	began     time.Time
	from      string // version at the beginning
	seen      string // version reached, which nobody else moves meanwhile
	moved     bool   // an event or bookmark moved the version
	bookmarks bookmarks
}

// watchOnce makes one watch request and returns how it ended. With initial, it
// asks for the initial state too.
func (r *Reflector) watchOnce(ctx context.Context, initial feed.Replacement) end {
	s := &session{r: r, initial: initial, began: r.clock.Now(), from: r.version()}
	s.seen = s.from
	s.ready.Store(initial == nil)
	timeout := minWatchTimeout + rand.N(minWatchTimeout)
	seconds := int64(timeout / time.Second)
	options := metav1.ListOptions{
		ResourceVersion:     s.from,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	}
	if initial != nil {
		if r.consistent {
			options.ResourceVersion = ""
		}
		options.SendInitialEvents = new(bool)
		*options.SendInitialEvents = true
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	r.status.watched()
	watched, stop := r.guardWatch(ctx, s, timeout+watchMargin)
	// Where the watchdog has ended it, that is why, whatever the source makes of it:
	// nothing tells a stream that was cancelled from one that the server closed.
	err := orCause(watched, r.config.Source.Watch(watched, options, s))
	stop()
	r.status.ended()
	r.resumes = true // also after a WatchList, whose state was committed in between
	if err != nil {
		err = &watchError{err}
	}
	return end{
		err:    err,
		listed: initial != nil && s.initial == nil,
		moved:  s.moved,
		lived:  r.clock.Since(s.began),
	}
}

// Opened is called when the server has accepted the watch.
func (s *session) Opened() {
	s.r.proofs.Add(1)
	if s.initial == nil {
		s.r.status.watching()
		s.r.backoff.well()
	}
}

// Event applies one event.
func (s *session) Event(eventType watch.EventType, item feed.Item) error {
	if s.initial != nil {
		s.addInitial(eventType, item)
		return nil
	}
	s.r.proofs.Add(1)
	order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, s.seen)
	if err != nil {
		return s.incomparable(eventType, item, s.seen)
	}
	if order <= 0 {
		return s.replayed(eventType, item, s.seen)
	}
	s.r.config.Sink.Apply(eventType, item)
	s.reached(item.ResourceVersion)
	return nil
}

// addInitial takes an event into the initial state. Only additions are progress
// towards its end: a server that does not know WatchList sends changes, and
// bookmarks, without ever getting there.
func (s *session) addInitial(eventType watch.EventType, item feed.Item) {
	if eventType == watch.Deleted {
		s.initial.Remove(item)
		return
	}
	if eventType == watch.Added {
		s.r.proofs.Add(1)
	}
	s.initial.Add(item)
}

// incomparable handles an event whose version, or the one reached, is not a
// number. An empty one is applied and moves nothing (client-go's fake
// clientsets); so is any where the collection itself has no such versions.
func (s *session) incomparable(eventType watch.EventType, item feed.Item, seen string) error {
	if item.ResourceVersion != "" && wellFormed(seen) {
		return fmt.Errorf("%w in the %s event of %q: %q", ErrNoVersion, eventType, item.Key, item.ResourceVersion)
	}
	s.r.config.Sink.Apply(eventType, item)
	if seen == "" {
		// The watch began without a version, so its first events come in no
		// order: none of them is one to resume from.
		s.reached("")
	} else {
		s.reached(item.ResourceVersion)
	}
	return nil
}

// replayed handles an event that is not newer than what was seen. What the sink
// has already is harmless. A deletion may carry the version of the object's last
// update (kubernetes/kubernetes#58545): the sink knows whether it holds a newer
// one. Anything else would take the collection back in time.
func (s *session) replayed(eventType watch.EventType, item feed.Item, seen string) error {
	if eventType == watch.Deleted {
		if s.r.config.Sink.Apply(eventType, item) != feed.Stale {
			s.reached("")
			return nil
		}
	} else if s.r.config.Sink.HasVersion(item) {
		return nil
	}
	return fmt.Errorf("%w: %s of %q at %s, after %s", ErrStale, eventType, item.Key, item.ResourceVersion, seen)
}

// Bookmark moves the version, or ends the initial state.
func (s *session) Bookmark(version string, initialEventsEnd bool) error {
	if s.initial != nil {
		if initialEventsEnd && wellFormed(version) {
			return s.commit(version)
		}
		return nil
	}
	s.r.proofs.Add(1)
	s.bookmarks.came(s.now())
	seen := s.seen
	switch version {
	case "":
		s.reached("")
		return nil
	case seen:
		s.r.status.proven(s.now())
		s.reached("")
		return nil
	}
	if order, err := resourceversion.CompareResourceVersion(version, seen); err == nil && order < 0 {
		return fmt.Errorf("%w: bookmark at %s, after %s", ErrVersionRegressed, version, seen)
	} else if err != nil && wellFormed(seen) {
		return fmt.Errorf("%w in a bookmark: %q", ErrNoVersion, version)
	}
	s.r.config.Sink.AdvanceVersion(version)
	s.reached(version)
	return nil
}

// commit makes the initial state the sink's. From here on this is a plain watch.
func (s *session) commit(version string) error {
	consistent := s.r.consistent || s.from == ""
	if err := s.r.commitList(s.initial, version, consistent); err != nil {
		return err
	}
	s.r.proofs.Add(1)
	s.initial, s.moved, s.seen = nil, true, version
	s.ready.Store(true)
	s.r.status.watching()
	return nil
}

// reached books a version that the sink has reached, or with an empty one that
// it is where it was.
func (s *session) reached(version string) {
	if version != "" {
		s.moved, s.seen = true, version
	}
	s.r.status.reached(version, s.now())
}

// now is the time, from the one clock that takes half as long to read as two do: each event asks for it.
func (s *session) now() time.Time { return s.began.Add(s.r.clock.Since(s.began)) }
