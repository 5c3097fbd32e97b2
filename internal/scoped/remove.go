// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/internal/scope"
)

// removeEmptied removes the scopes of deleted namespaces, once they are empty or the server refuses
// to list them: a Namespace object is deleted after the objects in the namespace.
func (l *Loop) removeEmptied(ctx context.Context) {
	var deleted []*heldScope
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
		}
	}
	l.remove(deleted, false)
}

// isEmpty reports whether the store has no object of a scope. It returns true for a scope that was
// never listed.
func (l *Loop) isEmpty(held *heldScope) bool { return l.store.ScopeSize(held.part) == 0 }

// isRefused reports whether the server refuses the requests for a scope, or no longer knows it.
func (l *Loop) isRefused(held *heldScope) bool {
	stream := l.streamOf(held)
	if stream == nil {
		return false
	}
	err := stream.reflector.Status().Err
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
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
		l.groupOf(held.name.WithoutRange()).unsharded = false // found again if the group has others
		delete(l.held, held.name)
	}
	l.order = slices.DeleteFunc(l.order, func(held *heldScope) bool { return held.leaving })
	l.mu.Unlock()
	for _, held := range removed {
		close(held.gone)
	}
	l.store.Notify()
}
