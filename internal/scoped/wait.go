// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// ErrNoScope reports a scope that is not in the informer's set, or an object that no listed scope of
// the informer may hold, or may hold without the store having seen its deletion.
const ErrNoScope = feed.Error("the informer does not hold the scope")

// WaitForScope blocks until a scope has been listed. It returns ErrNoScope if the scope is not in
// the set, or is removed from it.
func (l *Loop[V]) WaitForScope(ctx context.Context, name scope.Scope) error {
	held, err := l.heldScope(ctx, name)
	if err != nil {
		return err
	}
	return l.wait(ctx, held, held.synced, func() string { return l.notSynced(name) })
}

// wait blocks until done is closed. It returns ErrNoScope if the scope is removed before.
func (l *Loop[V]) wait(ctx context.Context, held *heldScope, done <-chan struct{}, message func() string) error {
	if isClosed(done) {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-held.gone:
		return l.noScopeError(held.name)
	case <-ctx.Done():
		return l.waitError(message(), context.Cause(ctx))
	case <-l.config.Stopped:
		return l.waitError(message(), l.config.ErrStopped)
	}
}

func (l *Loop[V]) notSynced(name scope.Scope) string {
	return fmt.Sprintf("%s: the scope of %v has not synced", l.config.Name, name)
}

func (l *Loop[V]) noScopeError(name scope.Scope) error {
	return fmt.Errorf("%s: scope of %v: %w", l.config.Name, name, ErrNoScope)
}

// waitError returns an error that wraps cause and, if there is one, the last error of the streams,
// which is probably the reason.
func (l *Loop[V]) waitError(message string, cause error) error {
	if err := l.Status().Err; err != nil {
		return fmt.Errorf("%s: %w; last error: %w", message, cause, err)
	}
	return fmt.Errorf("%s: %w", message, cause)
}

// heldScope returns a scope of the loop. If the scope is in the set, but the loop has not received
// the change yet, it blocks until it has.
func (l *Loop[V]) heldScope(ctx context.Context, name scope.Scope) (*heldScope, error) {
	for {
		next, cancel := l.store.Await(nil, store.AnyVersion)
		held := l.find(name)
		if held != nil || !l.config.Set.Has(name) {
			cancel()
			if held == nil {
				return nil, l.noScopeError(name)
			}
			return held, nil
		}
		var ended error
		select {
		case <-next:
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-l.config.Stopped:
			ended = l.config.ErrStopped
		}
		cancel()
		if ended != nil {
			return nil, l.waitError(l.notSynced(name), ended)
		}
	}
}

// WaitForScopeVersion blocks until a scope has been listed and has reached a version, which must be
// valid. Its errors are those of WaitForScope.
func (l *Loop[V]) WaitForScopeVersion(ctx context.Context, name scope.Scope, version string) error {
	if err := l.WaitForScope(ctx, name); err != nil {
		return err
	}
	held, err := l.heldScope(ctx, name)
	if err != nil {
		return err
	}
	return l.waitForVersion(ctx, held, version)
}

// waitForVersion blocks until a scope has reached a version. It returns ErrNoScope if the scope is
// removed before.
func (l *Loop[V]) waitForVersion(ctx context.Context, held *heldScope, version string) error {
	reached, cancel := l.store.Await(held.part, version)
	defer cancel()
	return l.wait(ctx, held, reached, func() string {
		now := l.store.ScopeState(held.part).ResourceVersion
		return fmt.Sprintf("%s, scope of %v, is at resourceVersion %q, not yet at %s", l.config.Name, held.name, now, version)
	})
}

// WaitForScopesOf blocks until every scope that matches has reached a version, which must be valid, or
// is removed.
func (l *Loop[V]) WaitForScopesOf(ctx context.Context, version string, matches func(scope.Scope) bool) error {
	for _, name := range l.config.Set.All() {
		if !matches(name) {
			continue
		}
		held, err := l.heldScope(ctx, name)
		if err != nil {
			if l.config.Set.Has(name) {
				return err
			}
			continue // it has left
		}
		if err := l.waitForVersion(ctx, held, version); err != nil && !errors.Is(err, ErrNoScope) {
			return err
		}
	}
	return nil
}
