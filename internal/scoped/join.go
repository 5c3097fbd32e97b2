// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// joinRetryInterval is the time after which watches that could not be joined are joined again.
const joinRetryInterval = 30 * time.Second

// join joins the streams of listed scopes that differ only in their ranges of hashes. If the joined
// stream fails before it has received an event or a bookmark, for example because the server no
// longer has the version, it is ended alone. Scopes whose versions cannot be compared have no
// lowest one, and are not joined.
func (l *Loop) join(ctx context.Context) {
	if l.joinFailed.CompareAndSwap(true, false) {
		l.retryJoin = l.clock.Now().Add(joinRetryInterval)
	}
	if l.clock.Now().Before(l.retryJoin) {
		return
	}
	l.retryJoin = time.Time{}
	if l.store.IsVacant() { // a joined stream starts at a version that must be listed first, which calls join again
		return
	}
	groups := make(map[scope.Scope][]*heldScope)
	for _, held := range l.all() {
		if held.name.Hash.Field != "" && IsClosed(held.synced) && held.state == scope.Held {
			groups[held.name.WithoutRange()] = append(groups[held.name.WithoutRange()], held)
		}
	}
	for name, group := range groups {
		if slices.ContainsFunc(l.allStreams(), func(s *stream) bool { return s.joins && s.group == name }) {
			continue
		}
		for _, chunk := range chunks(group, l.isSharded(group)) {
			if from := l.store.LowestVersion(partsOf(chunk)); !l.hasStream(chunk) && feed.Reaches(from, from) {
				l.start(ctx, chunk, from)
			}
		}
	}
}

// chunks divides the scopes of a group, one chunk for each request: as few as possible with up to
// scope.MaxRanges ranges if the server sends the requested ranges alone, and one otherwise. It
// sorts the group.
func chunks(group []*heldScope, sharded bool) (all [][]*heldScope) {
	slices.SortFunc(group, func(a, b *heldScope) int { return cmp.Compare(a.name.Hash.First, b.name.Hash.First) })
	if !sharded {
		return [][]*heldScope{group}
	}
	var chunk []*heldScope
	ranges := 0
	for i, held := range group {
		if i == 0 || group[i-1].name.Hash.Last+1 != held.name.Hash.First { // not adjacent
			ranges++
		}
		if ranges > scope.MaxRanges {
			all, chunk, ranges = append(all, chunk), nil, 1
		}
		chunk = append(chunk, held)
	}
	return append(all, chunk)
}

// isSharded reports whether no response for a group has had items outside of the requested ranges.
// Such an item is the only proof, as a response need not state that the server has applied the
// shard selector.
func (l *Loop) isSharded(group []*heldScope) bool {
	name := group[0].name.WithoutRange()
	if l.unsharded[name] {
		return false
	}
	for _, stream := range l.allStreams() {
		if stream.group == name && stream.feed.OutOfScope() > 0 {
			l.unsharded[name] = true
		}
	}
	return !l.unsharded[name]
}

// hasStream reports whether one stream feeds exactly these scopes, and requests exactly their
// ranges.
func (l *Loop) hasStream(chunk []*heldScope) bool {
	request := scope.Join(namesOf(chunk))
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.streams, func(stream *stream) bool {
		return len(stream.held) == len(chunk) && stream.request.Equal(request)
	})
}

// finishJoins replaces streams by the joined streams that have caught up with them. It ends a
// joined stream that no longer feeds all its scopes, because another stream has noticed a restore
// of the server.
func (l *Loop) finishJoins(ctx context.Context) {
	streams := l.allStreams()
	for _, joined := range streams {
		switch {
		case !joined.joins:
		case !joined.feed.FeedsAllScopes():
			l.joinFailed.Store(true)
			joined.cancel()
		case joined.proven.Load() && joined.feed.HasCaughtUp():
			l.replaceStreams(joined, streams)
			if !joined.feed.FeedsAllScopes() { // since just now: nothing feeds some of its scopes
				held := joined.held
				l.stopFeeding(joined, held)
				l.list(ctx, held)
			}
		}
	}
}

// replaceStreams detaches the other streams from the scopes of a joined one. If one of them has not
// seen that the server has the history that it received, the joined one confirms it by a list.
func (l *Loop) replaceStreams(joined *stream, streams []*stream) {
	joined.joins = false
	for _, other := range streams {
		if other != joined && other.group == joined.group {
			if other.reflector.HistoryInDoubt() {
				joined.reflector.ConfirmHistory()
			}
			l.stopFeeding(other, joined.held)
		}
	}
}

// stopStreams detaches all streams from scopes, and ends those that have no others.
func (l *Loop) stopStreams(scopes []*heldScope) {
	for _, stream := range l.allStreams() {
		l.stopFeeding(stream, scopes)
	}
}

// stopFeeding detaches a stream from those of scopes that it feeds, and ends the stream if it has
// no others.
func (l *Loop) stopFeeding(stream *stream, scopes []*heldScope) {
	stopped := sets.New(scopes...)
	var gone, rest []*heldScope
	l.mu.Lock()
	for _, held := range stream.held {
		if !stopped.Has(held) {
			rest = append(rest, held)
			continue
		}
		gone = append(gone, held)
		held.freshAt = latest(held.freshAt, stream.reflector.Status().FreshAt)
	}
	stream.held = rest
	l.mu.Unlock()
	if len(gone) == 0 {
		return
	}
	stream.feed.Drop(partsOf(gone))
	if len(rest) == 0 {
		stream.cancel()
	}
}

// joinTimer returns a channel that receives a value when joining must be tried again. It is nil if
// there is nothing to try again.
func (l *Loop) joinTimer() (expired <-chan time.Time, stop func()) {
	if l.retryJoin.IsZero() {
		return nil, func() {}
	}
	timer := l.clock.NewTimer(l.retryJoin.Sub(l.clock.Now()))
	return timer.C(), func() { timer.Stop() }
}
