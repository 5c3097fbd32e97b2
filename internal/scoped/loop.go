// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// Config configures a Loop.
type Config struct {
	Name      string // of the informer, for errors
	Store     *store.Store
	Set       *scope.Set
	Reflector reflector.Config // of each stream, but for its Sink, From and NotOlderThan
	Clock     clock.Clock
	Stopped   <-chan struct{} // closed once the informer has stopped
}

// Loop feeds the store of an informer that has scopes, in place of a reflector. Its methods are
// safe for concurrent use.
type Loop struct {
	config  Config
	store   *store.Store
	clock   clock.Clock
	synced  chan struct{} // closed once the scopes of the start have been listed
	recheck chan struct{} // of capacity 1; see signal
	ended   chan *stream  // see forget
	watched atomic.Bool   // see awaitsProgress
	running sync.WaitGroup

	// The fields below belong to the loop's goroutine.
	complete bool                   // the scopes of the start have been added
	groups   map[scope.Scope]*group // by scopes without a range
	wakeAt   time.Time              // when the loop settles although nothing has changed; zero if never

	mu      sync.Mutex // guards the fields below; held for O(scopes)
	phase   reflector.Phase
	held    map[scope.Scope]*heldScope
	order   []*heldScope // in the order in which they were added
	streams []*stream
	// requests counts those of streams that have ended.
	requests feed.RequestStatus
	emptied  map[string]time.Time // the namespaces that were deleted, and when; see emptiedFor
	// allHashes caches hasAllHashes for the store's listing allHashesAt.
	allHashes   map[scope.Scope]bool
	allHashesAt uint64
}

// heldScope is a scope of the informer. Fields without a guard belong to the loop's goroutine, or
// do not change.
type heldScope struct {
	name    scope.Scope
	part    *store.Scope
	state   scope.State
	synced  chan struct{} // closed once it has been listed
	gone    chan struct{} // closed once it is no longer held
	refused string        // the version from which the server last refused a joined watch with 410
	freshAt time.Time     // of streams that no longer feed it, or when it was added; guarded by Loop.mu
	leaving bool          // it is removed, or about to be; guarded by Loop.mu
}

// New returns a loop that is not running.
func New(config Config) *Loop {
	return &Loop{
		config: config, store: config.Store, clock: config.Clock,
		synced:    make(chan struct{}),
		recheck:   make(chan struct{}, 1),
		ended:     make(chan *stream),
		phase:     reflector.Idle,
		held:      make(map[scope.Scope]*heldScope),
		groups:    make(map[scope.Scope]*group),
		emptied:   make(map[string]time.Time),
		allHashes: make(map[scope.Scope]bool),
	}
}

// Run feeds the store until ctx ends. It returns nil, or the panic of a stream.
func (l *Loop) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer l.running.Wait()
	defer cancel()
	l.setPhase(reflector.Listing)
	defer l.setPhase(reflector.Stopped)
	subscription := l.config.Set.Subscribe()
	defer subscription.Close()
	subscription.Count(l.objects)
	complete := l.config.Set.Complete()
	l.complete = complete == nil
	for ctx.Err() == nil {
		var timer <-chan time.Time
		if !l.wakeAt.IsZero() {
			timer = l.clock.After(l.wakeAt.Sub(l.clock.Now()))
		}
		select {
		case <-ctx.Done():
		case <-subscription.Ready():
			l.take(ctx, subscription.Take())
		case <-complete:
			complete, l.complete = nil, true
			l.take(ctx, subscription.Take())
		case <-l.recheck:
		case <-timer:
		case ended := <-l.ended:
			if ended.err != nil && ctx.Err() == nil {
				return ended.err
			}
			l.forget(ctx, ended)
		}
		l.settle(ctx)
	}
	return nil
}

// settle takes the steps that changes of the set and the progress of streams allow.
func (l *Loop) settle(ctx context.Context) {
	l.watched.Store(l.awaitsProgress()) // before the state of the streams is read
	l.wakeAt = time.Time{}
	l.noteSynced()
	l.finishJoins()
	l.removeEmptied(ctx)
	l.join(ctx)
	l.config.Reflector.Changed()
}

// wakeBy makes the loop settle at a time, or before.
func (l *Loop) wakeBy(at time.Time) {
	if l.wakeAt.IsZero() || at.Before(l.wakeAt) {
		l.wakeAt = at
	}
}

// signal makes the loop settle.
func (l *Loop) signal() {
	select {
	case l.recheck <- struct{}{}:
	default:
	}
}

// take applies changes of the set: removals first, so that the store never has two scopes that must
// not be in one set.
func (l *Loop) take(ctx context.Context, changes []scope.Change) {
	var added, removed []*heldScope
	for _, change := range changes {
		held := l.find(change.Scope)
		switch {
		case change.State == scope.Held:
		case held == nil:
			l.recordEmptied(change.Scope, change.State == scope.Emptying)
		case change.State == scope.Emptying:
			held.state = scope.Emptying
		default:
			held.state = scope.Removed
			removed = append(removed, held)
		}
	}
	l.remove(removed, true)
	l.store.RemovePendingScopes(l.config.Set.Has)
	for _, change := range changes {
		if change.State != scope.Held && change.State != scope.HeldAgain {
			continue
		}
		if held := l.hold(change.Scope); held != nil {
			added = append(added, held)
		}
	}
	l.list(ctx, added)
}

func (l *Loop) find(name scope.Scope) *heldScope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[name]
}

// hold adds a scope and returns it, or nil if the informer holds it.
func (l *Loop) hold(name scope.Scope) *heldScope {
	if held := l.find(name); held != nil {
		held.state = scope.Held
		return nil
	}
	held := &heldScope{
		name: name, part: l.store.AddScope(name), synced: make(chan struct{}), gone: make(chan struct{}), freshAt: l.clock.Now(),
	}
	l.mu.Lock()
	l.held[name] = held
	l.order = append(l.order, held)
	l.mu.Unlock()
	l.store.Notify()
	return held
}

// noteSynced closes the channel of each listed scope and, once all initial scopes are listed, that
// of the informer.
func (l *Loop) noteSynced() {
	all := l.complete
	for _, held := range l.all() {
		switch {
		case IsClosed(held.synced):
		case l.store.ScopeState(held.part).Synced:
			close(held.synced)
		default:
			all = false
		}
	}
	if all && !IsClosed(l.synced) {
		l.store.MarkSynced()
		l.setPhase(reflector.Watching)
		close(l.synced)
	}
}

// awaitsProgress reports whether a scope waits for its removal: progress of a stream then matters.
func (l *Loop) awaitsProgress() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.order, func(held *heldScope) bool { return held.state != scope.Held })
}

func (l *Loop) all() []*heldScope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.order)
}

func (l *Loop) allStreams() []*stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.streams)
}

func (l *Loop) setPhase(phase reflector.Phase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.phase = phase
	l.config.Reflector.Changed()
}

// IsClosed reports whether a channel is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func partsOf(all []*heldScope) (parts []*store.Scope) {
	for _, held := range all {
		parts = append(parts, held.part)
	}
	return parts
}

func namesOf(all []*heldScope) (names []scope.Scope) {
	for _, held := range all {
		names = append(names, held.name)
	}
	return names
}
