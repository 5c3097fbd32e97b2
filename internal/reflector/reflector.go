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
	"github.com/kinformer/kinformer/internal/served"
)

// Config configures a Reflector. Source and Sink are required.
type Config struct {
	Source feed.Source
	Sink   feed.Sink
	// From, if set, is a resourceVersion whose state the sink holds. The reflector then starts with
	// a watch from it instead of a list.
	From string
	// NotOlderThan, if set, returns a resourceVersion that the next list, or WatchList, must not be
	// older than, such as the first one, which is at "0" otherwise. It is called for each attempt.
	// An empty string does not bound the list.
	NotOlderThan func() string
	// Start, if set, makes the first list not older than the most recent state at the start, whose
	// version one more request asks for. The reflectors of an informer's scopes share it. It has no
	// effect on a WatchList, which is of the most recent state, and on a fake.
	Start *Start
	// WatchList, if set, reports whether to request the complete state as a streaming list (a watch
	// with sendInitialEvents, KEP-3157). It is called once, before the first request. The reflector
	// falls back to a list if the server does not support WatchList.
	WatchList func() bool
	// Overlaps, if set, reports whether a resumed watch may start before the last changes received,
	// which the server then repeats. It is called before and after a watch is opened.
	Overlaps func() bool
	// PageSize is the limit of list requests. Zero selects DefaultPageSize, except for relists that
	// the API server answers from its watch cache. Negative disables paging.
	PageSize int64
	// InFlight is the number of bytes of a list's objects that may be decoded and added at a time,
	// and of those that the sink may keep to compare them before Commit. Zero or less selects
	// DefaultInFlight.
	InFlight int
	// MinWatchTimeout is the least timeoutSeconds of a watch, if that is more than five minutes.
	MinWatchTimeout time.Duration
	// Backoff spaces failed attempts. The zero value is DefaultBackoff. Any other one, whose
	// Duration must be positive, takes the place of the request budget between failed attempts.
	Backoff wait.Backoff
	// Report, if set, is called with each failed attempt, an *AttemptError. The reflector waits for
	// it to return.
	Report func(ctx context.Context, err error)
	// Recovered, if set, is called when an attempt succeeds after one or more that were reported:
	// once for that many attempts, with the time since the first of them failed. The reflector
	// waits for it to return.
	Recovered func(ctx context.Context, after time.Duration, attempts int)
	// Changed, if set, is called after the Phase or the error of the Status has changed, and may be
	// called after other changes. It must not block.
	Changed func()
	// HoldInitial, if set, is called before the first list is committed, unless the source is known
	// to be a server. The reflector calls the returned function once the source has opened the
	// first watch, or refused it.
	HoldInitial func() (release func())
	// Served, if set, returns what is known of whether the server serves the collection, nil if
	// nothing is. It is called before each list. While the server does not, the reflector makes no
	// requests, and has cleared Store, which is required then: the sink's, which other reflectors
	// may feed, too.
	Served func() *served.Resource
	Store  Clearable
	// Clock is the real clock if nil.
	Clock clock.Clock

	disproof *served.Disproof // of the reflectors that feed Store
}

// budget returns the budget of Served, or a new one.
func (c Config) budget() *served.Budget {
	if resource := c.Served(); resource != nil && resource.Budget != nil {
		return resource.Budget
	}
	return &served.Budget{}
}

// MaxInFlight returns InFlight, or its default.
func (c Config) MaxInFlight() int {
	if c.InFlight <= 0 {
		return DefaultInFlight
	}
	return c.InFlight
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
	config Config
	clock  clock.Clock
	status status

	synced   chan struct{} // closed when the first list is committed
	made     time.Time
	activeAt atomic.Int64 // when the server has sent something last, in nanoseconds after made
	state    state

	start   startState
	lists   listState
	watches watchState
	pacing  pacing
	served  servedState
	proof   proof
}

// pacing is what delays the requests of a reflector.
type pacing struct {
	backoff    *backoff
	ownBackoff bool // Config.Backoff is set
	paced      bool // Config.Backoff has delayed the attempt, instead of the budget
	budget     *served.Budget
}

