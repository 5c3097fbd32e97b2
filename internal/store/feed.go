// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"iter"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// Feed is the sink of a reflector, and the only way in for what a server sends. It feeds the whole
// collection of a store, or scopes of it that differ in their ranges of hashes alone. Items that
// are in none of these are out of scope: they are counted and passed over, undecoded.
type Feed struct {
	store      *Store
	config     FeedConfig
	name       scope.Scope              // of the scopes, without a range
	had        []*Scope                 // all scopes that the feed has had, sorted by their ranges
	scopes     atomic.Pointer[[]*Scope] // those that it has now; written under both locks of the store
	progress   progress
	taken      atomic.Bool // it has its scopes; see Take
	outOfScope atomic.Uint64

	clears uint64 // those of the store when the feed began, or was last listed; written under both locks of the store
}

// FeedConfig configures a Feed.
type FeedConfig struct {
	// Scopes are the scopes to feed. Empty for the whole collection, of a store that has no scopes.
	Scopes []*Scope
	// From, if set, is the version at which the feed starts, instead of with a list. Other feeds
	// have its scopes until its first event, bookmark or list, or Take.
	From string
	// Progressed, if set, is called after each event, bookmark and list, and Listed after each
	// list, before Progressed.
	Progressed, Listed func()
}

var _ feed.Sink = (*Feed)(nil)

// NewFeed returns a feed.
func (s *Store) NewFeed(config FeedConfig) *Feed {
	if config.Progressed == nil {
		config.Progressed = func() {}
	}
	if config.Listed == nil {
		config.Listed = func() {}
	}
	if !s.isScoped() {
		config.Scopes = s.scopes.held // the whole collection
	}
	f := &Feed{store: s, config: config, had: slices.Clone(config.Scopes), progress: progress{version: config.From}}
	f.name = f.had[0].Name.WithoutRange()
	slices.SortFunc(f.had, func(a, b *Scope) int { return cmp.Compare(a.Name.Hash.First, b.Name.Hash.First) })
	s.lockScopes()
	defer s.unlockScopes()
	f.clears = s.clears
	if f.scopes.Store(&f.had); config.From == "" {
		f.take()
	}
	return f
}

// Take makes the feed that of its scopes, in place of others, whose items are dropped from then
// on. Events from before what a scope has reached are dropped, too. A scope that was cleared, or is
// behind the feed, as the server was restored, makes the feed list its scopes first.
func (f *Feed) Take() {
	if !f.taken.Load() {
		f.store.lockScopes()
		defer f.store.unlockScopes()
		f.take()
	}
}

// take is Take for a caller that holds all locks of the store.
func (f *Feed) take() {
	for _, c := range f.Scopes() {
		if f.config.From != "" && (c.cleared || feed.IsOlder(c.reached(), f.progress.version)) {
			f.clears = f.store.clears - 1
		}
		c.version, c.feed = c.reached(), &f.progress
	}
	f.taken.Store(true)
	f.store.scopes.oldest = nil
}

// Close detaches the feed from all its scopes. Its items are out of scope from then on.
func (f *Feed) Close() { f.Drop(f.Scopes()) }

// Drop detaches the feed from scopes, whose items are out of scope from then on.
func (f *Feed) Drop(scopes []*Scope) {
	f.store.lockScopes()
	defer f.store.unlockScopes()
	dropped := make(map[*Scope]bool, len(scopes))
	for _, c := range scopes {
		dropped[c] = true
	}
	rest := slices.DeleteFunc(slices.Clone(f.Scopes()), func(c *Scope) bool {
		if dropped[c] && f.feeds(c) { // which keeps the version that it has reached
			c.version, c.feed = c.reached(), nil
		}
		return dropped[c]
	})
	f.scopes.Store(&rest)
	f.store.scopes.oldest = nil
}

// feeds reports whether the feed feeds a scope: not before Take, and not after that of another one.
// The caller holds a lock of the store.
func (f *Feed) feeds(c *Scope) bool { return c.feed == &f.progress }

