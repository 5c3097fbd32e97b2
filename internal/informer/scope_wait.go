// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// ErrNoScope reports a scope that is not in the informer's set, or an object that no listed scope of
// the informer may hold. Package cache declares it with the same text.
const ErrNoScope = feed.Error("the informer does not hold the scope")

// wakeWaiters wakes the callers that wait for one of the stream's scopes to reach a version.
func (s *scopes[V]) wakeWaiters(stream *stream[V]) {
	s.mu.Lock()
	held := stream.held
	s.mu.Unlock()
	for _, h := range held {
		h.versions.notify(func() string { return s.informer.store.ScopeState(h.part).ResourceVersion })
	}
}

// WaitForScope blocks until a scope has been listed. It returns ErrNoScope if the scope is not in
// the set, or is removed from it.
func (i *Informer[V]) WaitForScope(ctx context.Context, name scope.Scope) error {
	held, err := i.heldScope(ctx, name)
	if err != nil {
		return err
	}
	select {
	case <-held.synced:
		return nil
	default:
	}
	select {
	case <-held.synced:
		return nil
	case <-held.gone:
		return i.noScopeError(name)
	case <-ctx.Done():
		return i.waitError(fmt.Sprintf("%s: the scope of %v has not synced", i.name, name), context.Cause(ctx))
	case <-i.stopped:
		return i.waitError(fmt.Sprintf("%s: the scope of %v has not synced", i.name, name), ErrStopped)
	}
}

func (i *Informer[V]) noScopeError(name scope.Scope) error {
	return fmt.Errorf("%s: scope of %v: %w", i.name, name, ErrNoScope)
}

// heldScope returns a scope of the informer. If the scope is in the set, but the loop has not
// received the change yet, it blocks until it has.
func (i *Informer[V]) heldScope(ctx context.Context, name scope.Scope) (*heldScope, error) {
	for {
		next := i.versions.add(anyVersion)
		held := i.scopes.find(name)
		if held != nil || !i.scopes.set.Has(name) {
			i.versions.remove(next)
			if held == nil {
				return nil, i.noScopeError(name)
			}
			return held, nil
		}
		var ended error
		select {
		case <-next.reached:
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-i.stopped:
			ended = ErrStopped
		}
		i.versions.remove(next)
		if ended != nil {
			return nil, i.waitError(fmt.Sprintf("%s: the scope of %v has not synced", i.name, name), ended)
		}
	}
}

// WaitForScopeVersion blocks until a scope has been listed and has reached a version. Its errors are
// those of WaitForScope and of WaitForResourceVersion.
func (i *Informer[V]) WaitForScopeVersion(ctx context.Context, name scope.Scope, version string) error {
	if err := i.checkVersion(version); err != nil {
		return err
	}
	if err := i.WaitForScope(ctx, name); err != nil {
		return err
	}
	held, err := i.heldScope(ctx, name)
	if err != nil {
		return err
	}
	return i.waitForScopeVersion(ctx, held, version)
}

// waitForScopeVersion blocks until a scope has reached a version. It returns ErrNoScope if the scope
// is removed before.
func (i *Informer[V]) waitForScopeVersion(ctx context.Context, held *heldScope, version string) error {
	i.scopes.waiting.Add(1)
	defer i.scopes.waiting.Add(-1)
	w := held.versions.add(version)
	defer held.versions.remove(w)
	reached := func() string { return i.store.ScopeState(held.part).ResourceVersion }
	if !isBefore(reached(), version) {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-held.gone:
		return i.noScopeError(held.scope)
	case <-ctx.Done():
		return i.scopeVersionError(held, reached(), version, context.Cause(ctx))
	case <-i.stopped:
		return i.scopeVersionError(held, reached(), version, ErrStopped)
	}
}

func (i *Informer[V]) scopeVersionError(held *heldScope, reached, version string, cause error) error {
	return i.waitError(fmt.Sprintf("%s, scope of %v, is at resourceVersion %q, not yet at %s", i.name, held.scope, reached, version), cause)
}

// WaitForScopesOf blocks until every scope that matches has reached a version or is removed. It
// returns the errors of WaitForResourceVersion.
func (i *Informer[V]) WaitForScopesOf(ctx context.Context, version string, matches func(scope.Scope) bool) error {
	if err := i.checkVersion(version); err != nil {
		return err
	}
	for _, name := range i.scopes.set.All() {
		if !matches(name) {
			continue
		}
		held, err := i.heldScope(ctx, name)
		if err != nil {
			if i.scopes.set.Has(name) {
				return err
			}
			continue // it has left
		}
		if err := i.waitForScopeVersion(ctx, held, version); err != nil && !errors.Is(err, ErrNoScope) {
			return err
		}
	}
	return nil
}