// New returns a reflector that is not running.
func New(config Config) *Reflector {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	ownBackoff := config.Backoff.Duration > 0
	if !ownBackoff {
		config.Backoff = DefaultBackoff()
	}
	config.InFlight = config.MaxInFlight()
	config.MinWatchTimeout = max(config.MinWatchTimeout, minWatchTimeout)
	if config.NotOlderThan == nil {
		config.NotOlderThan = func() string { return "" }
	}
	if config.Report == nil {
		config.Report = func(context.Context, error) {}
	}
	if config.Changed == nil {
		config.Changed = func() {}
	}
	if config.disproof == nil {
		config.disproof = &served.Disproof{}
	}
	if config.Served == nil {
		config.Served = func() *served.Resource { return nil }
	}
	r := &Reflector{
		config: config,
		clock:  config.Clock,
		made:   config.Clock.Now(),
		synced: make(chan struct{}),
		lists:  listState{wantsWatchList: sync.OnceValue(func() bool { return config.WatchList != nil && config.WatchList() })},
		pacing: pacing{backoff: newBackoff(config.Backoff, config.Clock), budget: config.budget(), ownBackoff: ownBackoff},
	}
	r.status.now.Phase, r.status.changed = Idle, config.Changed
	if config.From != "" {
		r.state, r.start.withWatch = stateResuming, true
		r.status.now.ResourceVersion = config.From
	}
	return r
}

// Run calls ListAndWatch until ctx ends, and waits for the backoff between calls. It returns nil.
// After a watch that cannot be resumed, the first call follows at once.
func (r *Reflector) Run(ctx context.Context) error {
	r.status.started()
	defer r.status.stopped()
	defer r.watchAnswered()
	for ctx.Err() == nil {
		r.runWhileServed(ctx)
	}
	return nil
}

