// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// Config configures a Reflector. Source and Sink are required.
type Config struct {
	Source feed.Source
	Sink   feed.Sink
	// From, if set, is a resourceVersion whose state the sink holds. The reflector then starts with a
	// watch from it instead of a list.
	From string
	// NotOlderThan, if set, returns the resourceVersion of the first list, instead of "0". A list that
	// the server answers from its watch cache is then at least at that version. It is called for each
	// attempt. An empty string stands for "0".
	NotOlderThan func() string
	// WatchList, if set, reports whether to request the complete state as a streaming list (a watch
	// with sendInitialEvents, KEP-3157). It is called once, before the first request. The reflector
	// falls back to a list if the server does not support WatchList.
	WatchList func() bool
	// PageSize is the limit of list requests. Zero selects DefaultPageSize, except for relists that
	// the API server answers from its watch cache. Negative disables paging.
	PageSize int64
	// InFlight is the number of bytes of a list's objects that may be decoded and added at a time.
	// Zero or less selects DefaultInFlight.
	InFlight int
	// MinWatchTimeout is the least timeoutSeconds of a watch, if that is more than five minutes.
	MinWatchTimeout time.Duration
	// Backoff spaces failed attempts. The zero value is DefaultBackoff.
	Backoff wait.Backoff
	// Report, if set, is called with each failed attempt, an *AttemptError. The reflector waits for
	// it to return.
	Report func(ctx context.Context, err error)
	// Recovered, if set, is called when an attempt succeeds after one or more that were reported:
	// once for that many attempts, with the time since the first of them failed. The reflector
	// waits for it to return.
	Recovered func(ctx context.Context, after time.Duration, attempts int)
	// Clock is the real clock if nil.
	Clock clock.Clock
}

const (
	// DefaultPageSize is the number of objects per page of a list. kubectl and client-go use the
	// same.
	DefaultPageSize = 500

	// minWatchTimeout is the default of Config.MinWatchTimeout. The reflector adds up to as much
	// again at random, so that the watches of many clients do not end together.
	minWatchTimeout = 5 * time.Minute
)

// Reflector keeps a sink equal to a collection of the API. Run and ListAndWatch must not be called
// concurrently. The other methods are safe for concurrent use.
type Reflector struct {
	config  Config
	clock   clock.Clock
	backoff *backoff
	status  status

	synced   chan struct{} // closed when the first list is committed
	activity atomic.Uint64 // counts what the server has sent, for the watchdog
	received atomic.Int64  // counts the objects of the list in progress, for the status

	state                state
	budget               requestBudget
	notBefore            time.Time   // of the server's last Retry-After
	listFailures         int         // lists that failed since the last commit, for reasons that may lie in the resourceVersion
	committedAt          time.Time   // the last commit of a list
	expiredTokens        int         // lists that failed since the last commit because a continue token had expired
	lastBookmarkRelist   time.Time   // when an older bookmark caused a list
	wantsWatchList       func() bool // Config.WatchList, which it calls once
	watchListUnsupported bool        // by the server
	pagesLists           bool        // the server has answered a list in pages
	quarantine           quarantineRetries
	wasOpen              bool // a watch has been open since the last list
	startsWithWatch      bool // the next request is the first one, and Config.From is set
}

// New returns a reflector that is not running.
func New(config Config) *Reflector {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Backoff.Duration <= 0 {
		config.Backoff = DefaultBackoff()
	}
	if config.InFlight <= 0 {
		config.InFlight = DefaultInFlight
	}
	config.MinWatchTimeout = max(config.MinWatchTimeout, minWatchTimeout)
	if config.NotOlderThan == nil {
		config.NotOlderThan = func() string { return "" }
	}
	if config.Report == nil {
		config.Report = func(context.Context, error) {}
	}
	if config.Recovered == nil {
		config.Recovered = func(context.Context, time.Duration, int) {}
	}
	if config.WatchList == nil {
		config.WatchList = func() bool { return false }
	}
	r := &Reflector{
		config:         config,
		clock:          config.Clock,
		backoff:        newBackoff(config.Backoff, config.Clock),
		budget:         requestBudget{clock: config.Clock},
		synced:         make(chan struct{}),
		wantsWatchList: sync.OnceValue(config.WatchList),
	}
	if config.From != "" {
		r.state, r.startsWithWatch = stateResuming, true
		r.status.now.ResourceVersion = config.From
	}
	return r
}

