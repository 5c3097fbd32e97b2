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

// # A collection that is not served
//
// Config.Served has what package follow knows of the resource, a served.Verdict. While that says
// that the resource is absent, or there is none yet, the reflector is in the phase NotServed and
// makes no requests: the context of each list and watch ends with the verdict (awaitServed). If
// Config.Store has a state, also that of another reflector's scope, it makes one request before it
// enters the phase:
//
//	that request           is followed by
//	─────────────────────  ──────────────────────────────────────────────────────────────
//	failed with 404        Clearable.Clear, and the phase NotServed
//	succeeded              the same request, after 0.1, 0.2 and 0.4 s, and then a list, as the
//	                       server lags. When that or its watch fails, again
//	failed with another    the same request, after the backoff; the store has the last good
//	error                  state
//
// The reflectors of an informer's scopes share the store. Each clears it, as one may be removed
// before the others. That of a scope that was not listed has no objects to lose, and does as the
// others do. A call that comes after the verdict has changed, or after another reflector has listed
// a scope, does nothing: Clear decides so under the lock under which lists are committed. A
// reflector that watches all the same, as requests have proved the opposite, lists again before its
// next watch if another one has cleared the store (feed.Sink.NeedsList).
//
// The requests of a collection that is served again have what is left of the bucket, and count with
// the lists before. The first five that fail with a 404 in a row are repeated after 0.1, 0.2, 0.4,
// 0.8 and 1.6 s, and not reported: a server may be the last one to serve the resource, or to say
// that it no longer does. That does not hold for a verdict of served.Unknown, nor without
// Config.Served.

const (
	// firstNotFoundDelay is the delay after the first 404 in a row of a resource that is served. It
	// doubles with each further one.
	firstNotFoundDelay = 100 * time.Millisecond
	// maxNotFound is the number of 404s in a row that are not reported. The requests that follow
	// them take 3.1 s.
	maxNotFound = 5
	// maxAnswered is the number of requests that a replica of the server may answer after the
	// resource is known to be absent, at the same delays. They take 0.7 s.
	maxAnswered = 3
)

// Clearable is a store whose objects leave it while the server does not serve the collection.
// Several reflectors may feed it. A *store.Store is one.
type Clearable interface {
	// Listed reports whether the collection, or a scope of it, has ever been listed, and whether it
	// has been since Clear.
	Listed() (ever, now bool)
	// Clear removes all objects. If why is nil, they are gone. Otherwise they may exist, and why,
	// which wraps served.ErrNotServed, is the error of reads. It does nothing, and returns false,
	// if ctx has ended, or if Listed reports a state now and no request has confirmed that the
	// collection is absent.
	Clear(ctx context.Context, why error, confirmed bool) bool
	// Expect makes why the error of reads before the next list, if the objects were gone.
	Expect(why error)
}

// servedState is what a reflector remembers of whether its collection is served.
type servedState struct {
	ignored      bool // Config.Served did not know the collection when Run last asked
	lacksVerdict bool // the collection is requested, as the store has a state, and no verdict denies it
	notFound     int  // attempts in a row that ended with a 404, while Config.Served said nothing of it
}

// SetStore sets Store for all reflectors that have a copy of the configuration.
func (c *Config) SetStore(store Clearable) {
	c.Store, c.disproof = store, &served.Disproof{}
}

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

// errLearnedServed ends the watches of a collection that Config.Served did not know before the
// first request, so that those that follow end with the verdict.
var errLearnedServed = errors.New("it is known whether the collection is served")

// errNotListed is the error of reads of a collection that is served again, before its list.
var errNotListed = fmt.Errorf("%w, or has just begun to: it has not been listed yet", served.ErrNotServed)

