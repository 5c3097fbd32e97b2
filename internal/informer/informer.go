// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/viewnames"
)

// Errors of an informer's life cycle. Package cache, which exports them, says who returns them.
var (
	ErrAlreadyRunning  = errors.New("already running")
	ErrStopped         = scoped.ErrStopped
	ErrHandlerBlocked  = errors.New("a handler's call has not returned")
	ErrFunctionBlocked = errors.New("a transform, filter, index function or ErrorHandler has not returned")
)

// Config configures an informer. New sets Sink, Clock, HoldInitial and Store of Reflector, and Log,
// Filter, Now, ScopeOf and Absent of Store.
type Config struct {
	Name      string
	Store     store.Config
	Reflector reflector.Config
	Clock     clock.Clock // the real clock if nil
	// Filter is Store.Filter.
	Filter func(runtime.Object) bool
	// Scopes, if set, are the parts of the collection to store. The source must restrict each
	// request to scope.RequestOf of its context.
	Scopes *scope.Set
	// NotFound, if set, returns the fields to omit that no object has had, and that the type of the
	// objects is not known to have.
	NotFound func() (paths []string)
	// Terminating reports whether a value has a deletionTimestamp. If nil, no value has one.
	Terminating func(any) bool
	// CoalesceThreshold is the backlog, in events, above which the changes of a handler are
	// coalesced. The default is 10,000 or twice the number of objects, whichever is more.
	CoalesceThreshold uint64
	// HandlerGrace is how long Run waits for the last calls of handlers. The default is 10
	// seconds. If it is negative, Run waits without limit.
	HandlerGrace time.Duration

	batchSize int // of handlers; the default is batchSize
}

// Loop feeds a store: a reflector, or those of the scopes of an informer. Run is called once.
type Loop interface {
	Run(ctx context.Context) error
	Status() reflector.Status
	Phase() reflector.Phase
	Synced() <-chan struct{}
	LastSyncResourceVersion() string
}

// Informer keeps a store equal to a collection and delivers changes to handlers. Its methods are
// safe for concurrent use.
type Informer struct {
	config    Config // with defaults
	id        uint64
	unique    *viewnames.Owner // the name that no other informer has
	store     *store.Store
	log       *eventlog.Log[store.Change]
	feed      *store.Feed // of the reflector; nil if the informer has scopes
	initial   initialGate
	reflector Loop
	scopes    *scoped.Loop  // the reflector, if the informer has scopes; otherwise nil
	listed    chan struct{} // closed once HasListed reports true
	listOnce  sync.Once     // closes it
	stopped   chan struct{} // closed when Run returns
	status    broadcast     // see StatusChanged
	returned  atomic.Bool   // whether it is closed, for goroutines outside a synctest bubble

	mu       sync.Mutex            // guards the fields below
	ctx      context.Context       // of Run; nil before it and after it
	handlers []*Handler            // receive later changes; the slice is replaced, never modified
	running  map[*Handler]struct{} // have a goroutine

	naming sync.Mutex // held while handlers get their unique names
}

// New returns an informer that is not running. It does no I/O and starts no goroutine.
func New(config Config) *Informer {
	config.Clock = cmp.Or[clock.Clock](config.Clock, clock.RealClock{})
	config.HandlerGrace = cmp.Or(config.HandlerGrace, 10*time.Second)
	config.batchSize = cmp.Or(config.batchSize, batchSize)
	log := eventlog.New[store.Change]()
	config.Store.Log = log
	config.Store.Filter, config.Store.Now = config.Filter, config.Clock.Now
	var loop *scoped.Loop // set below
	if config.Scopes != nil {
		config.Store.ScopeOf = config.Scopes.Of
		config.Store.Absent = func(key string) error { return loop.WhyAbsent(key) }
	}
	objects := store.New(config.Store)
	config.Reflector.Clock = config.Clock
	config.Reflector.SetStore(objects)
	if why := config.Reflector.WhyAbsent(); why != nil {
		objects.Clear(context.Background(), why, false) // for reads before Run
	}
	if report := config.Reflector.Report; report != nil {
		config.Reflector.Report = func(ctx context.Context, err error) {
			objects.EndIfAbandoned()
			report(ctx, err)
		}
	}
	i := &Informer{
		config:  config,
		id:      lastID.Add(1),
		store:   objects,
		log:     log,
		initial: initialGate{clock: config.Clock},
		running: make(map[*Handler]struct{}),
		listed:  make(chan struct{}),
		stopped: make(chan struct{}),
	}
	config.Reflector.HoldInitial, config.Reflector.Changed = i.initial.hold, i.status.signal
	if config.Scopes != nil {
		loop = scoped.New(scoped.Config{
			Name: config.Name, Store: objects, Set: config.Scopes, Reflector: config.Reflector, Clock: config.Clock, Stopped: i.stopped,
		})
		i.scopes, i.reflector = loop, loop
	} else {
		i.feed = objects.NewFeed(store.FeedConfig{})
		config.Reflector.Sink = i.feed
		i.reflector = reflector.New(config.Reflector)
	}
	i.unique = viewnames.NewOwner(i.HasStopped)
	return i
}

// Store returns the informer's store. It may be read before, during and after Run.
func (i *Informer) Store() *store.Store { return i.store }

// Reflector returns the informer's reflector.
func (i *Informer) Reflector() Loop { return i.reflector }

// Scopes returns the reflectors of the informer's scopes, or nil if it has none.
func (i *Informer) Scopes() *scoped.Loop { return i.scopes }

var lastID atomic.Uint64 //nolint:gochecknoglobals // informers of a process have different IDs

// ID returns a number that no other informer of the process has. Later informers have larger ones.
func (i *Informer) ID() uint64 { return i.id }

// UniqueName returns name, or name#2 and so on if another informer of the process has that one. The
// first call decides it.
func (i *Informer) UniqueName(name string) string { return i.unique.Name(name) }

// HasStopped reports whether Run has returned, or the reflector has stopped and Run waits for the
// last calls of handlers.
func (i *Informer) HasStopped() bool {
	return i.returned.Load() || i.reflector.Phase() == reflector.Stopped
}

// StatusChanged returns a channel that is closed once the phase, the last error, or the result of
// StoreHasSynced has changed, or a handler has synced, has no backlog or has ended. It may be
// closed after other changes, too.
func (i *Informer) StatusChanged() <-chan struct{} { return i.status.wait() }

// Changes returns the number of changes that were made to the store so far.
func (i *Informer) Changes() uint64 { return i.log.Appended() }