// Run calls ListAndWatch until ctx ends, and waits for the backoff between calls. It returns nil.
// After a watch that cannot be resumed, the first call follows at once.
func (r *Reflector) Run(ctx context.Context) error {
	r.status.started()
	defer r.status.stopped()
	for ctx.Err() == nil {
		err := r.listAndWatch(ctx)
		if ctx.Err() != nil {
			break
		}
		r.failed(ctx, err)
		if r.pauseBeforeList(ctx, err) != nil {
			break
		}
	}
	return nil
}

// ListAndWatch lists the collection, commits the list to the sink, and applies the events of one
// watch after another until a watch cannot be resumed. It returns an *AttemptError, or ctx's error.
func (r *Reflector) ListAndWatch(ctx context.Context) error {
	r.status.started()
	err := r.listAndWatch(ctx)
	if ctx.Err() != nil {
		r.status.stopped()
	} else {
		r.status.failed(err, r.clock.Now())
	}
	return err
}

func (r *Reflector) listAndWatch(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.startsWithWatch {
		r.startsWithWatch = false
		return r.watchUntilRelist(ctx, nil)
	}
	if !r.watchListUnsupported && r.wantsWatchList() {
		if result := r.watchList(ctx); result != nil {
			return r.watchUntilRelist(ctx, result)
		}
	}
	if err := r.list(ctx); err != nil {
		return err
	}
	return r.watchUntilRelist(ctx, nil)
}

// watchUntilRelist is watch, and counts the reason why the collection must be listed again.
func (r *Reflector) watchUntilRelist(ctx context.Context, first *watchResult) error {
	err := r.watch(ctx, first)
	if ctx.Err() == nil {
		r.status.countRelist(relistReason(err))
	}
	return err
}

// Synced returns a channel that is closed once a list has been committed to the sink.
func (r *Reflector) Synced() <-chan struct{} { return r.synced }

// failed records and reports a failed attempt.
func (r *Reflector) failed(ctx context.Context, err error) {
	r.received.Store(0)
	r.status.failed(err, r.clock.Now())
	r.config.Report(ctx, err)
}

// recovered reports the end of a row of failures, unless the row is empty.
func (r *Reflector) recovered(ctx context.Context, row failureRow) {
	if row.attempts > 0 {
		r.config.Recovered(ctx, r.clock.Since(row.since), row.attempts)
	}
}

// pauseBeforeList waits before a list that follows an error. A relist after a watch follows at once
// unless there was another failure or another list shortly before.
func (r *Reflector) pauseBeforeList(ctx context.Context, err error) error {
	attempt, ok := errors.AsType[*AttemptError](err)
	if ok && attempt.Op != OpList && !asksToWait(err) && (r.backoff.skipFirst() || r.clock.Since(r.committedAt) >= backoffReset) {
		return ctx.Err()
	}
	return r.pause(ctx, err)
}

// awaitBudget takes a token of the budget, and waits until there was one and the server's last
// Retry-After has passed. It returns ctx's error if ctx has ended.
func (r *Reflector) awaitBudget(ctx context.Context) error {
	asked := min(r.notBefore.Sub(r.clock.Now()), maxRetryAfter) // the clock may be set back
	return r.sleep(ctx, max(r.budget.spend(), asked))
}

// answered records the Retry-After of a request that failed with err, for the requests that need no
// backoff. It ignores that of a server which lacks the resourceVersion: a consistent read may
// follow at once. err may be nil.
func (r *Reflector) answered(err error) {
	if asked := retryAfter(err); asked > 0 && !isGone(err) && !isFutureVersion(err) {
		r.notBefore = r.clock.Now().Add(asked)
	}
}

// pause waits for the backoff after an attempt, and for err's Retry-After if that is longer. It
// returns ctx's error if ctx has ended.
func (r *Reflector) pause(ctx context.Context, err error) error {
	return r.sleep(ctx, r.backoff.next(err))
}

// sleep waits for d. It returns ctx's error if ctx has ended.
func (r *Reflector) sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := r.clock.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// committed records that the sink holds a list at resourceVersion, fresh at a time.
func (r *Reflector) committed(ctx context.Context, resourceVersion string, freshAt time.Time) {
	r.state, r.listFailures, r.expiredTokens = stateListed, 0, 0
	r.committedAt = r.clock.Now()
	r.received.Store(0)
	r.status.advance(resourceVersion, freshAt)
	row := r.status.succeeded()
	r.backoff.markHealthy()
	select {
	case <-r.synced:
	default:
		close(r.synced)
	}
	r.recovered(ctx, row)
}