// runWhileServed calls ListAndWatch once the server serves the collection, and waits for the
// backoff.
func (r *Reflector) runWhileServed(ctx context.Context) {
	ctx, cancel := r.awaitServed(ctx)
	defer cancel()
	err := r.listAndWatch(ctx)
	switch {
	case ctx.Err() != nil: // the first verdict does not put the state of the store in doubt
		r.start.withWatch = r.served.lacksVerdict && (r.state == stateListed || r.state == stateResuming) && r.canResume()
	case errors.Is(err, errLearnedServed):
		r.start.withWatch = true
	case r.isBeforeVerdict(err):
		r.lists.received.Store(0)
		delay := firstNotFoundDelay << r.served.notFound
		r.served.notFound++
		_ = r.sleep(ctx, delay)
	default:
		r.failed(ctx, err)
		_ = r.pauseBeforeList(ctx, err)
	}
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

// listAndWatch lists and watches. A list that confirms the server's history is no end.
func (r *Reflector) listAndWatch(ctx context.Context) error {
	for {
		if err := r.listAndWatchOnce(ctx); ctx.Err() != nil || !errors.Is(err, errUnconfirmed) {
			return err
		}
	}
}

func (r *Reflector) listAndWatchOnce(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	startsWithWatch := r.start.withWatch && !r.config.Sink.NeedsList() // another reflector may have cleared it
	r.start.withWatch = false
	var first *watchResult
	if !startsWithWatch && !r.lists.watchListUnsupported && r.lists.wantsWatchList() {
		first = r.watchList(ctx)
	}
	if !startsWithWatch && first == nil {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	err := r.watch(ctx, first)
	if ctx.Err() == nil && !errors.Is(err, errLearnedServed) {
		r.status.countRelist(relistReason(err))
	}
	return err
}

// Synced returns a channel that is closed once a list has been committed to the sink.
func (r *Reflector) Synced() <-chan struct{} { return r.synced }

// failed records and reports a failed attempt.
func (r *Reflector) failed(ctx context.Context, err error) {
	r.lists.received.Store(0)
	r.status.failed(err, r.clock.Now())
	r.config.Report(ctx, err)
}

// recovered reports the end of a row of failures, unless the row is empty.
func (r *Reflector) recovered(ctx context.Context, row failureRow) {
	if row.attempts > 0 && r.config.Recovered != nil {
		r.config.Recovered(ctx, r.clock.Since(row.since), row.attempts)
	}
}

// pauseBeforeList waits before a list that follows an error. A relist after a watch follows at once
// unless there was another failure or another list shortly before. It follows soon if a 410 ends an
// outage.
func (r *Reflector) pauseBeforeList(ctx context.Context, err error) error {
	attempt, ok := errors.AsType[*AttemptError](err)
	afterWatch := ok && attempt.Op != OpList && !asksToWait(err)
	expired := afterWatch && isGone(err)
	if expired && r.pacing.backoff.endOutage() {
		r.pacing.paced = r.pacing.ownBackoff
		return r.sleep(ctx, jitter(maxRelistDelay))
	}
	if afterWatch && (r.pacing.backoff.skipFirst() || r.clock.Since(r.lists.committedAt) >= backoffReset) {
		r.pacing.backoff.relisted, r.pacing.paced = true, false
		return ctx.Err()
	}
	if errors.Is(err, ErrHistoryChanged) { // the budget limits these lists
		return ctx.Err()
	}
	if expired {
		r.pacing.backoff.repeatLast()
	}
	return r.pause(ctx, err)
}

// resume waits before a watch that needs no backoff, for a random time.
func (r *Reflector) resume(ctx context.Context) error {
	r.pacing.paced = false
	return r.sleep(ctx, jitter(maxResumeDelay))
}

// awaitBudget waits until the server's last Retry-After has passed, and the budget has a token. It
// returns ctx's error, and takes no token, if ctx has ended.
func (r *Reflector) awaitBudget(ctx context.Context) error {
	if err := r.sleep(ctx, r.pacing.budget.UntilRetry(r.clock.Now())); err != nil {
		return err
	}
	before := *r.pacing.budget
	err := r.sleep(ctx, r.spend())
	if err != nil {
		*r.pacing.budget = before
	}
	return err
}

// awaitListBudget is awaitBudget for a list or WatchList.
func (r *Reflector) awaitListBudget(ctx context.Context) error {
	if !r.isUnlimited() {
		if err := r.sleep(ctx, r.pacing.budget.UntilList(r.clock.Now())); err != nil {
			return err
		}
	}
	return r.awaitBudget(ctx)
}

// spend takes a token of the budget, and returns how long the next request must wait.
func (r *Reflector) spend() time.Duration {
	if r.isUnlimited() {
		return 0
	}
	return r.pacing.budget.Spend(r.clock.Now())
}

// listAnswered records a complete list.
func (r *Reflector) listAnswered(requested time.Time) {
	r.pacing.backoff.endOutage()
	if !r.isUnlimited() {
		r.pacing.budget.ListAnswered(requested)
	}
}

// isUnlimited reports whether the budget does not limit requests: they follow a failure, and
// Config.Backoff spaces those, or the source is a fake, which no request burdens.
func (r *Reflector) isUnlimited() bool { return r.pacing.paced || r.config.Source.Traits().Fake }

// answered records the Retry-After of a request that failed with err, for the requests that need no
// backoff. It ignores that of a server which lacks the resourceVersion: a consistent read may
// follow at once. err may be nil.
func (r *Reflector) answered(err error) {
	if asked := retryAfter(err); asked > 0 && !isGone(err) && !isFutureVersion(err) {
		r.pacing.budget.RetryAfter(r.clock.Now().Add(asked))
	}
}

// pause waits for the backoff after an attempt, and for err's Retry-After if that is longer. A
// watch whose connection failed waits less, unless Config.Backoff is set. pause returns ctx's error
// if ctx has ended.
func (r *Reflector) pause(ctx context.Context, err error) error {
	r.pacing.paced = r.pacing.ownBackoff
	delay := r.pacing.backoff.next(err)
	attempt, ok := errors.AsType[*AttemptError](err)
	if ok && (attempt.Op == OpWatchOpen || attempt.Op == OpWatch) && isDown(err) && !r.pacing.ownBackoff {
		delay = max(r.pacing.backoff.reconnect(delay, err), wait.Jitter(r.pacing.budget.UntilLeft(r.clock.Now(), reconnectReserve), reconnectJitter))
	}
	return r.sleep(ctx, delay)
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
	r.state, r.lists.failures, r.lists.expiredTokens = stateListed, 0, 0
	r.served.notFound = 0
	r.lists.committedAt = r.clock.Now()
	r.watches.unread.Store(false)
	r.lists.received.Store(0)
	r.status.advance(resourceVersion, freshAt)
	row := r.status.succeeded()
	r.pacing.backoff.markHealthy()
	select {
	case <-r.synced:
	default:
		close(r.synced)
	}
	r.recovered(ctx, row)
}
