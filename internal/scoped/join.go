// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
)

const (
	// joinInterval is the least time between two joins of a group. A joined watch that receives
	// nothing must be open for as long, which is checked once in joinPoll.
	joinInterval = 10 * time.Second
	joinPoll     = time.Second
)

// joinBackoff returns the delays after joins that fail.
func joinBackoff() wait.Backoff {
	return wait.Backoff{Duration: 30 * time.Second, Factor: 2, Steps: 8, Cap: 30 * time.Minute}
}

// group is what the loop knows of the scopes that differ only in their ranges of hashes.
type group struct {
	unsharded bool      // see isSharded
	nextJoin  time.Time // not before
	backoff   wait.Backoff
}

// groupOf returns the group of a scope without a range.
func (l *Loop) groupOf(name scope.Scope) *group {
	if l.groups[name] == nil {
		l.groups[name] = &group{backoff: joinBackoff()}
	}
	return l.groups[name]
}

// join joins the streams of listed scopes that differ only in their ranges of hashes. Scopes whose
// versions cannot be compared have no lowest one, and are not joined.
func (l *Loop) join(ctx context.Context) {
	if l.store.IsCleared() { // the version of a scope must be listed first, which calls join again
		return
	}
	groups := make(map[scope.Scope][]*heldScope)
	for _, held := range l.all() {
		if held.name.Hash.Field != "" {
			groups[held.name.WithoutRange()] = append(groups[held.name.WithoutRange()], held)
		}
	}
	maps.DeleteFunc(l.groups, func(name scope.Scope, _ *group) bool { return groups[name] == nil })
	for name, all := range groups {
		isJoining := slices.ContainsFunc(l.allStreams(), func(s *stream) bool { return s.from != "" && s.group == name })
		if listed := slices.DeleteFunc(all, func(held *heldScope) bool { return !l.canJoin(held) }); len(listed) > 0 && !isJoining {
			l.joinGroup(ctx, l.groupOf(name), listed)
		}
	}
}

// canJoin reports whether a scope may be joined with others. It may not while it has the version
// from which the server has refused to watch it (410), or an older one; the loop looks again then.
func (l *Loop) canJoin(held *heldScope) bool {
	if !IsClosed(held.synced) || held.state != scope.Held {
		return false
	}
	if held.refused != "" && !feed.IsOlder(held.refused, l.store.ScopeState(held.part).ResourceVersion) {
		l.wakeBy(l.clock.Now().Add(joinBackoff().Duration))
		return false
	}
	return true
}

// joinGroup joins the streams of listed scopes of a group, or makes the loop do so later.
func (l *Loop) joinGroup(ctx context.Context, group *group, listed []*heldScope) {
	now, at := l.clock.Now(), group.nextJoin
	for _, chunk := range chunks(listed, l.isSharded(listed)) {
		switch from := l.store.LowestVersion(partsOf(chunk)); {
		case l.hasStream(chunk) || !feed.Reaches(from, from):
		case now.Before(at):
			l.wakeBy(at)
		default:
			l.start(ctx, chunk, from)
			l.wakeBy(now.Add(joinPoll))
			group.nextJoin = now.Add(joinInterval)
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
	known := l.groupOf(name)
	known.unsharded = known.unsharded || slices.ContainsFunc(l.allStreams(), func(stream *stream) bool {
		return stream.group == name && stream.feed.OutOfScope() > 0
	})
	return !known.unsharded
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

// finishJoins ends the streams before a joined one that owns their scopes: it has received an
// event, a bookmark or a list, or its watch has been open for joinInterval.
func (l *Loop) finishJoins() {
	for _, joined := range l.allStreams() {
		if joined.from == "" {
			continue
		}
		now := l.clock.Now()
		if joined.reflector.Phase() != reflector.Watching {
			joined.openSince = now
		} else if now.Sub(joined.openSince) >= joinInterval {
			joined.state.CompareAndSwap(joining, owning)
		}
		if joined.state.Load() == owning {
			joined.feed.Take()
			l.replaceStreams(joined)
		} else {
			l.wakeBy(now.Add(joinPoll))
		}
	}
}

// replaceStreams detaches the other streams from the scopes of a joined one. Those that have no
// others end, and what their histories remember is passed on then. If the server has not proved the
// history that one of them received, the joined one confirms it by a list.
func (l *Loop) replaceStreams(joined *stream) {
	joined.from = ""
	l.groupOf(joined.group).backoff = joinBackoff()
	for _, other := range l.allStreams() {
		if other == joined || other.group != joined.group {
			continue
		}
		inDoubt := other.reflector.HistoryInDoubt() // before it ends
		if l.stopFeeding(other, joined.held) {
			other.successor = joined
			if inDoubt {
				joined.reflector.ConfirmHistory()
			}
		}
	}
}

// noteFailedJoin records that a joining stream has failed. The others go on.
func (l *Loop) noteFailedJoin(ctx context.Context, joined *stream) {
	klog.FromContext(ctx).V(2).Info("Watches were not joined", "scope", joined.request.String(), "err", joined.joinErr)
	group := l.groupOf(joined.group)
	group.nextJoin = l.clock.Now().Add(group.backoff.Step())
	if apierrors.IsResourceExpired(joined.joinErr) || apierrors.IsGone(joined.joinErr) {
		for _, held := range joined.held {
			held.refused = joined.from
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
// no others. It reports whether it feeds any.
func (l *Loop) stopFeeding(stream *stream, scopes []*heldScope) bool {
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
		return false
	}
	stream.feed.Drop(partsOf(gone))
	if len(rest) == 0 {
		stream.cancel()
	}
	return true
}
