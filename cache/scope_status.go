// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/scope"
)

// ErrNoScope is wrapped by the error of WaitForScope for a scope that is not in the informer's set.
var ErrNoScope error = informer.ErrNoScope

// ScopeStatus is the condition of one scope of an informer. Scopes that share a watch have its
// phase and error in common.
type ScopeStatus struct {
	Scope Scope
	Phase Phase
	// Synced reports whether the scope has been listed.
	Synced bool
	// Err, ErrSince and Attempts are those of Status.
	Err      error
	ErrSince time.Time
	Attempts int
	// ResourceVersion, FreshAt and Staleness are those of Status, for this scope.
	ResourceVersion string
	FreshAt         time.Time
	Staleness       time.Duration
	// Objects, Quarantined and Unkeyed are the numbers of the scope's objects.
	Objects, Quarantined, Unkeyed int
	// Sharded reports whether the last list of the scope's hash range had a shardInfo that says so.
	// Servers send none with custom resources, with metadata-only objects, and with a WatchList.
	Sharded bool
	// Foreign is the number of objects that were received and passed over, undecoded, as they were
	// outside of the requested hash ranges: the server does not know the shard selector.
	Foreign uint64
}

// ScopeStatus returns the condition of each scope, in the order in which they were added. It returns nil
// for an informer without Scopes.
func (s *SharedInformer[T]) ScopeStatus() []ScopeStatus { return s.core.scopeStatus() }

func (c *core) scopeStatus() (statuses []ScopeStatus) {
	for _, now := range c.engine.ScopeStatus() {
		fed := now.Reflector
		status := ScopeStatus{
			Scope:           scopeOf(now.Scope),
			Phase:           Phase(fed.Phase),
			Synced:          now.Synced,
			Err:             fed.Err,
			ErrSince:        fed.ErrSince,
			Attempts:        fed.Attempts,
			ResourceVersion: now.ResourceVersion,
			FreshAt:         fed.FreshAt,
			Objects:         now.Objects,
			Quarantined:     now.Quarantined,
			Unkeyed:         now.Unkeyed,
			Sharded:         now.Sharded,
			Foreign:         now.Foreign,
		}
		if !status.FreshAt.IsZero() {
			status.Staleness = max(0, ageAt(c.clock.Now(), status.FreshAt))
		}
		statuses = append(statuses, status)
	}
	return statuses
}

var errNoScopes = errors.New("the informer has no Scopes")

// WaitForScope blocks until a scope has been listed. It may be called directly after Scopes.Add. If
// the scope is not in the set, or is removed, the error wraps ErrNoScope; other errors are those of
// WaitForSync, which waits for the scopes of the start.
func (s *SharedInformer[T]) WaitForScope(ctx context.Context, scope Scope) error {
	if s.core.invalid == nil && s.options.Scopes == nil {
		return fmt.Errorf("%s: %w", s.core.report.name, errNoScopes)
	}
	canonical, err := scope.internal().Canonical()
	if err != nil {
		return fmt.Errorf("%s: scope of %v: %w", s.core.report.name, scope, err)
	}
	return s.core.wait(ctx, func(ctx context.Context) error { return s.engine.WaitForScope(ctx, canonical) })
}

// waitForVersionOf is WaitForResourceVersion for an object: of the scopes of the informer, it waits
// for those alone that may hold the object.
func (c *core) waitForVersionOf(ctx context.Context, obj Object, matches func(scope.Scope) bool) error {
	if c.scopes == nil {
		return c.engine.WaitForResourceVersion(ctx, obj.GetResourceVersion())
	}
	return c.engine.WaitForScopesOf(ctx, obj.GetResourceVersion(), matches)
}

// covers returns a function that reports whether an object may ever be in a scope.
func covers(obj Object) func(scope.Scope) bool {
	return func(s scope.Scope) bool { return s.Covers(obj.GetNamespace(), string(obj.GetUID())) }
}

// checkScopes returns ErrOutOfScope for an object that is in none of the scopes. Fields other than
// name and namespace are taken to match.
func (c *core) checkScopes(obj Object) error {
	if c.scopes == nil {
		return nil
	}
	for _, s := range c.scopes.All() {
		if covers(obj)(s) && s.Matches(obj.GetLabels(), obj.GetName(), obj.GetNamespace()) {
			return nil
		}
	}
	return fmt.Errorf("%w: none of its Scopes has the object", ErrOutOfScope)
}
