// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// watchSession is one watch request. It implements feed.WatchSink.
type watchSession struct {
	r   *Reflector
	ctx context.Context // of ListAndWatch

	// initial collects the initial state of a WatchList. It is nil once that is committed, and in a
	// watch.
	initial     feed.Replacement
	initialDone atomic.Bool // initial is nil; for the watchdog
	hasInitial  bool        // an object of the initial state could be read

	unreadInitial error // of the first event of the initial state that could not be read
	missedInitial bool  // one of them may be a deletion

	proof sessionProof

	watchList bool // the request is a WatchList
	started   time.Time
	clockRead time.Time   // when both clocks were read last: at the start, and for each bookmark
	from      string      // resourceVersion at the start
	reached   string      // resourceVersion reached; no other goroutine writes it during the request
	lastKey   string      // of the last event that was applied; one version has one change of it
	opened    atomic.Bool // the server accepted the watch; also for the watchdog
	inOrder   bool        // the source does not count versions
	advanced  bool        // an event or bookmark advanced the resourceVersion
	bookmarks bookmarks
	edited    []byte // the bytes of the last event whose codec edits them
}

// watchOnce makes one watch request and returns its result. If initial is not nil the request is a
// WatchList, which commits initial.
func (r *Reflector) watchOnce(ctx context.Context, initial feed.Replacement) watchResult {
	await := r.awaitBudget
	if initial != nil {
		await = r.awaitListBudget
	}
	if err := await(ctx); err != nil {
		return watchResult{err: err}
	}
	s := r.newSession(ctx, initial)
	shortest := r.config.MinWatchTimeout
	timeout := (shortest + jitter(shortest)).Truncate(time.Second) // timeoutSeconds is whole
	options := s.options(timeout)
	r.status.update(func(now *Status) { now.Requests.Watches++ })
	watched, stop := r.sessionWatchdog(ctx, s, timeout+watchTimeoutMargin)
	// The watchdog's error takes precedence: a source cannot distinguish a cancelled stream from
	// one that the server closed.
	err := s.watch(watched, options)
	stop()
	err = feed.Shorten(orCause(watched, err))
	r.watchAnswered()
	s.proof.end(s.opened.Load())
	r.answered(err)
	r.status.watchEnded()
	feed.RaisePanic(ctx, err)
	switch {
	case err == nil:
	case s.opened.Load():
		err = &AttemptError{Op: OpWatch, Err: err}
	default:
		err = &AttemptError{Op: OpWatchOpen, Err: err}
	}
	return watchResult{
		err:       err,
		opened:    s.opened.Load(),
		overlap:   s.proof.result,
		committed: s.watchList && s.initial == nil,
		advanced:  s.advanced,
		duration:  r.clock.Since(s.started),
		timeout:   timeout,
	}
}

// newSession returns a session of the next watch.
func (r *Reflector) newSession(ctx context.Context, initial feed.Replacement) *watchSession {
	now := r.clock.Now()
	s := &watchSession{r: r, ctx: ctx, initial: initial, watchList: initial != nil, started: now, clockRead: now, from: r.version()}
	s.reached = s.from
	s.proof.begin(r, s.from, now, s.watchList)
	s.initialDone.Store(initial == nil)
	return s
}

// watch makes the request. A panic, such as of a store of the program, is a *feed.PanicError.
func (s *watchSession) watch(ctx context.Context, options metav1.ListOptions) (err error) {
	defer feed.RecoverPanic("the watch", &err)
	return s.r.config.Source.Watch(ctx, options, s)
}

