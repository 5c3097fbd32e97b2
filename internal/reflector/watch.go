package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	// minWatchInterval is the least time between the starts of two watches if the server closed the
	// first without an error. Some servers close watches after a few seconds
	// (jupyterhub/kubespawner#920): the interval bounds the load on them and the lag of the sink.
	minWatchInterval = 6 * time.Second
)

// watchResult is how a watch request ended.
type watchResult struct {
	err       error // an *AttemptError; nil if the server closed the watch
	committed bool  // the initial state of a WatchList was committed
	advanced  bool  // an event or bookmark advanced the resourceVersion
	duration  time.Duration
}

// retryCount counts the watches that ended since the resourceVersion last advanced.
type retryCount struct {
	short    int // closed by the server within shortWatch, in a row
	failures int // ended with an error
}

// errNoResume is the reason to list a collection without a resourceVersion again.
var errNoResume = fmt.Errorf("watch closed and cannot be resumed: %w", ErrNoVersion)

// watch applies the events of one watch after another until the collection must be listed again, or
// ctx ends. It returns the reason. first, if not nil, is the result of a WatchList, which comes
// before the first watch.
func (r *Reflector) watch(ctx context.Context, first *watchResult) error {
	var count retryCount
	for last := first; ; last = nil {
		if last == nil {
			result := r.watchOnce(ctx, nil)
			last = &result
		}
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
	if last.err == nil {
		return r.afterClose(ctx, last, count)
	}
	count.failures++
	if r.state = r.stateAfter(last.err, count.failures); r.state != stateResuming {
		return last.err
	}
	r.failed(ctx, last.err)
	return r.pause(ctx, last.err)
}

// afterClose is afterWatch for a watch that the server closed without an error.
func (r *Reflector) afterClose(ctx context.Context, last watchResult, count *retryCount) error {
	r.state = stateResuming
	r.recovered(ctx, r.status.succeeded())
	if n := r.config.Sink.Quarantined(); r.quarantine.due(n) {
		return r.relist(stateRelisting, fmt.Errorf("%w (%d); listing again", ErrQuarantined, n))
	}
	switch {
	case !r.canResume():
		return r.relist(stateRelisting, errNoResume)
	case last.advanced:
	case last.duration < shortWatch:
		if count.short++; count.short == maxShortWatches {
			return r.relist(stateRelisting, ErrShortWatches)
		}
		return r.sleep(ctx, max(r.backoff.next(nil), minWatchInterval))
	default:
		count.short = 0
		if err := r.probeAfter(ctx, last); err != nil {
			return r.relist(stateConsistentRead, err)
		}
	}
	return r.sleep(ctx, minWatchInterval-last.duration)
}

// stateAfter returns the state after the failure of a watch, the given number of times since the
// resourceVersion last advanced. A server that is busy or unreachable, or refuses the client, does
// not put the state of the collection in doubt and receives no additional lists.
func (r *Reflector) stateAfter(err error, failures int) state {
	switch {
	case isGone(err), !r.canResume():
		return stateRelisting
	case errors.Is(err, ErrVersionRegressed):
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
