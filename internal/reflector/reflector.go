package reflector

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
)

// Config is what a Reflector works with. Source and Sink are required.
type Config struct {
	Source feed.Source
	Sink   feed.Sink
	// WatchList asks for the initial state by a watch (KEP-3157) instead of a
	// list. A source that does not answer it properly is listed instead.
	WatchList bool
	// PageSize is the limit of a list request. Zero is DefaultPageSize, negative
	// no limit.
	PageSize int64
	// Backoff spaces attempts. The zero value is DefaultBackoff.
	Backoff wait.Backoff
	// Report hears of each failed attempt, from the reflector's goroutine.
	Report func(context.Context, error)
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Defaults and limits.
const (
	// DefaultPageSize is the limit that the API's own clients ask for.
	DefaultPageSize = 500

	// minWatchTimeout is the shortest time asked of the server for a watch; the
	// longest is twice that. They are drawn at random, so that the watches of
	// many clients do not end together.
	minWatchTimeout = 5 * time.Minute
)

// Reflector keeps a sink equal to a collection. Run and ListAndWatch are for one
// goroutine at a time; the rest may be called from any.
type Reflector struct {
	config  Config
	clock   clock.Clock
	backoff *backoff
	status  status

	synced      chan struct{}     // closed when the first state is committed
	proofs      atomic.Uint64     // answers of the server, for the watchdog to see that there are some
	paged       bool              // the server has answered a list in pages
	consistent  bool              // the next list must be a consistent read
	resumes     bool              // the next watch does not follow directly on a list
	noWatchList bool              // WatchList was tried and found wanting
	quarantine  quarantineRetries // when to ask again for what could not be stored
}

// New returns a reflector that has done nothing yet.
func New(config Config) *Reflector {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Backoff.Duration <= 0 {
		config.Backoff = DefaultBackoff()
	}
	if config.Report == nil {
		config.Report = func(context.Context, error) {}
	}
	return &Reflector{
		config:  config,
		clock:   config.Clock,
		backoff: newBackoff(config.Backoff, config.Clock),
		synced:  make(chan struct{}),
	}
}

// Run lists and watches until ctx ends, whatever fails meanwhile. It returns
// nil then.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.stopped()
	for ctx.Err() == nil {
		err := r.ListAndWatch(ctx)
		if ctx.Err() != nil {
			break
		}
		r.failed(ctx, err)
		if r.pause(ctx, err) != nil {
			break
		}
	}
	return nil
}

// ListAndWatch gets the collection's state and follows it for as long as watches
// can be resumed. It returns why they cannot: the list's error, or that of the
// last watch; or ctx's.
func (r *Reflector) ListAndWatch(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.config.WatchList && !r.noWatchList {
		if last := r.watchList(ctx); last != nil {
			return r.watch(ctx, last)
		}
	}
	if err := r.list(ctx); err != nil {
		return err
	}
	return r.watch(ctx, nil)
}

// UseWatchList says whether to ask for WatchList, whatever Config.WatchList was. It must
// not be called once the reflector runs.
func (r *Reflector) UseWatchList(use bool) { r.config.WatchList = use }

// Synced is closed once the sink holds a first state of the collection.
func (r *Reflector) Synced() <-chan struct{} { return r.synced }

// failed books a failed attempt and tells about it.
func (r *Reflector) failed(ctx context.Context, err error) {
	r.status.fail(err, r.clock.Now())
	r.config.Report(ctx, err)
}

// pause waits before the next attempt, after err or nil: as long as the backoff
// says and no less than the server does. It returns ctx's error if that has ended.
func (r *Reflector) pause(ctx context.Context, err error) error {
	return r.sleep(ctx, r.backoff.next(err))
}

// sleep waits, and returns ctx's error if that has ended: nothing may be asked of
// the server then.
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

// committed books a state that the sink now holds.
func (r *Reflector) committed(resourceVersion string) {
	r.consistent, r.resumes = false, false
	r.status.reached(resourceVersion, r.clock.Now())
	r.status.succeeded()
	r.backoff.well()
	select {
	case <-r.synced:
	default:
		close(r.synced)
	}
}