// options returns the options of the request. A WatchList during a consistent read has no
// resourceVersion: the initial state is then the most recent one (API concepts, "Streaming lists").
func (s *watchSession) options(timeout time.Duration) metav1.ListOptions {
	seconds := int64(timeout / time.Second)
	options := metav1.ListOptions{ResourceVersion: s.from, AllowWatchBookmarks: true, TimeoutSeconds: &seconds}
	if s.proof.overlap != nil {
		options.ResourceVersion = s.proof.overlap.Start
	}
	if s.initial != nil {
		if bound := s.r.config.NotOlderThan(); s.from != "" && feed.IsOlder(s.from, bound) {
			options.ResourceVersion = bound
		}
		if s.r.state == stateConsistentRead {
			options.ResourceVersion = ""
		}
		options.SendInitialEvents = new(true)
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

// Opened implements feed.WatchSink.
func (s *watchSession) Opened() {
	s.opened.Store(true)
	s.inOrder = s.r.isUnversioned()
	s.proof.opened(s.inOrder)
	s.r.active()
	s.r.watchAnswered()
	if s.initial == nil {
		if s.r.watches.open {
			s.r.status.update(func(now *Status) { now.Requests.WatchRestarts++ })
		}
		row := s.r.status.watching()
		s.r.pacing.backoff.markHealthy()
		s.r.recovered(s.ctx, row)
	}
}

// Event implements feed.WatchSink. It applies the event to the sink, or adds it to the initial
// state.
func (s *watchSession) Event(eventType watch.EventType, item feed.Item) error {
	if s.initial != nil {
		s.addInitial(eventType, item)
		return nil
	}
	s.r.active()
	if s.inOrder {
		item.InOrder = true
		s.apply(eventType, item)
		s.applied(item.ResourceVersion)
		return nil
	}
	if s.r.lists.unordered {
		return s.applyUnordered(eventType, item)
	}
	order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, s.reached)
	if err != nil {
		return s.incomparable(eventType, item)
	}
	var stamp history.Stamp
	if s.proof.records || s.proof.overlap != nil {
		stamp = history.StampOf(item) // before a transform changes the object
	}
	switch {
	case s.proof.isProved() && s.proof.isRepeated(eventType, item):
		return nil
	case s.proof.overlap != nil:
		return s.proof.repeat(eventType, item, stamp)
	case eventType == watch.Deleted:
		s.proof.deleted(item.Key)
	}
	if order <= 0 {
		return s.notNewer(eventType, item, stamp)
	}
	if s.apply(eventType, item) == feed.Outdated {
		return feed.ErrOutdated
	}
	s.recordApplied(eventType, item, stamp, item.ResourceVersion)
	return nil
}

// recordApplied records an event that was applied, and the version that it reaches, if any.
func (s *watchSession) recordApplied(eventType watch.EventType, item feed.Item, stamp history.Stamp, reached string) {
	s.proof.record(eventType, item, stamp, s.reached)
	s.lastKey = item.Key
	s.applied(reached)
}

// Unreadable implements feed.WatchSink. The sink keeps what it has, at its version. As the event
// may be a deletion, a list follows the watch.
func (s *watchSession) Unreadable(eventType watch.EventType, item feed.Item) error {
	_, err := item.Decoded()
	if s.initial != nil {
		s.unreadInitial = cmp.Or(s.unreadInitial, err)
		s.missedInitial = s.missedInitial || eventType != watch.Added
		s.initial.Update(item)
		return nil
	}
	s.r.active()
	if s.proof.isProved(); s.proof.overlap != nil {
		version := item.ResourceVersion
		if !isValid(version) { // it may be none of the changes that were received
			version = ""
			s.r.watches.unread.Store(true)
		}
		return s.proof.repeatUnreadable(version)
	}
	s.r.config.Sink.CountUnreadable(err)
	s.r.watches.unread.Store(true)
	s.applied("")
	return nil
}

// apply applies an event to the sink.
func (s *watchSession) apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	return s.r.config.Sink.Apply(eventType, s.edit(item))
}

// edit returns an item whose bytes are edited, if its codec edits them. They are valid until the
// next call.
func (s *watchSession) edit(item feed.Item) feed.Item {
	if cap(s.edited) > maxReuseBytes {
		s.edited = nil
	}
	item, s.edited = item.Edited(s.edited)
	return item
}

// addInitial adds an event to the initial state. Only ADDED events count as activity: a server that
// does not support WatchList sends other events and bookmarks, but never ends the initial state.
func (s *watchSession) addInitial(eventType watch.EventType, item feed.Item) {
	s.hasInitial = true
	if s.inOrder {
		item.ResourceVersion = "" // which is never compared
	}
	if eventType == watch.Deleted {
		item.Received = nil
		s.initial.Remove(item)
		return
	}
	s.r.proof.listed.Add(item)
	item.Received = nil // which would live as long as the initial state is incomplete
	need, known := s.initial.Needs(item)
	if item.Known = known; need != feed.NeedsIdentity {
		item = s.edit(item)
	}
	if eventType == watch.Modified {
		s.initial.Update(item)
		return
	}
	s.r.active()
	s.r.lists.received.Add(1)
	s.initial.Add(item)
}

// incomparable handles an event without a resourceVersion that can be compared, in a collection
// that has one. An empty one, as client-go's fake clientsets send, is applied and advances nothing.
func (s *watchSession) incomparable(eventType watch.EventType, item feed.Item) error {
	if item.ResourceVersion != "" || !item.IsDecoded() {
		return fmt.Errorf("%w in the %s event of %q: %q", ErrNoVersion, eventType, item.Key, item.ResourceVersion)
	}
	s.proof.stop()
	s.apply(eventType, item)
	s.applied("")
	return nil
}

// applyUnordered handles an event of an unordered collection. A version that can be compared is
// that of the object alone; any other one may be the collection's, and is reached. A watch without
// a resourceVersion starts with synthetic ADDED events in no particular order, so no watch can be
// resumed from any of them.
func (s *watchSession) applyUnordered(eventType watch.EventType, item feed.Item) error {
	s.proof.stop()
	version := item.ResourceVersion
	if isValid(version) || version == "0" || s.reached == "" {
		version = ""
	}
	item.Unordered = true
	if s.apply(eventType, item) == feed.Outdated {
		return feed.ErrOutdated
	}
	if version != "" {
		s.r.config.Sink.AdvanceVersion(version)
	}
	s.applied(version)
	return nil
}