// awaitServed blocks in the phase NotServed until the server serves the collection, or ctx ends. It
// returns a context that ends once the verdict is another one. If there is none, that is ctx.
func (r *Reflector) awaitServed(ctx context.Context) (context.Context, context.CancelFunc) {
	r.served.lacksVerdict = false
	resource := r.config.Served()
	if r.served.ignored = resource == nil; r.served.ignored {
		return ctx, func() {}
	}
	for {
		verdict := resource.Verdict()
		current, cancel := resource.WithContext(ctx, verdict)
		if ctx.Err() != nil || !verdict.IsAbsent() || !r.leave(current, resource, verdict) {
			if ctx.Err() == nil {
				r.config.Store.Expect(errNotListed)
			}
			r.status.served()
			return current, cancel
		}
		<-current.Done()
		cancel()
	}
}

// leave enters the phase NotServed, and reports whether it did. If the store has a state, by
// whichever reflector, it is cleared once a request has confirmed the verdict. leave returns false
// if several requests prove the opposite. Then the collection is requested all the same, until that
// ends, or the verdict changes, and its objects are no more those of which the verdict says that
// they are gone. It also returns false if there is no verdict, or the collection is only unlisted,
// and the store has a state. ctx ends with the verdict.
func (r *Reflector) leave(ctx context.Context, resource *served.Resource, verdict served.Verdict) bool {
	_, listed := r.config.Store.Listed()
	if r.served.lacksVerdict = (verdict.Outcome == served.Pending || verdict.Outcome == served.Unlisted) && listed; r.served.lacksVerdict {
		return false
	}
	for confirmed := false; ctx.Err() == nil; {
		ever, listed := r.config.Store.Listed()
		if listed && !confirmed {
			confirmed = r.confirm(ctx, resource, verdict)
			switch {
			case ctx.Err() != nil:
				return true
			case !confirmed:
				r.config.disproof.Add(verdict)
				return false
			}
		}
		why := verdict.Err
		if verdict.Outcome == served.Gone && ever && !r.config.disproof.Has(verdict) {
			why = nil
		}
		r.stopRequests(verdict.Err) // before a waiting caller is woken
		if r.config.Store.Clear(ctx, why, confirmed) {
			r.status.changed() // the store is no longer in sync
			break
		}
	}
	return true
}

// confirm requests the collection until an answer confirms the verdict, and reports whether one
// did. Otherwise several have proved the opposite, or ctx has ended.
func (r *Reflector) confirm(ctx context.Context, resource *served.Resource, verdict served.Verdict) bool {
	for answered := 0; ; {
		absent, err := resource.Confirm(ctx, verdict, r.probeAbsent)
		switch {
		case ctx.Err() != nil:
			return false
		case err != nil:
			feed.RaisePanic(ctx, err)
			err = &AttemptError{Op: OpList, Err: err}
			r.failed(ctx, err)
			if r.pause(ctx, err) != nil {
				return false
			}
		case absent:
			return true
		case answered == maxAnswered || resource.IsDisproved(verdict):
			resource.Disprove(verdict)
			return false
		default: // by a replica that lags
			_ = r.sleep(ctx, firstNotFoundDelay<<answered)
			answered++
		}
	}
}

// stopRequests enters the phase NotServed. The requests that follow it start with a list, and have
// what is left of the budget.
func (r *Reflector) stopRequests(why error) {
	r.watchAnswered()
	r.status.notServed(why)
	r.start.withWatch = false
	r.served.notFound, r.lists.failures, r.pacing.paced = 0, 0, false
}

// probeAbsent requests one object, and reports whether the server does not serve the resource.
func (r *Reflector) probeAbsent(ctx context.Context) (bool, error) {
	_, err := r.mostRecent(ctx)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}

// isBeforeVerdict reports whether an attempt has failed with a 404 that the verdict does not
// explain yet: that of a resource that has just appeared at one of several servers, or of one whose
// absence is known soon. Such an attempt is repeated soon, and not reported.
func (r *Reflector) isBeforeVerdict(err error) bool {
	if r.served.notFound == maxNotFound || !apierrors.IsNotFound(err) {
		return false
	}
	resource := r.config.Served()
	return resource != nil && resource.Verdict().Outcome != served.Unknown
}
