// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
	"github.com/kinformer/kinformer/internal/viewnames"
)

// Errors of an informer's life cycle.
const (
	// ErrAlreadyRunning is returned by Run while another Run is in progress.
	ErrAlreadyRunning = feed.Error("already running")
	// ErrStopped is returned by Run, waits and additions of handlers once the informer has
	// stopped. An informer runs once.
	ErrStopped = feed.Error("the informer has stopped")
	// ErrHandlerBlocked is returned by Run and Handler.Stop when a handler's call did not return
	// in time. The call continues.
	ErrHandlerBlocked = feed.Error("a handler's call has not returned")
	// ErrFunctionBlocked is returned by Run when a transform, filter, index function or
	// ErrorHandler did not return in time. The call continues, and holds up further writes to the
	// store.
	ErrFunctionBlocked = feed.Error("a transform, filter, index function or ErrorHandler has not returned")
)

// defaultHandlerGrace is the default of Config.HandlerGrace.
const defaultHandlerGrace = 10 * time.Second

// Config configures an informer. New sets Reflector.Sink, Reflector.Clock,
// Reflector.HoldInitial and Store.Log.
type Config[V any] struct {
	Name      string
	Store     store.Config[V]
	Reflector reflector.Config
	Clock     clock.Clock // the real clock if nil
	// Filter is Store.Filter.
	Filter func(runtime.Object) bool
	// Scopes, if set, are the parts of the collection to store. The source must restrict each
	// request to scope.RequestOf of its context.
	Scopes *scope.Set
	// NotFound, if set, returns the fields to omit that no object has had.
	NotFound func() (paths []string)
	// Terminating reports whether a value has a deletionTimestamp. If nil, no value has one.
	Terminating func(V) bool
	// CoalesceThreshold is the backlog, in events, above which the changes of a handler are
	// coalesced. The default is 10,000 or twice the number of objects, whichever is more.
	CoalesceThreshold uint64
	// HandlerGrace is how long Run waits for the last calls of handlers. The default is 10
	// seconds. If it is negative, Run waits without limit.
	HandlerGrace time.Duration

	batchSize int // of handlers; the default is batchSize
}

// Informer keeps a store equal to a collection and delivers changes to handlers. Its methods are
// safe for concurrent use.
type Informer[V any] struct {
	id                uint64
	unique            *viewnames.Owner // the name that no other informer has
	name              string
	clock             clock.Clock
	store             *store.Store[V]
	log               *eventlog.Log[store.Change[V]]
	feed              *store.Feed[V] // of the reflector; nil if the informer has scopes
	initial           initialGate
	reflector         Loop
	scopes            *scoped.Loop[V] // the reflector, if the informer has scopes; otherwise nil
	notFound          func() []string
	terminating       func(V) bool
	coalesceThreshold uint64
	handlerGrace      time.Duration
	batchSize         int
	stopped           chan struct{} // closed when Run returns
	returned          atomic.Bool   // whether it is closed, for goroutines outside a synctest bubble

	mu       sync.Mutex // guards the fields below
	phase    phase
	ctx      context.Context          // of Run
	handlers []*Handler[V]            // receive later changes; the slice is replaced, never modified
	running  map[*Handler[V]]struct{} // have a goroutine

	naming sync.Mutex // held while handlers get their unique names
}

// phase is a phase of an informer's life cycle.
type phase int

const (
	notStarted phase = iota
	started
	stopped
)

// New returns an informer that is not running. It does no I/O and starts no goroutine.
func New[V any](config Config[V]) *Informer[V] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.HandlerGrace == 0 {
		config.HandlerGrace = defaultHandlerGrace
	}
	if config.batchSize == 0 {
		config.batchSize = batchSize
	}
	log := eventlog.New[store.Change[V]]()
	config.Store.Log = log
	config.Store.CompareBytes = config.Reflector.MaxInFlight()
	config.Store.Filter, config.Store.Now = config.Filter, config.Clock.Now
	var loop *scoped.Loop[V] // set below
	if config.Scopes != nil {
		config.Store.Scoped = true
		config.Store.Absent = func(key string) error { return loop.WhyAbsent(key) }
	}
	objects := store.New(config.Store)
	config.Reflector.Clock = config.Clock
	if report := config.Reflector.Report; report != nil {
		config.Reflector.Report = func(ctx context.Context, err error) {
			objects.EndIfAbandoned()
			report(ctx, err)
		}
	}
	i := &Informer[V]{
		id:                lastID.Add(1),
		name:              config.Name,
		clock:             config.Clock,
		store:             objects,
		log:               log,
		notFound:          config.NotFound,
		terminating:       config.Terminating,
		coalesceThreshold: config.CoalesceThreshold,
		handlerGrace:      config.HandlerGrace,
		batchSize:         config.batchSize,
		initial:           initialGate{clock: config.Clock},
		running:           make(map[*Handler[V]]struct{}),
		stopped:           make(chan struct{}),
	}
	config.Reflector.HoldInitial = i.initial.hold
	if config.Scopes != nil {
		loop = scoped.New(scoped.Config[V]{
			Name: config.Name, Store: objects, Set: config.Scopes, Reflector: config.Reflector, Clock: config.Clock,
			Stopped: i.stopped, ErrStopped: ErrStopped,
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
func (i *Informer[V]) Store() *store.Store[V] { return i.store }

// Reflector returns the informer's reflector.
func (i *Informer[V]) Reflector() Loop { return i.reflector }

// Size returns the number of stored objects, and the number of keys that are quarantined because
// their newest state could not be stored.
func (i *Informer[V]) Size() (objects, quarantined int) {
	quarantined, _ = i.store.QuarantineSize()
	return i.store.Len(), quarantined
}

// PackedSize returns the bytes of the packed objects, and the number and bytes of the decoded
// objects that the store keeps.
func (i *Informer[V]) PackedSize() (packed, hot int64, hotObjects int) { return i.store.PackedSize() }

// Unkeyed returns the number of states without a readable key that the last committed list had or
// an event has brought since. They could not be stored.
func (i *Informer[V]) Unkeyed() int {
	_, unkeyed := i.store.QuarantineSize()
	return unkeyed
}

// KeyError returns an error that wraps store.ErrNotStored and the cause if the newest state of an
// object arrived and could not be stored, one that wraps ErrNoScope if the object is not stored and
// no listed scope may hold it, and nil otherwise.
func (i *Informer[V]) KeyError(key string) error { return i.store.KeyError(key) }

// QuarantinedKeys returns the first quarantined keys in key order, at most limit, and their causes.
func (i *Informer[V]) QuarantinedKeys(limit int) []store.KeyFailure {
	return i.store.QuarantinedKeys(limit)
}