// notNewer handles an event whose resourceVersion is not newer than the one reached. An event that
// the sink already holds has no effect. A DELETED event may have the resourceVersion of the
// object's last update (kubernetes/kubernetes#58545), and is applied unless the sink holds a newer
// object. An event of another object at exactly the version reached is applied if it is news: one
// version may have several changes. Any other event is an error.
func (s *watchSession) notNewer(eventType watch.EventType, item feed.Item, stamp history.Stamp) error {
	if s.proof.lacked(item.ResourceVersion) {
		return fmt.Errorf("%w: %s of %q at %s, which a bookmark had passed", ErrHistoryChanged, eventType, item.Key, item.ResourceVersion)
	}
	if eventType == watch.Deleted {
		if s.apply(eventType, item) != feed.Stale {
			s.recordApplied(eventType, item, stamp, "")
			return nil
		}
	} else if s.r.config.Sink.HasVersion(item) {
		s.applyRepeated(eventType, item, stamp)
		return nil
	} else if item.ResourceVersion == s.reached && item.Key != s.lastKey {
		if outcome := s.apply(eventType, item); outcome == feed.Applied || outcome == feed.Quarantined {
			s.recordApplied(eventType, item, stamp, "") // one version has several changes
			return nil
		}
	}
	return fmt.Errorf("%w: %s of %q at %s, after %s", ErrStale, eventType, item.Key, item.ResourceVersion, s.reached)
}

// applyRepeated handles an event whose version the sink has. The sink compares contents that the
// client has decoded, unless the write is known to be the same: a source that does not count
// versions may use one twice, or a server that was restored from a backup.
func (s *watchSession) applyRepeated(eventType watch.EventType, item feed.Item, stamp history.Stamp) {
	item.Repeated = item.IsDecoded() && !s.r.proof.history.Has(item, stamp)
	if !item.Repeated || s.apply(eventType, item) != feed.Applied {
		return
	}
	s.applied("")
	s.r.watches.versionReused.Do(func() {
		klog.FromContext(s.ctx).Info("Warning: the source has used a resourceVersion twice: it does not count versions, or is a server that was restored from a backup",
			"key", item.Key, "resourceVersion", item.ResourceVersion)
	})
}

// Bookmark implements feed.WatchSink. It advances the resourceVersion, or commits the initial
// state. Servers of tests send the end of the initial state without a resourceVersion.
func (s *watchSession) Bookmark(version string, initialEventsEnd bool) error {
	if s.initial != nil {
		if initialEventsEnd {
			return s.commit(version)
		}
		return nil
	}
	s.r.active()
	s.clockRead = s.r.clock.Now() // wall time may have been set, or the machine suspended
	s.bookmarks.record(s.clockRead)
	if proved := s.proof.isProved(); s.proof.overlap != nil {
		return s.proof.bookmark(version)
	} else if proved && s.proof.result.began && feed.IsOlder(version, s.from) {
		return nil
	}
	switch version {
	case "":
		s.advance("")
		return nil
	case s.reached:
		s.r.config.Sink.AdvanceVersion(version) // which shows a sink that the watch works
		s.r.status.confirm(s.now())
		s.advance("")
		return nil
	}
	if order, err := resourceversion.CompareResourceVersion(version, s.reached); err == nil && order < 0 && !s.inOrder && !s.r.lists.unordered {
		if s.proof.repeatedTo != "" && !feed.IsOlder(version, s.proof.repeatedTo) {
			return nil // the watch started before the version reached
		}
		return fmt.Errorf("%w at %s, after %s", errOlderBookmark, version, s.reached)
	} else if err != nil && !s.r.lists.unordered && !s.inOrder {
		return fmt.Errorf("%w in a bookmark: %q", ErrNoVersion, version)
	}
	s.r.config.Sink.AdvanceVersion(version)
	s.advance(version)
	return nil
}

// commit commits the initial state to the sink, unless it has only objects that cannot be read,
// such as those of another type: a list decides then. From then on the request is a watch.
func (s *watchSession) commit(version string) error {
	if s.unreadInitial != nil && !s.hasInitial {
		return fmt.Errorf("no object of the initial state can be read: %w", s.unreadInitial)
	}
	s.r.listAnswered(s.started)
	consistentRead := s.r.state == stateConsistentRead || s.from == ""
	if err := s.r.commit(s.ctx, s.initial, version, consistentRead, s.now()); err != nil {
		return err
	}
	s.r.active()
	s.initial, s.advanced, s.reached = nil, true, version
	s.initialDone.Store(true)
	s.r.watches.unread.Store(s.missedInitial)
	s.r.status.watching()
	return nil
}

// advance records that the sink is current at version, or, if version is empty, at the
// resourceVersion already reached.
func (s *watchSession) advance(version string) {
	s.reach(version)
	s.r.status.advance(version, s.now())
}

// applied is advance for an event.
func (s *watchSession) applied(version string) {
	s.reach(version)
	s.r.status.applied(version, s.now())
}

func (s *watchSession) reach(version string) {
	if version != "" {
		s.advanced, s.reached = true, version
	}
}

// now returns the time. It is called for each event, and reads only the monotonic clock, which
// takes half as long as Now.
func (s *watchSession) now() time.Time { return s.clockRead.Add(s.r.clock.Since(s.clockRead)) }
