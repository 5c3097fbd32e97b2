// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinformer/kinformer/internal/feed"
)

// maxWatchLists is the number of WatchLists that the server may close before the bookmark that ends
// the initial state. After that the reflector treats WatchList as unsupported.
const maxWatchLists = 2

// watchList gets the initial state by a WatchList (KEP-3157), and applies the events that follow in
// the same stream. It returns the result of a WatchList whose initial state was committed, or one
// with ctx's error. It returns nil if the collection must be listed instead.
//
//	the WatchList                              next request
//	─────────────────────────────────────────  ───────────────────────────────────────────
//	delivered the whole initial state          as for a watch (doc.go)
//	failed with 429, or its connection was     WatchList
//	refused and Config.Backoff is set
//	was closed before the initial state ended  WatchList; 2nd: list, and no WatchList again
//	had no initial event for 30 s, or for 2 s  list, and no WatchList again
//	from a fake of client-go
//	failed with 400, 405, 406 or 422           list, and no WatchList again
//	was the first one, and refused by the      list, and no WatchList again
//	source's own function
//	failed with errVersionReused               consistent read by a list
//	failed with anything else                  list
func (r *Reflector) watchList(ctx context.Context) *watchResult {
	closedEarly := 0
	for {
		r.status.listing()
		result := r.watchOnce(ctx, r.begin())
		switch {
		case result.committed:
			return &result
		case ctx.Err() != nil:
			return &watchResult{err: ctx.Err()}
		case apierrors.IsTooManyRequests(result.err), r.pacing.ownBackoff && utilnet.IsConnectionRefused(result.err):
		case errors.Is(result.err, ErrStalled):
			result.err, closedEarly = errNoInitialEvent, maxWatchLists
		case errors.Is(result.err, feed.ErrNoInitialEvents):
			closedEarly = maxWatchLists
		case result.err == nil:
			result.err = errClosedEarly
			closedEarly++
		case errors.Is(result.err, errVersionReused):
			r.state = stateConsistentRead
			return nil
		case r.isBeforeVerdict(result.err): // and so would a list
			return &result
		default: // the request failed: list, and for good if the server does not know WatchList
			r.lists.watchListUnsupported = isUnsupported(result.err)
			if r.lists.committedAt.IsZero() && isLocal(result) {
				r.lists.watchListUnsupported = true
			}
			if r.pacing.ownBackoff && isDown(result.err) {
				return r.pauseAfterWatchList(ctx, result.err)
			}
			return nil
		}
		if closedEarly >= maxWatchLists {
			r.lists.watchListUnsupported = true
			err := fmt.Errorf("WatchList brought no end of the initial state (%w); listing instead", result.err)
			r.failed(ctx, &AttemptError{Op: OpWatchList, Err: err})
			return nil
		}
		if ended := r.pauseAfterWatchList(ctx, result.err); ended != nil {
			return ended
		}
	}
}

// pauseAfterWatchList reports a WatchList that failed, and waits for the backoff. If ctx ends, it
// returns a result with ctx's error, and otherwise nil.
func (r *Reflector) pauseAfterWatchList(ctx context.Context, err error) (ended *watchResult) {
	r.failed(ctx, &AttemptError{Op: OpWatchList, Err: fmt.Errorf("WatchList: %w", err)})
	if err := r.pause(ctx, err); err != nil {
		return &watchResult{err: err}
	}
	return nil
}

// isLocal reports whether a watch was refused by the source's own function, such as that of a fake
// which does not know WatchList, and neither by a server nor for a broken connection.
func isLocal(result watchResult) bool {
	var status apierrors.APIStatus
	answered := errors.As(result.err, &status)
	return result.err != nil && !result.opened && !answered && !isUnreachable(result.err) && !feed.IsPanic(result.err)
}

// errNoInitialEvent is the error of a WatchList that stays open without its initial state. Other
// events may have been received, so that it is not ErrStalled.
var errNoInitialEvent = fmt.Errorf("no initial event for %v", initialIdleTimeout)

// errClosedEarly is the error of a WatchList that the server closed before the initial state ended.
var errClosedEarly = errors.New("the server closed the stream before the initial-events-end bookmark")
