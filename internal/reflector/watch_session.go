// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
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

	// overlap compares the first events with those received before. It is nil in a watch that
	// starts at from, and once all changes have been repeated.
	overlap       *history.Overlap
	overlapping   atomic.Bool // overlap is not nil; for the watchdog
	repeatedFirst time.Time   // when the first change was repeated
	overlapEnded  time.Time   // when overlap became nil, if it was not before
	repeatedTo    string      // the version of the last repeated change; empty if there was no overlap
	records       bool        // events are recorded in the history
	result        overlapResult

	question  *history.Question // about the newest changes before the watch; nil if there is none
	doubted   bool              // the server is asked once the watch is open
	asking    atomic.Bool       // the server may be asked; for the watchdog
	proved    atomic.Bool       // the server has proved the last change, whether or not it repeats it
	scheduled atomic.Bool       // a list that confirms the history was scheduled for this watch

	watchList bool // the request is a WatchList
	started   time.Time
	clockRead time.Time   // when both clocks were read last: at the start, and for each bookmark
	from      string      // resourceVersion at the start
	reached   string      // resourceVersion reached; no other goroutine writes it during the request
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
	r.status.update(func(now *Status) { now.Watches++ })
	watched, stop := r.sessionWatchdog(ctx, s, timeout+watchTimeoutMargin)
	// The watchdog's error takes precedence: a source cannot distinguish a cancelled stream from
	// one that the server closed.
	err := s.watch(watched, options)
	stop()
	err = feed.Shorten(orCause(watched, err))
	r.watchAnswered()
	s.endProof()
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
		overlap:   s.result,
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
	if initial != nil {
		r.proof.beginList()
	} else {
		s.overlap = r.beginOverlap()
		s.doubted, r.proof.doubted = r.proof.doubted, false
	}
	s.result.began = s.overlap != nil
	if s.result.began || s.doubted {
		s.question = r.proof.history.Question()
		s.asking.Store(true)
	}
	s.overlapping.Store(s.result.began)
	s.initialDone.Store(initial == nil)
	return s
}

