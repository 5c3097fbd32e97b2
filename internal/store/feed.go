// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// Feed is the sink of a reflector. It feeds the whole collection of a store, or one or more scopes
// of it. Items that are in none of these are foreign: they are counted and passed over, undecoded.
type Feed[V any] struct {
	store    *Store[V]
	whole    bool // the feed is of the whole collection, and the fields below are not used
	locate   Locate
	asked    []*Scope                 // all scopes that the feed has had, sorted by First
	scopes   atomic.Pointer[[]*Scope] // sorted by First; written under both locks of the store
	progress progress
	foreign  atomic.Uint64
}

// Locate assigns the items of a feed to its scopes.
type Locate struct {
	// Accepts, if set, reports whether an item may be in one of the scopes.
	Accepts func(feed.Item) bool
	// Hash returns an item's hash. The item is in the scope that has this hash between First and
	// Last. If Hash is nil, the feed has one scope, which has all accepted items.
	Hash func(feed.Item) uint64
}

var _ feed.Sink = (*Feed[any])(nil)

// WholeFeed returns the feed of a store without scopes.
func (s *Store[V]) WholeFeed() *Feed[V] { return &Feed[V]{store: s, whole: true} }

// NewFeed returns a feed of scopes. from is the version at which the feed starts: every scope must
// have reached it. It is empty if the feed starts with a list.
func (s *Store[V]) NewFeed(scopes []*Scope, locate Locate, from string) *Feed[V] {
	s.lockForScopes()
	defer s.unlockForScopes()
	f := &Feed[V]{store: s, locate: locate, progress: progress{version: from}}
	sorted := slices.Clone(scopes)
	slices.SortFunc(sorted, func(a, b *Scope) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	f.asked = sorted
	f.scopes.Store(&sorted)
	for _, scope := range sorted {
		scope.feeds = append(scope.feeds, &f.progress)
	}
	return f
}

// Close detaches the feed from all its scopes. Its items are foreign from then on.
func (f *Feed[V]) Close() {
	f.store.lockForScopes()
	defer f.store.unlockForScopes()
	for _, scope := range f.Scopes() {
		f.leave(scope)
	}
	f.scopes.Store(new([]*Scope))
}

// Drop detaches the feed from a scope, whose items are foreign from then on.
func (f *Feed[V]) Drop(scope *Scope) {
	f.store.lockForScopes()
	defer f.store.unlockForScopes()
	scopes := slices.Clone(f.Scopes())
	if i := slices.Index(scopes, scope); i >= 0 {
		f.leave(scope)
		scopes = slices.Delete(scopes, i, i+1)
		f.scopes.Store(&scopes)
	}
}

// leave detaches the feed from a scope, which keeps the version that it has reached. The caller
// holds both locks.
func (f *Feed[V]) leave(scope *Scope) {
	if f.feeds(scope) {
		scope.version = newer(scope.version, f.progress.version)
		scope.feeds = slices.DeleteFunc(scope.feeds, func(p *progress) bool { return p == &f.progress })
	}
}

// feeds reports whether the feed feeds a scope. It does not any more once the server was restored
// from a backup and another feed has listed the scope. The caller holds the writer's lock.
func (f *Feed[V]) feeds(scope *Scope) bool { return slices.Contains(scope.feeds, &f.progress) }

// FeedsAllScopes reports whether the feed feeds all its scopes. One that does not should be closed.
func (f *Feed[V]) FeedsAllScopes() bool {
	f.store.writer.Lock()
	defer f.store.endWrite()
	return !slices.ContainsFunc(f.Scopes(), func(scope *Scope) bool { return !f.feeds(scope) })
}

// HasCaughtUp reports whether the feed has reached the versions of its scopes, by whichever feed.
func (f *Feed[V]) HasCaughtUp() bool {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return !slices.ContainsFunc(f.Scopes(), func(scope *Scope) bool { return feed.IsOlder(f.progress.version, scope.reached()) })
}

// NotOlderThan returns the highest version reached by a scope that may hold the same keys as one of
// the feed's, or by one that was removed. The first list of these must not be older: it may have
// objects that the other scope has seen deleted before.
func (f *Feed[V]) NotOlderThan() (highest string) {
	f.store.lockForScopes()
	defer f.store.unlockForScopes()
	highest = f.store.scopes.left
	for _, scope := range f.Scopes() {
		for _, other := range scope.keysWith {
			highest = newer(highest, other.reached())
		}
	}
	for _, scope := range f.Scopes() {
		scope.floor = highest
	}
	f.store.expirePast()
	return highest
}

// Scopes returns the scopes that the feed has now. The slice must not be modified.
func (f *Feed[V]) Scopes() []*Scope { return *f.scopes.Load() }

// Foreign returns the number of items that were passed over. It does not count items of scopes that
// the feed has had.
func (f *Feed[V]) Foreign() uint64 { return f.foreign.Load() }

// scopeOf returns the scope of an item, or nil if the item is foreign.
func (f *Feed[V]) scopeOf(item feed.Item) *Scope { return f.scopeAmong(f.Scopes(), item) }

// passOver counts a foreign item, unless it is in a scope that the feed has had.
func (f *Feed[V]) passOver(item feed.Item) {
	if f.scopeAmong(f.asked, item) == nil {
		f.foreign.Add(1)
	}
}

func (f *Feed[V]) scopeAmong(scopes []*Scope, item feed.Item) *Scope {
	if len(scopes) == 0 || f.locate.Accepts != nil && !f.locate.Accepts(item) {
		return nil
	}
	if f.locate.Hash == nil {
		return scopes[0]
	}
	hash := f.locate.Hash(item)
	i, found := slices.BinarySearchFunc(scopes, hash, func(scope *Scope, hash uint64) int {
		switch {
		case scope.Last < hash:
			return -1
		case scope.First > hash:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return scopes[i]
}

// IsForeign reports whether an item is in none of the scopes.
func (f *Feed[V]) IsForeign(item feed.Item) bool { return !f.whole && f.scopeOf(item) == nil }

// Apply implements feed.Sink. An object whose state cannot be stored, or is to be ignored, keeps
// its last good state, but the collection's resourceVersion advances.
func (f *Feed[V]) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	unseen := f.whole && f.store.config.EmitUnseenDeletions
	return f.apply(event{eventType: eventType, progress: &f.progress, unseen: unseen}, item)
}

// Refuse applies an event whose state must not be stored: it removes the object. The deletion has
// LeftScope, unless eventType is Deleted.
func (f *Feed[V]) Refuse(eventType watch.EventType, item feed.Item) feed.Outcome {
	return f.apply(event{eventType: watch.Deleted, progress: &f.progress, refused: eventType != watch.Deleted}, item)
}

// MayBeUnseen reports whether Apply may append the deletion of an item's object to the log although
// the store does not hold the object. A caller that filters must call Refuse if the state at
// deletion does not pass.
func (f *Feed[V]) MayBeUnseen(item feed.Item) bool {
	s := f.store
	return f.whole && s.config.EmitUnseenDeletions && s.entries.Get(item.Key) == nil && s.isUnseen(item.Key, item)
}

func (f *Feed[V]) apply(e event, item feed.Item) feed.Outcome {
	if !f.whole && item.Repeated { // a scope's events are ordered by their versions alone
		return feed.Unchanged
	}
	s := f.store
	s.writer.Lock()
	defer s.endWrite()
	version := item.ResourceVersion
	if item.InOrder {
		item.ResourceVersion = "" // which is never compared
	}
	if f.whole {
		outcome := s.apply(e, item)
		if item.InOrder {
			s.setVersion(version)
		}
		return outcome
	}
	outcome := feed.Unchanged
	if e.scope = f.scopeOf(item); e.scope != nil && f.feeds(e.scope) {
		outcome = s.apply(e, item)
	} else if e.scope == nil {
		f.passOver(item)
	}
	f.advance(version)
	return outcome
}

// AdvanceVersion implements feed.Sink.
func (f *Feed[V]) AdvanceVersion(resourceVersion string) {
	if f.whole {
		f.store.advanceVersion(resourceVersion)
		return
	}
	f.store.writer.Lock()
	defer f.store.endWrite()
	f.advance(resourceVersion)
}

// advance is AdvanceVersion for a caller that holds the writer's lock.
func (f *Feed[V]) advance(resourceVersion string) {
	s := f.store
	s.mu.Lock()
	defer s.mu.Unlock()
	f.progress.version = newer(f.progress.version, resourceVersion)
	s.settleScopes(s.live.Load())
}

// HasVersion implements feed.Sink. It also reports true for a foreign item and, if Decode may change
// keys, for a state that Decode ignores.
func (f *Feed[V]) HasVersion(item feed.Item) bool {
	if f.IsForeign(item) {
		return true
	}
	if item.InOrder {
		return false
	}
	var entry Entry[V]
	hasVersion, err := f.store.hasVersion(item, &entry)
	return hasVersion || errors.Is(err, feed.ErrSkip)
}

// Quarantined implements feed.Sink. Scopes that are suspect count, as they are to be listed again.
func (f *Feed[V]) Quarantined() int {
	if f.whole {
		return int(f.store.quarantine.size.Load())
	}
	keys, unkeyed := f.store.quarantine.countsOf(f.Scopes())
	return keys + unkeyed + f.suspects()
}

// decideScoped handles the events whose outcome depends on scopes: the key has an entry of another
// scope, or the event is older than another event. old is the entry, nil if there is none. It
// returns false if the event must be applied as in a store without scopes. The caller holds the
// writer's lock.
func (s *Store[V]) decideScoped(e event, itemKey string, item feed.Item, old *Entry[V]) (outcome feed.Outcome, done bool) {
	id := identityOf(item.UID, item.ResourceVersion)
	own := old != nil && old.scope() == e.scope
	if e.eventType == watch.Deleted {
		if own {
			return feed.Unchanged, !e.refused && !old.sameObject(id)
		}
		if old.isTakenOverBy(e) && old.sameObject(id) && !old.sameVersion(id) && !id.before(old.identity) {
			s.moveTo(e.scope, item.Key, old)
			return feed.Applied, false
		}
		if f, failed := s.quarantine.failed(itemKey); failed && f.scope == e.scope && (f.uid == id.uid || f.uid == 0) {
			s.quarantine.release(itemKey)
		}
		s.withMu(func() { s.recordPast(e.deletionOf(item), e.progress) })
		return feed.Unchanged, true
	}
	_, failed := s.quarantine.failed(itemKey)
	switch {
	case s.hasSeen(e, item):
		return feed.Stale, true
	case own && old.sameObject(id): // the next state, whatever other scopes have seen since
		return feed.Applied, false
	case s.isPast(item.Key, item.ResourceVersion), s.hasNewer(e.scope, itemKey, item.ResourceVersion, id, old):
		return feed.Stale, true
	case own || old == nil:
		return feed.Applied, false
	case old.sameVersion(id) && !failed:
		s.moveTo(e.scope, item.Key, old)
		return feed.Unchanged, true
	}
	return feed.Applied, false
}

func (e event) deletionOf(item feed.Item) *pastDeletion {
	return &pastDeletion{key: item.Key, version: item.ResourceVersion, scope: e.scope}
}

// isTakenOverBy reports whether a deletion in another scope is one of the entry, which may be nil:
// its own scope is about to leave, or the object has moved and is refused there.
func (e *Entry[V]) isTakenOverBy(by event) bool {
	scope := e.ownScope()
	return scope != nil && (scope.retiring || by.refused)
}

// hasSeen reports whether an event's scope has reached the event's version before, by another feed.
func (s *Store[V]) hasSeen(e event, item feed.Item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	reached := e.scope.reached()
	return item.ResourceVersion != "" && (item.ResourceVersion == reached || feed.IsOlder(item.ResourceVersion, reached))
}

func (s *Store[V]) withMu(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// hasNewer reports whether another scope has a newer state of a key than the state of a scope: its
// entry, which is old or nil, or one that could not be stored or is ignored. A scope that retires
// takes over neither, except an older failure of one that retires, too. The caller holds the writer's
// lock.
func (s *Store[V]) hasNewer(scope *Scope, itemKey, version string, id identity, old *Entry[V]) bool {
	f, failed := s.quarantine.failed(itemKey)
	takesOver := !scope.retiring || failed && f.scope.retiring && feed.IsOlder(f.version, version)
	if s.isPast(itemKey, version) || failed && f.scope != scope && !takesOver {
		return true
	}
	if old == nil || old.scope() == scope || !scope.retiring && !id.before(old.identity) {
		return false
	}
	s.withMu(func() { scope.suspectIfUndone(old.scope()) })
	return true
}

// moveTo changes the scope of a key's live entry, and of *old, without a change in the log. The
// caller holds the writer's lock.
func (s *Store[V]) moveTo(scope *Scope, key string, old *Entry[V]) {
	entry := *old
	entry.indexed = s.maker.interner.intern(old.byIndex(), scope, nil)
	s.withMu(func() {
		s.prepareChange("").entries.Put(key, entry.mapItem())
		countScopes(old, &entry)
	})
	old.indexed = entry.indexed
}

// takeOver assigns a state that could not be stored, or is ignored, to the scope of its event: as if
// it had been stored, the last good entry, old or nil, moves to the scope, and older states of other
// scopes are not stored. The caller holds the writer's lock.
func (s *Store[V]) takeOver(e event, item feed.Item, old *Entry[V]) {
	if e.scope == nil {
		return
	}
	if old != nil && old.scope() != e.scope {
		s.moveTo(e.scope, item.Key, old)
	}
	s.withMu(func() { s.recordPast(e.deletionOf(item), e.progress) })
}

// deferDeletion reports whether a deletion must wait for scopes to which the object may have moved,
// and records it in any case. final is the final state, nil if it is unknown. The caller holds the
// writer's lock.
func (s *Store[V]) deferDeletion(e event, item feed.Item, old, final *Entry[V]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordPast(e.deletionOf(item), e.progress)
	if e.refused || !isPending(e.scope, item.Key, item.ResourceVersion, e.progress) {
		return false
	}
	if final != nil {
		final = new(*final) // a copy: not the one that shares the memory of old
	}
	s.deferMove(item.Key, item.ResourceVersion, old, final)
	return true
}