// NotOlderThan returns the version that the next list of the scopes must not be older than. An
// older first list could bring back objects whose deletion was seen by a scope that may hold the
// same keys, or by a removed one. A later list must only be as new as what an earlier feed of the
// scope had reached and, if tombstones that the scope still needed were evicted, as its minVersion.
func (f *Feed) NotOlderThan() string {
	s := f.store
	s.lockBoth()
	defer s.unlockBoth()
	lowest, peers := "", s.scopes.removedVersion
	for _, c := range s.scopes.held {
		if f.sharesKeysWith(c) {
			peers = newer(peers, c.reached())
		}
	}
	for _, c := range f.Scopes() {
		if !c.isListed() {
			c.minVersion = peers
		}
		if feed.IsOlder(c.reached(), c.minVersion) || c.reached() == "" {
			lowest = newer(lowest, c.minVersion)
		}
		lowest = newer(lowest, c.version)
	}
	s.scopes.oldest = nil
	s.settle()
	return lowest
}

// reachListed records that scopes of the feed have reached the version of a list. The caller holds
// both locks of the store.
func (f *Feed) reachListed(scopes iter.Seq[*Scope], version string) {
	f.progress.version, f.clears = version, f.store.clears
	for scope := range scopes {
		scope.version, scope.cleared = "", false // the version is that of the feed
	}
}

// sharesKeysWith reports whether a scope may hold the same keys as another scope of the feed.
func (f *Feed) sharesKeysWith(c *Scope) bool {
	if f.name.Hash.Field != scope.Namespace {
		return (len(f.had) > 1 || f.had[0] != c) && scope.MayShareKeys(f.name, c.Name)
	}
	for _, own := range f.had {
		if own != c && scope.MayShareKeys(own.Name, c.Name) {
			return true
		}
	}
	return false
}

// isOfUIDs reports whether the feed's scopes are ranges of the hashes of UIDs.
func (f *Feed) isOfUIDs() bool { return f.name.Hash.Field == scope.UID }

// Scopes returns the scopes that the feed has now. The slice must not be modified.
func (f *Feed) Scopes() []*Scope { return *f.scopes.Load() }

// OutOfScope returns the number of items that were passed over. It does not count items of scopes
// that the feed has had.
func (f *Feed) OutOfScope() uint64 { return f.outOfScope.Load() }

// scopeOf returns the scope of an item, or nil if the item is out of scope.
func (f *Feed) scopeOf(item feed.Item) *Scope { return f.scopeAmong(f.Scopes(), item) }

// countOutOfScope counts an item that is out of scope, unless it is in a scope that the feed has
// had.
func (f *Feed) countOutOfScope(item feed.Item) {
	if f.scopeAmong(f.had, item) == nil {
		f.outOfScope.Add(1)
	}
}