// endProof records, once the request has ended, what it has shown of the server's history.
func (s *watchSession) endProof() {
	p := &s.r.proof
	switch {
	case s.opened.Load() && !s.records:
		s.r.settle(s.r.version(), s.started)
	case s.doubted && s.asking.Load(): // it ended before the server was asked
		p.doubted = true
	case s.doubted:
		s.r.settle(s.from, s.started)
	}
	p.unproved.Store(!p.history.IsEmpty())
	if s.proved.Load() {
		s.result = overlapResult{} // the server need not repeat anything
	}
	if s.result.done = s.result.began && s.overlap == nil; s.result.done {
		s.result.rest = s.r.clock.Since(s.overlapEnded)
		if !s.repeatedFirst.IsZero() {
			s.result.took = s.overlapEnded.Sub(s.repeatedFirst)
		}
	}
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
	if s.overlap != nil {
		options.ResourceVersion = s.overlap.Start
	}
	if s.initial != nil {
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
	s.records = !s.r.config.Source.Traits().Fake
	s.opened.Store(true)
	if s.inOrder = s.r.isUnversioned(); s.inOrder {
		s.endOverlap()
	}
	if s.overlap == nil && !s.doubted {
		s.r.proof.unproved.Store(false)
	}
	s.r.activity.Add(1)
	s.r.watchAnswered()
	if s.initial == nil {
		if s.r.watches.open {
			s.r.status.update(func(now *Status) { now.Restarts++ })
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
	s.r.activity.Add(1)
	if s.inOrder {
		item.InOrder = true
		s.apply(eventType, item)
		s.applied(item.ResourceVersion)
		return nil
	}
	order, err := resourceversion.CompareResourceVersion(item.ResourceVersion, s.reached)
	if err != nil {
		return s.incomparable(eventType, item)
	}
	var stamp history.Stamp
	if s.records || s.overlap != nil {
		stamp = history.StampOf(item) // before a transform changes the object
	}
	switch {
	case s.isProved() && s.isRepeatedAfterAll(eventType, item):
		return nil
	case s.overlap != nil:
		return s.repeat(eventType, item, stamp)
	}
	if eventType == watch.Deleted && s.asking.Load() && s.question != nil {
		s.question.Deleted(item.Key)
	}
	if order <= 0 {
		return s.notNewer(eventType, item, stamp)
	}
	if s.apply(eventType, item) == feed.Outdated {
		return feed.ErrOutdated
	}
	s.record(eventType, item, stamp)
	s.applied(item.ResourceVersion)
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

// isProved reports whether the server has proved the last change. It need not repeat changes then.
func (s *watchSession) isProved() bool {
	if s.overlap != nil && s.proved.Load() {
		s.endOverlap()
	}
	return s.proved.Load()
}

// isRepeatedAfterAll reports whether an event of a proved watch is one that the server repeats all
// the same. A deletion may have the version of the object's last update, and be new.
func (s *watchSession) isRepeatedAfterAll(eventType watch.EventType, item feed.Item) bool {
	return s.result.began && !feed.IsOlder(s.from, item.ResourceVersion) &&
		(eventType != watch.Deleted || !s.r.config.Sink.HasVersion(item))
}

// record records an event in the history, before the resourceVersion advances to its own.
func (s *watchSession) record(eventType watch.EventType, item feed.Item, stamp history.Stamp) {
	if s.records {
		s.r.proof.history.Received(eventType, item, stamp, s.reached, s.r.clock.Now())
	}
}

// repeat compares an event with the next one of the overlap. It is not delivered, counted or
// applied: the sink has it.
func (s *watchSession) repeat(eventType watch.EventType, item feed.Item, stamp history.Stamp) error {
	o := s.overlap
	if s.repeatedFirst.IsZero() {
		s.repeatedFirst = s.r.clock.Now()
	}
	if found := o.Compare(eventType, item, stamp); found != history.None {
		return fmt.Errorf("%w: %w", ErrHistoryChanged, history.Errorf(found, "%s of %q at %s, after %s", eventType, item.Key, item.ResourceVersion, o.Start))
	}
	if !o.Done() {
		return nil
	}
	s.endOverlap()
	if stamp.IsOfWrite() {
		s.r.proof.falseAlarms = 0
	}
	if s.scheduled.Load() {
		s.r.proof.scheduled.settle()
	}
	if s.repeatedTo = o.Last; o.Last == s.from {
		s.r.status.confirm(s.now())
	}
	return nil
}

func (s *watchSession) endOverlap() {
	s.overlap, s.overlapEnded = nil, s.r.clock.Now()
	s.overlapping.Store(false)
	s.asking.Store(s.doubted)
	s.r.proof.unproved.Store(false)
}

// addInitial adds an event to the initial state. Only ADDED events count as activity: a server that
// does not support WatchList sends other events and bookmarks, but never ends the initial state.
func (s *watchSession) addInitial(eventType watch.EventType, item feed.Item) {
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
	s.r.activity.Add(1)
	s.r.lists.received.Add(1)
	s.initial.Add(item)
}

// incomparable handles an event if its resourceVersion or the one reached is not valid. An empty
// resourceVersion, as client-go's fake clientsets send, is applied and advances nothing. Any other
// invalid one is applied only if the collection's is not valid either.
func (s *watchSession) incomparable(eventType watch.EventType, item feed.Item) error {
	if item.ResourceVersion != "" && isValid(s.reached) {
		return fmt.Errorf("%w in the %s event of %q: %q", ErrNoVersion, eventType, item.Key, item.ResourceVersion)
	}
	s.endOverlap()
	s.records = false
	s.apply(eventType, item)
	if s.reached == "" && !s.watchList {
		// A watch without a resourceVersion starts with synthetic ADDED events in no particular
		// order, so no watch can be resumed from any of them.
		s.applied("")
	} else {
		s.applied(item.ResourceVersion)
	}
	return nil
}

// notNewer handles an event whose resourceVersion is not newer than the one reached. An event that
// the sink already holds has no effect. A DELETED event may have the resourceVersion of the
// object's last update (kubernetes/kubernetes#58545), and is applied unless the sink holds a newer
// object. Any other event is an error. One between the last change repeated and the version reached
// was not in the server's history before.
func (s *watchSession) notNewer(eventType watch.EventType, item feed.Item, stamp history.Stamp) error {
	if s.repeatedTo != "" && feed.IsOlder(s.repeatedTo, item.ResourceVersion) && !feed.IsOlder(s.from, item.ResourceVersion) {
		return fmt.Errorf("%w: %s of %q at %s, which a bookmark had passed", ErrHistoryChanged, eventType, item.Key, item.ResourceVersion)
	}
	if eventType == watch.Deleted {
		if s.apply(eventType, item) != feed.Stale {
			s.record(eventType, item, stamp)
			s.applied("")
			return nil
		}
	} else if s.r.config.Sink.HasVersion(item) {
		s.applyRepeated(eventType, item, stamp)
		return nil
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
// state. Servers of tests send the end of the initial state without a resourceVersion: it is then
// that of the first event that follows.
func (s *watchSession) Bookmark(version string, initialEventsEnd bool) error {
	if s.initial != nil {
		if initialEventsEnd && (version == "" || isValid(version)) {
			return s.commit(version)
		}
		return nil
	}
	s.r.activity.Add(1)
	s.clockRead = s.r.clock.Now() // wall time may have been set, or the machine suspended
	s.bookmarks.record(s.clockRead)
	if proved := s.isProved(); s.overlap != nil {
		return s.bookmarkInOverlap(version)
	} else if proved && s.result.began && feed.IsOlder(version, s.from) {
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
	if order, err := resourceversion.CompareResourceVersion(version, s.reached); err == nil && order < 0 && !s.inOrder {
		if s.repeatedTo != "" && !feed.IsOlder(version, s.repeatedTo) {
			return nil // the watch started before the version reached
		}
		return fmt.Errorf("%w at %s, after %s", errOlderBookmark, version, s.reached)
	} else if err != nil && isValid(s.reached) && !s.inOrder {
		return fmt.Errorf("%w in a bookmark: %q", ErrNoVersion, version)
	}
	s.r.config.Sink.AdvanceVersion(version)
	s.advance(version)
	return nil
}

// bookmarkInOverlap handles a bookmark before all changes were repeated.
func (s *watchSession) bookmarkInOverlap(version string) error {
	switch {
	case version == "":
		return nil
	case !isValid(version):
		return fmt.Errorf("%w in a bookmark: %q", ErrNoVersion, version)
	case feed.IsOlder(version, s.overlap.Start):
		return fmt.Errorf("%w at %s, after %s", errOlderBookmark, version, s.overlap.Start)
	case !s.overlap.AllowsBookmark(version):
		return fmt.Errorf("%w: bookmark at %s", ErrHistoryChanged, version)
	}
	return nil
}

// commit commits the initial state to the sink. From then on the request is a watch.
func (s *watchSession) commit(version string) error {
	s.r.listAnswered(s.started)
	consistentRead := s.r.state == stateConsistentRead || s.from == ""
	if err := s.r.commit(s.ctx, s.initial, version, consistentRead, s.now()); err != nil {
		return err
	}
	s.r.activity.Add(1)
	s.initial, s.advanced, s.reached = nil, true, version
	s.initialDone.Store(true)
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
