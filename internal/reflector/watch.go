package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// shortWatch: a watch that ends sooner, and without an event, is one that
	// the server did not really give.
	shortWatch = time.Second
	// maxShortWatches is how many of those in a row bring the version in doubt.
	maxShortWatches = 3
	// maxFailures is how often a watch is tried again at one version after the
	// server failed to serve it, before the collection is listed anew.
	maxFailures = 5
	// busyInterval is the least time between the beginnings of two watches of
	// which the first was ended by the server in order. Some servers end watches
	// after seconds (jupyterhub/kubespawner#920): that must cost neither them a
	// storm of requests nor us our freshness.
	busyInterval = 6 * time.Second
)

// end is how a watch request ended.
type end struct {
	err    error // nil: the server closed the stream
	listed bool  // a WatchList's initial state was committed
	moved  bool  // an event or bookmark moved the version
	lived  time.Duration
}

// errNoResume: the watch ended, and its collection has no versions.
var errNoResume = fmt.Errorf("the watch ended: %w to resume it from", ErrNoVersion)

// watch follows the collection from the version reached, one watch request
// after the other, until that cannot go on; it returns why. first, if not nil,
// is a request that has ended already.
func (r *Reflector) watch(ctx context.Context, first *end) error {
	var short, failures int // in a row, at one version
	for last := first; ; last = nil {
		if last == nil {
			ended := r.watchOnce(ctx, nil)
			last = &ended
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if last.moved {
			short, failures = 0, 0
		}
		if last.err == nil {
			if err := r.closed(ctx, *last, &short); err != nil {
				return err
			}
			continue
		}
		failures++
		if r.mustRelist(last.err, failures) {
			return last.err
		}
		r.failed(ctx, last.err)
		if err := r.pause(ctx, last.err); err != nil {
			return err
		}
	}
}

// closed handles a watch that the server ended in order, and waits before the
// next. An error means that there is to be none: the collection must be listed
// anew, or ctx has ended.
func (r *Reflector) closed(ctx context.Context, last end, short *int) error {
	r.status.succeeded()
	if n := r.config.Sink.Quarantined(); r.quarantine.due(n) {
		return fmt.Errorf("%w (%d); listing them again", ErrQuarantined, n)
	}
	switch {
	case !r.canResume():
		return errNoResume
	case last.moved:
	case last.lived < shortWatch:
		if *short++; *short == maxShortWatches {
			return ErrShortWatches
		}
		return r.sleep(ctx, max(r.backoff.next(nil), busyInterval))
	default:
		*short = 0
		if err := r.probeAfter(ctx, last); err != nil {
			return err
		}
	}
	return r.sleep(ctx, busyInterval-last.lived)
}

// canResume tells whether a watch at the version reached brings everything since.
// One at "" or "0" begins with the objects that there are, and says nothing of
// those deleted meanwhile.
func (r *Reflector) canResume() bool {
	version := r.version()
	return version != "" && version != "0"
}

// mustRelist tells whether a watch that failed cannot be resumed: its version is
// gone or no longer true, or it failed that often at the same one. A server that
// is busy, unreachable or refuses this client leaves what was seen as true as it
// was, and gets no lists on top.
func (r *Reflector) mustRelist(err error, failures int) bool {
	switch {
	case isGone(err), !r.canResume():
		return true
	case errors.Is(err, ErrVersionRegressed):
		r.consistent = true
		return true
	case isAhead(err): // a replica that lags, or an etcd restored from backup
		r.consistent = failures >= maxFailures
		return r.consistent
	case isDenied(err), isBusy(err), isUnreachable(err):
		return false
	case isServerError(err):
		return failures >= maxFailures
	default: // the stream said something that makes no sense; perhaps once only
		return failures >= 2
	}
}

// quarantineRetries spaces the relists that are made for objects which could not
// be stored: at the end of the first watch, the second, the fourth and so on, for
// as long as there are such objects.
type quarantineRetries struct{ ends, next int }

func (q *quarantineRetries) due(quarantined int) bool {
	if quarantined == 0 {
		*q = quarantineRetries{}
		return false
	}
	if q.ends++; q.ends < max(q.next, 1) {
		return false
	}
	q.next = 2 * q.ends
	return true
}
