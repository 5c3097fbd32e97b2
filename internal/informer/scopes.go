// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// scopes feeds the store of an informer that has scopes, in place of a reflector. Each scope has a
// stream of its own, except that scopes that differ only in their ranges of hashes share one.
//
// One goroutine, that of Run, starts and ends streams as the set changes and streams make progress.
// It is called the loop.
//
// A scope that leaves the set has one of three states; see scope.State. What happens to it:
//
//	Removed    removed at once; its objects are deleted with LeftScope
//	Replaced   retires in the store, is stopped once other scopes have its objects, then removed
//	Emptying   removed once it is empty or refused; its objects are deleted without LeftScope
type scopes[V any] struct {
	informer *Informer[V]
	config   reflector.Config // of each stream, but for what start sets
	set      *scope.Set
	synced   chan struct{} // closed once the scopes of the start have been listed
	recheck  chan struct{} // of capacity 1; see signal
	ended    chan *stream[V]
	watched  atomic.Bool // see awaitsProgress
	running  sync.WaitGroup
	waiting  atomic.Int32 // number of callers that wait for a scope to reach a version

	joinFailed atomic.Bool                  // a stream could not take the place of others
	retryJoin  time.Time                    // when streams are joined again, after a failure; belongs to the loop
	complete   bool                         // the scopes of the start have been added; belongs to the loop
	names      map[*store.Scope]scope.Scope // of the scopes that are held; belongs to the loop
	unsharded  map[scope.Scope]bool         // see isSharded; by groupOf; belongs to the loop

	mu      sync.Mutex // guards the fields below; held for O(scopes)
	phase   reflector.Phase
	held    map[scope.Scope]*heldScope
	order   []*heldScope // in the order in which they were added
	streams []*stream[V]
	past    reflector.Status     // counts of streams that have ended
	emptied map[string]time.Time // the namespaces that were deleted, and when; see emptiedFor
}

// heldScope is a scope of the informer. Fields without a guard belong to the loop, or do not
// change.
type heldScope struct {
	scope    scope.Scope
	part     *store.Scope
	state    scope.State
	synced   chan struct{} // closed once it has been listed
	gone     chan struct{} // closed once it is no longer held
	versions versionWaiters
	freshAt  time.Time // of streams that no longer feed it, or when it was added; guarded by scopes.mu
	stopped  bool      // its streams were ended, because it was replaced
	leaving  bool      // its objects are leaving the store; guarded by scopes.mu
}

func newScopes[V any](i *Informer[V], config reflector.Config, set *scope.Set) *scopes[V] {
	return &scopes[V]{
		informer: i, config: config, set: set,
		synced:  make(chan struct{}),
		recheck: make(chan struct{}, 1),
		ended:   make(chan *stream[V]),
		phase:   reflector.Idle,
		held:    make(map[scope.Scope]*heldScope),

		names:     make(map[*store.Scope]scope.Scope),
		unsharded: make(map[scope.Scope]bool),
	}
}

// Run feeds the store until ctx ends. It returns nil, or the panic of a stream.
func (s *scopes[V]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.running.Wait()
	defer cancel()
	s.setPhase(reflector.Listing)
	defer s.setPhase(reflector.Stopped)
	subscription := s.set.Subscribe()
	defer subscription.Close()
	complete := s.set.Complete()
	s.complete = complete == nil
	for ctx.Err() == nil {
		timer, stop := s.joinTimer()
		select {
		case <-ctx.Done():
		case <-subscription.Ready():
			s.take(ctx, subscription.Take())
		case <-complete:
			complete, s.complete = nil, true
			s.take(ctx, subscription.Take())
		case <-s.recheck:
		case <-timer:
		case ended := <-s.ended:
			if ended.err != nil && ctx.Err() == nil {
				stop()
				return ended.err
			}
		}
		stop()
		s.settle(ctx)
	}
	return nil
}

