// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// leave prepares the removal of a scope, and reports whether to remove it now. A scope that was
// replaced stays so, if it is then removed again: other scopes take its objects over.
func (l *Loop) leave(held *heldScope, state scope.State) bool {
	if held.state == scope.Replaced {
		return false
	}
	if held.state = state; state == scope.Replaced {
		l.store.RetireScope(held.part)
	}
	return state == scope.Removed
}

// finishLeaving removes the scopes that were replaced, once other scopes have their objects, and
// those of deleted namespaces, once they are empty or the server refuses to list them: a Namespace
// object is deleted after the objects in the namespace.
func (l *Loop) finishLeaving(ctx context.Context) {
	var removed, deleted []*heldScope
	for _, held := range l.all() {
		switch {
		case held.state == scope.Emptying && l.isRefused(held): // its permissions were deleted before it
			deleted = append(deleted, held)
		case held.state == scope.Emptying && l.isEmpty(held):
			l.stopStreams([]*heldScope{held})
			if l.isEmpty(held) {
				deleted = append(deleted, held)
			} else { // a watch has shown an object meanwhile: a list shows whether it exists
				l.list(ctx, []*heldScope{held})
			}
		case held.state == scope.Replaced && l.finishReplacing(held):
			removed = append(removed, held)
		}
	}
	l.remove(removed, true)
	l.remove(deleted, false)
}

// finishReplacing reports whether to remove a scope that was replaced: every scope that may have
// its objects has been listed, the scope has reached the versions of these lists, and they have
// reached its own. Every deletion is then known to one of them. In a vacated store, no scope has
// objects that others could take over.
func (l *Loop) finishReplacing(held *heldScope) bool {
	if l.store.IsVacant() && !l.store.ScopeState(held.part).Synced {
		return true
	}
	var others []*store.Scope
	for _, other := range l.all() {
		if other.state == scope.Held && scope.Overlap(held.name, other.name) {
			if !IsClosed(other.synced) {
				return false
			}
			others = append(others, other.part)
		}
	}
	for _, other := range others {
		if !held.stopped && !l.store.HaveReached([]*store.Scope{held.part}, other) && !l.isFailing(held) {
			return false
		}
	}
	if !held.stopped {
		held.stopped = true
		l.stopStreams([]*heldScope{held})
	}
	return l.store.HaveReached(others, held.part)
}

// isEmpty reports whether the store has no object of a scope. It returns true for a scope that was
// never listed.
func (l *Loop) isEmpty(held *heldScope) bool { return l.store.ScopeSize(held.part) == 0 }

// isFailing reports whether no stream of a scope makes progress.
func (l *Loop) isFailing(held *heldScope) bool {
	return !slices.ContainsFunc(l.streamsOf(held), func(stream *stream) bool {
		return stream.proven.Load() && stream.reflector.Phase() != reflector.Retrying
	})
}

// isRefused reports whether the server refuses the requests for a scope, or no longer knows it.
func (l *Loop) isRefused(held *heldScope) bool {
	return slices.ContainsFunc(l.streamsOf(held), func(stream *stream) bool {
		err := stream.reflector.Status().Err
		return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	})
}

// remove removes scopes. Handlers receive their objects as deletions, with LeftScope if they exist.
func (l *Loop) remove(removed []*heldScope, exist bool) {
	if len(removed) == 0 {
		return
	}
	l.mu.Lock()
	for _, held := range removed {
		held.leaving = true // before the store no longer lists it
	}
	l.mu.Unlock()
	for _, held := range removed {
		l.recordEmptied(held.name, held.state == scope.Emptying)
	}
	l.stopStreams(removed)
	l.store.RemoveScopes(partsOf(removed), exist)
	l.mu.Lock()
	for _, held := range removed {
		delete(l.unsharded, held.name.WithoutRange()) // found again if the group has others
		if l.held[held.name] == held {
			delete(l.held, held.name)
		}
	}
	l.order = slices.DeleteFunc(l.order, func(held *heldScope) bool { return held.leaving })
	l.mu.Unlock()
	for _, held := range removed {
		close(held.gone)
	}
	l.store.Notify()
}
