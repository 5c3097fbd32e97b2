// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/kinformer/internal/feed"
)

const (
	// shortWatch is the least duration of a watch without events that counts as served.
	shortWatch = time.Second
	// maxShortWatches is the number of watches shorter than that, in a row and at one
	// resourceVersion, after which the collection is listed again.
	maxShortWatches = 3
	// maxFailures is the number of failed watches at one resourceVersion after which the collection
	// is listed again, where the server could not serve the watch.
	maxFailures = 5
	// maxInvalidStreams is the same number for watches whose stream was invalid.
	maxInvalidStreams = 2
	// maxEarlyEnds is the number of watches in a row that ended before their timeout, at one
	// resourceVersion, after which the server is probed before the next watch.
	maxEarlyEnds = 3
	// maxResumeDelay is the longest delay before a watch is resumed. It is random, so that the
	// watches that end together when a server restarts are not resumed together.
	maxResumeDelay = 100 * time.Millisecond
	// bookmarkRelistInterval is the least time between two lists caused by bookmarks that are older
	// than the version reached.
	bookmarkRelistInterval = 10 * time.Minute
)

// watchResult is how a watch request ended.
type watchResult struct {
	err       error // an *AttemptError; nil if the server closed the watch
	opened    bool  // the server accepted the watch
	overlap   overlapResult
	committed bool // the initial state of a WatchList was committed
	advanced  bool // an event or bookmark advanced the resourceVersion
	duration  time.Duration
	timeout   time.Duration // that the server was asked for
}

// endedEarly reports whether the watch was open and ended before its timeout.
func (w watchResult) endedEarly() bool { return w.opened && w.duration < w.timeout }

// wasShort reports whether the watch brought nothing, and was too short to count as served.
func (w watchResult) wasShort() bool { return !w.advanced && w.duration < shortWatch }

// refusedStart reports whether the server has refused, by another error than 410, a watch that
// starts before the last changes.
func (w watchResult) refusedStart() bool {
	return w.overlap.failed() && !w.opened && !isGone(w.err) && !errors.Is(w.err, errUnconfirmed)
}

// resumesSoon reports whether the watch that failed is resumed without a backoff: it was open, and
// either this is the first failure at its resourceVersion, or only the connection broke of a watch
// that was served, as when a server restarts.
func (w watchResult) resumesSoon(failures int) bool {
	if !w.opened || asksToWait(w.err) || isAuthError(w.err) {
		return false
	}
	return failures == 1 || isUnreachable(w.err) && !w.wasShort()
}

// retryCount counts the watches that ended since the resourceVersion last advanced.
type retryCount struct {
	early    int // ended before their timeout, in a row
	short    int // closed by the server within shortWatch, in a row
	failures int // ended with an error
}

// watchState is what a reflector knows of its watches.
type watchState struct {
	open           bool      // one has been open since the last list
	bookmarkRelist time.Time // when an older bookmark caused a list
	quarantine     quarantineRetries
	unread         atomic.Bool // an event since the last list could not be read; atomic for HistoryInDoubt
	versionReused  sync.Once   // logs it
}

// errNoResume is the reason to list a collection without a resourceVersion again.
var errNoResume = fmt.Errorf("watch closed and cannot be resumed: %w", ErrNoVersion)

// errUnread is the reason to list a collection again after an event that may be a deletion.
var errUnread = fmt.Errorf("%w: a watch event could not be read; listing again", ErrQuarantined)

// errOlderBookmark reports a bookmark that is older than the resourceVersion reached.
var errOlderBookmark = fmt.Errorf("%w: bookmark", ErrVersionRegressed)

// watch applies the events of one watch after another until the collection must be listed again, or
// ctx ends. It returns the reason. first, if not nil, is the result of a WatchList, which comes
// before the first watch.
func (r *Reflector) watch(ctx context.Context, first *watchResult) error {
	var count retryCount
	r.watches.open = false
	for last := first; ; last = nil {
		if last == nil {
			learnsServed := r.served.ignored && r.config.Served() != nil
			if learnsServed || r.config.Sink.NeedsList() { // another reflector has cleared the store
				return errLearnedServed
			}
			result := r.watchOnce(ctx, nil)
			last = &result
		}
		r.watches.open = r.watches.open || last.opened
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last.advanced {
			count = retryCount{}
		}
		if err := r.afterWatch(ctx, *last, &count); err != nil {
			return err
		}
	}
}

// afterWatch decides what comes after a watch; see the tables in the package documentation. It sets
// r.state, and waits until the next watch may start. It returns an error if the collection must be
// listed again, or ctx has ended.
func (r *Reflector) afterWatch(ctx context.Context, last watchResult, count *retryCount) error {
	if last.opened && !last.wasShort() {
		r.pacing.backoff.endOutage()
	}
	if r.afterOverlap(ctx, last) {
		r.state = stateResuming
		return ctx.Err()
	}
	if last.endedEarly() {
		count.early++
	} else {
		count.early = 0
	}
	if last.err == nil {
		return r.afterClose(ctx, last, count)
	}
	count.failures++
	if r.state = r.stateAfter(last.err, count.failures); r.state == stateRelisting && last.refusedStart() && !r.isBeforeVerdict(last.err) {
		r.state = stateResuming // without an overlap, if this was not the first
	}
	if r.state != stateResuming {
		return last.err
	}
	if err := r.checkVersion(ctx, last, count); err != nil {
		return err
	}
	r.failed(ctx, last.err)
	if err := r.retryQuarantined(last); err != nil {
		return err
	}
	if last.resumesSoon(count.failures) && (!r.pacing.ownBackoff || isUnreachable(last.err)) {
		r.pacing.backoff.disconnected(last.err)
		return r.resume(ctx)
	}
	return r.pause(ctx, last.err)
}