// settle takes the steps that changes of the set and the progress of streams allow.
func (s *scopes[V]) settle(ctx context.Context) {
	s.watched.Store(s.awaitsProgress()) // before the state of the streams is read
	s.noteSynced()
	s.finishJoins(ctx)
	s.finishLeaving()
	s.join(ctx)
	s.watched.Store(s.awaitsProgress())
}

// progressed is called after each change, event, bookmark or list of a stream.
func (s *scopes[V]) progressed(stream *stream[V]) {
	s.informer.versions.notify(s.informer.store.ResourceVersion)
	if s.waiting.Load() > 0 {
		s.wakeWaiters(stream)
	}
	if stream.proven.CompareAndSwap(false, true) || s.watched.Load() {
		s.signal()
	}
}

// signal makes the loop settle.
func (s *scopes[V]) signal() {
	select {
	case s.recheck <- struct{}{}:
	default:
	}
}

// take applies changes of the set: additions first, as they may replace scopes that are removed.
func (s *scopes[V]) take(ctx context.Context, changes []scope.Change) {
	var added []*heldScope
	for _, change := range changes {
		if held := s.find(change.Scope); held != nil && change.State == scope.HeldAgain {
			s.leave(held, scope.Removed)
		}
		if change.State == scope.Held || change.State == scope.HeldAgain {
			if held := s.hold(change.Scope); held != nil {
				added = append(added, held)
			}
		}
	}
	for _, change := range changes {
		if change.State == scope.Held || change.State == scope.HeldAgain {
			continue
		}
		if held := s.find(change.Scope); held != nil {
			s.leave(held, change.State)
		} else {
			s.recordEmptied(change.Scope, change.State == scope.Emptying)
		}
	}
	s.list(ctx, added)
}

func (s *scopes[V]) find(name scope.Scope) *heldScope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[name]
}

// hold adds a scope, and returns it, unless the informer has it. One that was replaced is added
// again beside the old one, and takes its objects over: some of them may be in other scopes by now.
func (s *scopes[V]) hold(name scope.Scope) *heldScope {
	if held := s.find(name); held != nil && held.state != scope.Replaced {
		held.state = scope.Held
		return nil
	}
	held := &heldScope{
		scope: name, part: &store.Scope{}, synced: make(chan struct{}), gone: make(chan struct{}), freshAt: s.informer.clock.Now(),
	}
	if name.Hash.Field != "" {
		held.part.First, held.part.Last = name.Hash.First, name.Hash.Last
	}
	if name.Namespace != "" || name.Hash.Field == scope.Namespace {
		held.part.MayHold = func(key string) bool { return scope.ShareKeys(name, scope.Scope{Namespace: namespaceOf(key)}) }
	}
	s.names[held.part] = name
	s.mu.Lock()
	s.held[name] = held
	s.order = append(s.order, held)
	s.mu.Unlock()
	defer s.informer.versions.notify(s.informer.store.ResourceVersion)
	s.informer.store.AddScope(held.part, func(other *store.Scope) (keys, moves bool) {
		return scope.ShareKeys(name, s.names[other]), scope.CanMove(name, s.names[other])
	})
	return held
}

// leave removes a scope, or prepares its removal. A scope that was replaced stays so, if it is then
// removed again: other scopes take its objects over.
func (s *scopes[V]) leave(held *heldScope, state scope.State) {
	if held.state == scope.Replaced {
		return
	}
	switch held.state = state; state {
	case scope.Removed:
		s.remove(held, true)
	case scope.Replaced:
		s.informer.store.RetireScope(held.part)
	case scope.Held, scope.HeldAgain, scope.Emptying:
	}
}

