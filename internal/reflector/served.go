// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/served"
)

const (
	// firstNotFoundDelay is the delay after the first 404 in a row of a resource that is served. It
	// doubles with each further one.
	firstNotFoundDelay = 100 * time.Millisecond
	// maxNotFound is the number of 404s in a row that are not reported. The requests that follow them
	// take 3.1 s.
	maxNotFound = 5
	// maxAnswered is the number of requests that a replica of the server may answer after the resource
	// is known to be absent, at the same delays. They take 0.7 s.
	maxAnswered = 3
)

// WhyAbsent returns why the collection must not be requested, or nil.
func (c Config) WhyAbsent() error {
	if c.Served == nil {
		return nil
	}
	if resource := c.Served(); resource != nil && resource.Verdict().IsAbsent() {
		return resource.Verdict().Err
	}
	return nil
}

// errLearnedServed ends the watches of a collection that Config.Served did not know before the first
// request, so that those that follow end with the verdict.
var errLearnedServed = errors.New("it is known whether the collection is served")

// errNotListed is the error of reads of a collection that is served again, before its list.
var errNotListed = fmt.Errorf("%w, or has just begun to: it has not been listed yet", served.ErrNotServed)

// learnsServed reports whether Config.Served has come to know the collection since Run asked.
func (r *Reflector) learnsServed() bool { return r.ignoresServed && r.config.Served() != nil }

// awaitServed blocks in the phase NotServed until the server serves the collection, or ctx ends. It
// returns a context that ends once the verdict is another one. If there is none, that is ctx.
func (r *Reflector) awaitServed(ctx context.Context) (context.Context, context.CancelFunc) {
	r.lacksVerdict = false
	resource := r.config.Served()
	if r.ignoresServed = resource == nil; r.ignoresServed {
		return ctx, func() {}
	}
	for {
		verdict := resource.Verdict()
		current, cancel := resource.WithContext(ctx, verdict)
		if ctx.Err() != nil || !verdict.IsAbsent() || !r.leave(current, resource, verdict) {
			if r.vacated && ctx.Err() == nil {
				r.config.Expect(errNotListed)
			}
			r.status.served()
			return current, cancel
		}
		<-current.Done()
		cancel()
	}
}

// leave enters the phase NotServed, and reports whether it did. It removes the objects of the sink
// once a request has confirmed the verdict, and returns false if several requests prove the opposite.
// Then the collection is requested all the same, until that ends, or the verdict changes, and its
// objects are no more those of which the verdict says that they are gone. It also returns false if there
// is no verdict, or the collection is only unlisted, and the sink has a state. ctx ends with the verdict.
func (r *Reflector) leave(ctx context.Context, resource *served.Resource, verdict served.Verdict) bool {
	if r.lacksVerdict = (verdict.Outcome == served.Pending || verdict.Outcome == served.Unlisted) && r.hasState() && !r.vacated; r.lacksVerdict {
		return false
	}
	for answered := 0; r.hasState() && !r.vacated; {
		absent, err := resource.Confirm(ctx, verdict, r.probeAbsent)
		switch {
		case ctx.Err() != nil:
			return true
		case err != nil:
			feed.RaisePanic(ctx, err)
			err = &AttemptError{Op: OpList, Err: err}
			r.failed(ctx, err)
			if r.pause(ctx, err) != nil {
				return true
			}
		case !absent && (answered == maxAnswered || r.disproved.IsSame(verdict)):
			r.disproved = verdict
			return false
		case !absent: // by a replica that lags
			_ = r.sleep(ctx, firstNotFoundDelay<<answered)
			answered++
		default:
			r.vacated = true
		}
	}
	why := verdict.Err
	if verdict.Outcome == served.Gone && r.hasState() && !r.disproved.IsSame(verdict) {
		why = nil
	}
	r.watchAnswered()
	r.status.notServed(verdict.Err) // before a waiting caller is woken
	r.config.Vacate(why)
	r.startsWithWatch = false
	r.notFound, r.listFailures, r.budget = 0, 0, requestBudget{clock: r.clock} // the follower spaces the starts
	return true
}

// hasState reports whether the sink has held a state of the collection.
func (r *Reflector) hasState() bool { return r.version() != "" || !r.committedAt.IsZero() }

// probeAbsent requests one object, and reports whether the server does not serve the resource.
func (r *Reflector) probeAbsent(ctx context.Context) (bool, error) {
	_, _, err := r.mostRecent(ctx)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// isBeforeVerdict reports whether an attempt has failed with a 404 that the verdict does not explain
// yet: that of a resource that has just appeared at one of several servers, or of one whose absence
// is known soon. Such an attempt is repeated soon, and not reported.
func (r *Reflector) isBeforeVerdict(err error) bool {
	if r.notFound == maxNotFound || !apierrors.IsNotFound(err) {
		return false
	}
	resource := r.config.Served()
	return resource != nil && resource.Verdict().Outcome != served.Unknown
}

// pauseBeforeVerdict waits after such an attempt.
func (r *Reflector) pauseBeforeVerdict(ctx context.Context) {
	r.received.Store(0)
	delay := firstNotFoundDelay << r.notFound
	r.notFound++
	_ = r.sleep(ctx, delay)
}
