// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// ErrNoScope reports a scope that is not in the informer's set, or an object that no listed scope
// of the informer may hold, or may hold without the store having seen its deletion.
var ErrNoScope = errors.New("the informer does not hold the scope")

// ErrStopped reports that an informer has stopped.
var ErrStopped = errors.New("the informer has stopped")

// Wait blocks until one of two channels is closed, which may be nil. It returns the context's cause
// if ctx ends first, and ErrStopped if stopped is closed first.
func Wait(ctx context.Context, stopped, a, b <-chan struct{}) error {
	select {
	case <-a:
	case <-b:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-stopped:
		return ErrStopped
	}
	return nil
}

// WaitError returns an error that wraps the cause of Wait and, if there is one, the last error of
// the reflectors, which is probably the reason.
func WaitError(message string, cause, last error) error {
	if last != nil {
		return fmt.Errorf("%s: %w; last error: %w", message, cause, last)
	}
	return fmt.Errorf("%s: %w", message, cause)
}

var errNoVersion = errors.New("no resourceVersion; objects of client-go's fake clientsets have none without fake.ListerWatcher.Serve")

// CheckVersion returns an error for a version that no wait can end with. It names the informer.
func CheckVersion(name, version string) error {
	if version == "" {
		return fmt.Errorf("%s: wait: %w", name, errNoVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("%s: wait for resourceVersion %q: %w", name, version, err)
	}
	return nil
}

// WaitForScope blocks until a scope has been listed. It returns ErrNoScope if the scope is not in
// the set, or is removed from it.
func (l *Loop) WaitForScope(ctx context.Context, name scope.Scope) error {
	held, err := l.heldScope(ctx, name)
	if err != nil {
		return err
	}
	return l.wait(ctx, held, held.synced, func() string { return l.notSynced(name) })
}

// wait blocks until done is closed. It returns ErrNoScope if the scope is removed before.
func (l *Loop) wait(ctx context.Context, held *heldScope, done <-chan struct{}, message func() string) error {
	if IsClosed(done) {
		return nil
	}
	if cause := Wait(ctx, l.config.Stopped, done, held.gone); cause != nil {
		return WaitError(message(), cause, l.Status().Err)
	}
	if !IsClosed(done) {
		return l.noScopeError(held.name)
	}
	return nil
}

func (l *Loop) notSynced(name scope.Scope) string {
	return fmt.Sprintf("%s: the scope of %v has not synced", l.config.Name, name)
}

func (l *Loop) noScopeError(name scope.Scope) error {
	return fmt.Errorf("%s: scope of %v: %w", l.config.Name, name, ErrNoScope)
}

// heldScope returns a scope of the loop. If the scope is in the set, but the loop has not received
// the change yet, it blocks until it has.
func (l *Loop) heldScope(ctx context.Context, name scope.Scope) (*heldScope, error) {
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
		cause := Wait(ctx, l.config.Stopped, next, nil)
		cancel()
		if cause != nil {
			return nil, WaitError(l.notSynced(name), cause, l.Status().Err)
		}
	}
}

// WaitForScopeVersion blocks until a scope has been listed and has reached a version. Its errors
// are those of CheckVersion and WaitForScope.
func (l *Loop) WaitForScopeVersion(ctx context.Context, name scope.Scope, version string) error {
	if err := CheckVersion(l.config.Name, version); err != nil {
		return err
	}
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
func (l *Loop) waitForVersion(ctx context.Context, held *heldScope, version string) error {
	now := func() string { return l.store.ScopeState(held.part).ResourceVersion }
	message := func() string {
		return fmt.Sprintf("%s, scope of %v, is at resourceVersion %q, not yet at %s", l.config.Name, held.name, now(), version)
	}
	for {
		reached, cancel := l.store.AwaitPresent(held.part, version)
		if l.store.Absence() == nil && feed.Reaches(now(), version) {
			cancel()
			return nil
		}
		var err error
		if status := l.Status(); status.Phase == reflector.NotServed {
			err = fmt.Errorf("%s: %w", message(), status.Err)
		} else {
			err = l.wait(ctx, held, reached, message)
		}
		cancel()
		if err != nil {
			return err
		}
	}
}

// WaitForScopesOf blocks until every scope that matches has reached a version or is removed. Its
// errors are those of WaitForScopeVersion, without ErrNoScope.
func (l *Loop) WaitForScopesOf(ctx context.Context, version string, matches func(scope.Scope) bool) error {
	if err := CheckVersion(l.config.Name, version); err != nil {
		return err
	}
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