// afterClose is afterWatch for a watch that the server closed without an error.
func (r *Reflector) afterClose(ctx context.Context, last watchResult, count *retryCount) error {
	r.state = stateResuming
	r.recovered(ctx, r.status.succeeded())
	if err := r.retryQuarantined(last); err != nil {
		return err
	}
	if !r.canResume() {
		return r.relist(stateRelisting, errNoResume)
	}
	if !last.wasShort() {
		count.short = 0
	} else if count.short++; count.short == maxShortWatches {
		return r.relist(stateRelisting, ErrShortWatches)
	}
	if err := r.checkVersion(ctx, last, count); err != nil {
		return err
	}
	switch {
	case count.short > 1:
		return r.pause(ctx, nil)
	case last.endedEarly():
		return r.resume(ctx)
	default:
		r.pacing.paced = false
		return nil
	}
}

// retryQuarantined returns an error, and sets r.state, if quarantined objects are due for a list,
// or an event could not be read, which may be a deletion. A server that is busy or refuses the
// client receives none.
func (r *Reflector) retryQuarantined(last watchResult) error {
	if !last.opened || asksToWait(last.err) || isAuthError(last.err) {
		return nil
	}
	n := r.config.Sink.Quarantined()
	switch isDue := r.watches.quarantine.due(n); {
	case isDue:
		return r.relist(stateRelisting, fmt.Errorf("%w (%d); listing again", ErrQuarantined, n))
	case r.watches.unread.Load():
		return r.relist(stateRelisting, errUnread)
	}
	return nil
}

// checkVersion probes the server, before a watch is resumed, if the last watch received a bookmark
// that is older than the version reached, or several watches in a row ended before their watchdogs
// probed. It returns an error, and sets r.state, if the server has regressed.
func (r *Reflector) checkVersion(ctx context.Context, last watchResult, count *retryCount) error {
	olderBookmark := errors.Is(last.err, errOlderBookmark)
	switch {
	case olderBookmark && r.clock.Since(r.watches.bookmarkRelist) < bookmarkRelistInterval:
		return nil
	case olderBookmark:
	case count.early < maxEarlyEnds, !isValid(r.version()), r.clock.Since(r.status.confirmedAt()) < probeInterval:
		return nil
	}
	count.early = 0
	order, answered, err := r.probe(ctx)
	switch {
	case err != nil:
		if olderBookmark {
			r.watches.bookmarkRelist = r.clock.Now()
		}
		return r.relist(stateConsistentRead, err)
	case answered && order == 0:
		r.status.advance("", r.clock.Now())
	}
	return nil
}

// stateAfter returns the state after the failure of a watch, the given number of times since the
// resourceVersion last advanced. A server that is busy or unreachable, or refuses the client, does
// not put the state of the collection in doubt and receives no additional lists.
func (r *Reflector) stateAfter(err error, failures int) state {
	switch {
	case isGone(err), errors.Is(err, feed.ErrOutdated), !r.canResume(), r.isBeforeVerdict(err):
		return stateRelisting
	case errors.Is(err, errOlderBookmark): // of a replica that lags, perhaps
		return stateResuming
	case errors.Is(err, errUnconfirmed):
		return stateRelisting
	case errors.Is(err, ErrVersionRegressed), errors.Is(err, ErrHistoryChanged):
		return stateConsistentRead
	case isFutureVersion(err): // a lagging replica, or etcd restored from a backup
		return resumeOr(stateConsistentRead, failures >= maxFailures)
	case isAuthError(err), isBusy(err), isUnreachable(err):
		return stateResuming
	case isServerError(err):
		return resumeOr(stateRelisting, failures >= maxFailures)
	default:
		return resumeOr(stateRelisting, failures >= maxInvalidStreams)
	}
}

// resumeOr returns next if the retries are exhausted, otherwise stateResuming.
func resumeOr(next state, exhausted bool) state {
	if exhausted {
		return next
	}
	return stateResuming
}

// quarantineRetries spaces the relists that retry quarantined objects: after the first watch, the
// second, the fourth, the eighth and so on, as long as any object is quarantined.
type quarantineRetries struct{ watches, next int }

// due counts one more watch, and reports whether the collection must be listed again.
func (q *quarantineRetries) due(quarantined int) bool {
	if quarantined == 0 {
		*q = quarantineRetries{}
		return false
	}
	if q.watches++; q.watches < max(q.next, 1) {
		return false
	}
	q.next = 2 * q.watches
	return true
}