// scopeAmong returns the one of some scopes that has an item, or nil. An unreadable item of which
// no scope is known counts for the first.
func (f *Feed) scopeAmong(scopes []*Scope, item feed.Item) *Scope {
	if len(scopes) > 0 && item.IsUnreadable() && (item.Key == "" || f.isOfUIDs() && item.UID == "") {
		return scopes[0]
	}
	if len(scopes) == 0 || f.name.Namespace != "" && namespaceOf(item.Key) != f.name.Namespace || f.name.Name != "" && nameOf(item.Key) != f.name.Name {
		return nil
	}
	var hash uint64
	switch f.name.Hash.Field {
	case scope.UID:
		hash = scope.HashOf(item.UID)
	case scope.Namespace:
		hash = scope.HashOf(namespaceOf(item.Key))
	default:
		return scopes[0]
	}
	i, found := slices.BinarySearchFunc(scopes, hash, func(c *Scope, hash uint64) int {
		switch {
		case c.Name.Hash.Last < hash:
			return -1
		case c.Name.Hash.First > hash:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return scopes[i]
}

// Apply implements feed.Sink. The collection's resourceVersion advances, too, if the state cannot
// be stored or is to be ignored.
func (f *Feed) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	defer f.config.Progressed()
	f.Take()
	s := f.store
	e := event{scope: f.scopeOf(item), eventType: eventType, item: item}
	switch {
	case e.scope == nil:
		f.countOutOfScope(item)
		if !item.Unordered {
			f.advance(item.ResourceVersion)
		}
		return feed.Unchanged
	case !e.scope.whole && item.Repeated: // a scope's events are ordered by their versions alone
		return feed.Unchanged
	}
	f.filter(&e)
	s.writer.Lock()
	defer s.endWrite()
	switch {
	case !f.feeds(e.scope):
		return feed.Unchanged
	case f.clears != s.clears, e.scope.outdated:
		return feed.Outdated
	case feed.IsOlder(item.ResourceVersion, e.scope.minVersion) && !feed.IsOlder(item.ResourceVersion, e.scope.reached()):
		return feed.Outdated // and is no repeated one, which is dropped
	}
	return s.apply(e)
}

// filter applies the filter to an event. One whose state is refused becomes a deletion.
func (f *Feed) filter(e *event) {
	s := f.store
	isDeletion, passes := e.eventType == watch.Deleted, true
	e.unstored = isDeletion && e.scope.whole && s.config.EmitUnstoredDeletions
	switch {
	case s.config.Filter == nil:
	case !isDeletion && !e.item.Repeated && !e.item.InOrder && !s.Transforms() && s.hasVersionOf(e.item):
		// It has passed before. With a transform, which finds the key, the filter is called first.
	case !isDeletion, e.unstored && s.entries.Get(e.item.Key) == nil && s.isUnstored(e.item.Key, e.item):
		e.item, passes = s.filter(e.item)
	}
	if !passes {
		e.eventType, e.refused, e.unstored = watch.Deleted, !isDeletion, false
	}
}

// CountUnreadable implements feed.Sink. The event counts for the first scope of the feed.
func (f *Feed) CountUnreadable(err error) {
	defer f.config.Progressed()
	f.Take()
	s := f.store
	s.writer.Lock()
	defer s.endWrite()
	scopes := f.Scopes()
	if len(scopes) == 0 || f.clears != s.clears || !f.feeds(scopes[0]) {
		return
	}
	s.quarantine.add("", failure{scope: scopes[0].mark()})
	s.deferReport("", &feed.EffectError{Effect: feed.Absent, Err: err})
}

// AdvanceVersion implements feed.Sink.
func (f *Feed) AdvanceVersion(resourceVersion string) {
	f.Take()
	f.advance(resourceVersion)
	f.config.Progressed()
}

func (f *Feed) advance(resourceVersion string) {
	s := f.store
	s.lockBoth()
	defer s.unlockBoth()
	if f.clears != s.clears || f.isOutdated() { // the feed lacks objects of before: the list of another one may be older
		return
	}
	f.progress.version = newer(f.progress.version, resourceVersion)
	s.settle()
}

// HasVersion implements feed.Sink. It also reports true for an item that is out of scope, for every
// version of an object that the filter refuses, and for a state that Decode ignores.
func (f *Feed) HasVersion(item feed.Item) bool {
	s := f.store
	if f.scopeOf(item) == nil {
		return true
	}
	if s.config.Filter != nil && s.Snapshot().Entry(item.Key) == nil && (s.Transforms() || item.InOrder || !s.hasVersionOf(item)) {
		if _, passes := s.filter(item); !passes {
			return true
		}
	}
	return !item.InOrder && s.hasVersionOf(item) || !s.Transforms() && s.skips(item)
}

// NeedsList implements feed.Sink. It reports true after Clear, up to the feed's next list, for
// scopes of an earlier epoch, and if a feed has reached less than the feeds before it: a server
// that was restored to a version in between would not be noticed.
func (f *Feed) NeedsList() bool {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	return f.clears != f.store.clears || f.isOutdated() || f.isBehind()
}

// Quarantined implements feed.Sink.
func (f *Feed) Quarantined() int {
	n := 0
	for _, c := range f.Scopes() {
		keys, unnamed := f.store.quarantine.counts(c.mark())
		n += keys + unnamed
	}
	return n
}