// finishLeaving removes the scopes that were replaced, once other scopes have their objects, and
// those of deleted namespaces, once they are empty or the server refuses to list them: a Namespace
// object is deleted after the objects in the namespace.
func (s *scopes[V]) finishLeaving() {
	for _, held := range s.all() {
		switch held.state {
		case scope.Emptying:
			if s.informer.store.ScopeState(held.part).Objects == 0 { // also if it was never listed
				s.remove(held, true)
			} else if s.isRefused(held) { // its permissions were deleted before it
				s.remove(held, false)
			}
		case scope.Replaced:
			s.finishReplacing(held)
		case scope.Held, scope.HeldAgain, scope.Removed:
		}
	}
}

// finishReplacing removes a scope that was replaced, once every scope that may have its objects has
// been listed, the scope has reached the versions of these lists, and they have reached its own.
// Every deletion is then known to one of them.
func (s *scopes[V]) finishReplacing(held *heldScope) {
	var others []*store.Scope
	for _, other := range s.all() {
		if other.state == scope.Held && scope.Overlap(held.scope, other.scope) {
			if !isClosed(other.synced) {
				return
			}
			others = append(others, other.part)
		}
	}
	for _, other := range others {
		if !held.stopped && !s.informer.store.HaveReached([]*store.Scope{held.part}, other) && !s.isFailing(held) {
			return
		}
	}
	if !held.stopped {
		held.stopped = true
		s.stopStreams(held)
	}
	if s.informer.store.HaveReached(others, held.part) {
		s.remove(held, true)
	}
}

// isFailing reports whether no stream of a scope makes progress.
func (s *scopes[V]) isFailing(held *heldScope) bool {
	return !slices.ContainsFunc(s.streamsOf(held), func(stream *stream[V]) bool {
		return stream.proven.Load() && stream.reflector.Phase() != reflector.Retrying
	})
}

// isRefused reports whether the server refuses the requests for a scope, or no longer knows it.
func (s *scopes[V]) isRefused(held *heldScope) bool {
	return slices.ContainsFunc(s.streamsOf(held), func(stream *stream[V]) bool {
		err := stream.reflector.Status().Err
		return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	})
}

// remove removes a scope. Handlers receive its objects as deletions, with LeftScope if they exist.
func (s *scopes[V]) remove(held *heldScope, exist bool) {
	s.recordEmptied(held.scope, held.state == scope.Emptying)
	s.mu.Lock()
	held.leaving = true // before readers miss its objects
	s.mu.Unlock()
	s.stopStreams(held)
	s.informer.store.RemoveScope(held.part, exist)
	delete(s.names, held.part)
	delete(s.unsharded, groupOf(held.scope)) // found again if the group has others
	s.mu.Lock()
	if s.held[held.scope] == held {
		delete(s.held, held.scope)
	}
	s.order = slices.DeleteFunc(s.order, func(other *heldScope) bool { return other == held })
	s.mu.Unlock()
	close(held.gone)
	s.informer.versions.notify(s.informer.store.ResourceVersion)
}

// noteSynced closes the channels of the scopes that have been listed and, once all of the start
// have, that of the informer.
func (s *scopes[V]) noteSynced() {
	all := s.complete
	for _, held := range s.all() {
		switch {
		case isClosed(held.synced):
		case s.informer.store.ScopeState(held.part).Synced:
			close(held.synced)
			s.informer.versions.notify(s.informer.store.ResourceVersion)
		default:
			all = false
		}
	}
	if all && !isClosed(s.synced) {
		s.informer.store.MarkSynced()
		s.setPhase(reflector.Watching)
		close(s.synced)
	}
}

// awaitsProgress reports whether the loop waits until a scope is empty, others have reached it, or
// a joined stream has reached the others.
func (s *scopes[V]) awaitsProgress() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.order, func(held *heldScope) bool { return held.state != scope.Held }) ||
		slices.ContainsFunc(s.streams, func(stream *stream[V]) bool { return stream.joins && stream.proven.Load() })
}

func (s *scopes[V]) all() []*heldScope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.order)
}

func (s *scopes[V]) setPhase(phase reflector.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phase = phase
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
