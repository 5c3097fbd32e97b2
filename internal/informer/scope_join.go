// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"slices"
	"time"

	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// joinRetryInterval is the time after which watches that could not be joined are joined again.
const joinRetryInterval = 30 * time.Second

// join joins the streams whose scopes differ only in their ranges of hashes, and have been listed.
// Scopes that were replaced are left out, as they overlap with others. The joined stream watches
// from the lowest version of its scopes, beside the others, and repeats events of theirs. Once it
// has received an event or a bookmark and has reached their versions, they are ended. If it fails
// before, for example because the server no longer has the version, it is ended, and they go on.
func (s *scopes[V]) join(ctx context.Context) {
	if s.joinFailed.CompareAndSwap(true, false) {
		s.retryJoin = s.informer.clock.Now().Add(joinRetryInterval)
	}
	if s.informer.clock.Now().Before(s.retryJoin) {
		return
	}
	s.retryJoin = time.Time{}
	groups := make(map[scope.Scope][]*heldScope)
	for _, held := range s.all() {
		if held.scope.Hash.Field != "" && isClosed(held.synced) && held.state == scope.Held {
			groups[groupOf(held.scope)] = append(groups[groupOf(held.scope)], held)
		}
	}
	for name, group := range groups {
		if s.isJoining(name) {
			continue
		}
		for _, chunk := range chunks(group, s.isSharded(group)) {
			if from := s.informer.store.LowestVersion(partsOf(chunk)); !s.hasStream(chunk) && from != "" && from != "0" {
				s.start(ctx, chunk, from)
			}
		}
	}
}

// chunks divides the scopes of a group, one chunk for each request: as few as possible with up to
// scope.MaxRanges ranges if the server sends the requested ranges alone, and one otherwise. It
// sorts the group.
func chunks(group []*heldScope, sharded bool) (all [][]*heldScope) {
	slices.SortFunc(group, func(a, b *heldScope) int {
		if a.scope.Hash.First < b.scope.Hash.First {
			return -1
		}
		return 1
	})
	if !sharded {
		return [][]*heldScope{group}
	}
	var chunk []*heldScope
	ranges := 0
	for i, held := range group {
		adjacent := i > 0 && group[i-1].scope.Hash.Last+1 == held.scope.Hash.First
		if !adjacent {
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
func (s *scopes[V]) isSharded(group []*heldScope) bool {
	name := groupOf(group[0].scope)
	if s.unsharded[name] {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.streams {
		if stream.group == name && stream.sink.Foreign() > 0 {
			s.unsharded[name] = true
		}
	}
	return !s.unsharded[name]
}

// isJoining reports whether a group has a stream that will replace others.
func (s *scopes[V]) isJoining(group scope.Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.streams, func(stream *stream[V]) bool { return stream.joins && stream.group == group })
}

// hasStream reports whether one stream feeds exactly these scopes, and requests exactly their
// ranges.
func (s *scopes[V]) hasStream(chunk []*heldScope) bool {
	request := scope.Join(namesOf(chunk))
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.streams, func(stream *stream[V]) bool {
		return len(stream.held) == len(chunk) && stream.request.Equal(request)
	})
}

// finishJoins lets joined streams that have caught up with the other streams of their scopes
// replace them. A joined stream that no longer feeds all its scopes, because another stream has
// noticed a restore of the server, is ended.
func (s *scopes[V]) finishJoins(ctx context.Context) {
	s.mu.Lock()
	streams := slices.Clone(s.streams)
	s.mu.Unlock()
	for _, joined := range streams {
		switch {
		case !joined.joins:
		case !joined.sink.FeedsAllScopes():
			s.joinFailed.Store(true)
			joined.cancel()
		case joined.proven.Load() && joined.sink.HasCaughtUp():
			s.replaceStreams(joined, streams)
			if !joined.sink.FeedsAllScopes() { // since just now: nothing feeds some of its scopes
				held := joined.held
				s.stopFeeding(joined, held)
				s.list(ctx, held)
			}
		}
	}
}

// replaceStreams detaches the other streams from the scopes of a joined one. If one of them has not
// seen that the server has the history that it received, the joined one confirms it by a list.
func (s *scopes[V]) replaceStreams(joined *stream[V], streams []*stream[V]) {
	joined.joins = false
	for _, other := range streams {
		if other != joined && other.group == joined.group {
			if other.reflector.HistoryInDoubt() {
				joined.reflector.ConfirmHistory()
			}
			s.stopFeeding(other, joined.held)
		}
	}
}

// stopFeeding detaches a stream from scopes, and ends the stream if it has no others.
func (s *scopes[V]) stopFeeding(stream *stream[V], scopes []*heldScope) {
	s.mu.Lock()
	gone := slices.DeleteFunc(slices.Clone(scopes), func(held *heldScope) bool { return !slices.Contains(stream.held, held) })
	stream.held = slices.DeleteFunc(slices.Clone(stream.held), func(held *heldScope) bool { return slices.Contains(gone, held) })
	for _, held := range gone {
		held.freshAt = latest(held.freshAt, stream.reflector.Status().FreshAt)
	}
	idle := len(gone) > 0 && len(stream.held) == 0
	s.mu.Unlock()
	for _, held := range gone {
		stream.sink.Drop(held.part)
	}
	if idle {
		stream.cancel()
	}
}

// joinTimer returns a channel that receives a value when joining must be tried again. It is nil if
// there is nothing to try again.
func (s *scopes[V]) joinTimer() (expired <-chan time.Time, stop func()) {
	if s.retryJoin.IsZero() {
		return nil, func() {}
	}
	timer := s.informer.clock.NewTimer(s.retryJoin.Sub(s.informer.clock.Now()))
	return timer.C(), func() { timer.Stop() }
}

func partsOf(all []*heldScope) (parts []*store.Scope) {
	for _, held := range all {
		parts = append(parts, held.part)
	}
	return parts
}

func namesOf(all []*heldScope) (names []scope.Scope) {
	for _, held := range all {
		names = append(names, held.scope)
	}
	return names
}
