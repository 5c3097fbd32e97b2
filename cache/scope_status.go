// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
)

// ErrNoScope is wrapped by the errors of a ScopeView whose scope is not in the informer's Scopes. It
// is also wrapped by the errors of Reader.KeyError, Reader.Get, Lister.Get, WaitForObject and
// WaitForDelete for an object that no scope may hold, by its namespace, name or the hash of its
// namespace, or that a scope may hold which has not been listed: the object may exist.
var ErrNoScope error = scoped.ErrNoScope

// ScopeStatus is the condition of one scope of an informer. Scopes that share requests have one
// phase and one error.
type ScopeStatus struct {
	Scope Scope
	Phase Phase
	// Synced reports whether the scope has been listed.
	Synced bool
	// Err, ErrSince and Attempts are those of Status.
	Err      error
	ErrSince time.Time
	Attempts int
	// ResourceVersion, FreshAt and Staleness are those of Status, for this scope. Before its first
	// list, FreshAt is when it was added.
	ResourceVersion string
	FreshAt         time.Time
	Staleness       time.Duration
	// Objects, Quarantined and Unkeyed are the numbers of the scope's objects.
	Objects, Quarantined, Unkeyed int
	// Sharded reports whether the last list stated, by its shardInfo, that it has the requested
	// hash ranges alone. Servers send no shardInfo with custom resources and metadata-only objects,
	// nor in a WatchList.
	Sharded bool
	// Foreign is the number of objects that were passed over, undecoded, because they were outside of
	// the requested namespace or hash ranges: the server does not apply the shard selector, or the
	// ListerWatcher does not pass a selector on. It is that of the current requests, which scopes
	// may share, and begins at zero when watches are joined.
	Foreign uint64
}

// ScopeStatus returns the condition of each scope, in the order in which they were added. It
// returns nil for an informer without Scopes.
func (s *SharedInformer[T]) ScopeStatus() []ScopeStatus { return s.core.scopeStatus() }

func (c *core) scopeStatus() (statuses []ScopeStatus) {
	for _, now := range c.engine.ScopeStatus() {
		statuses = append(statuses, c.scopeStatusOf(now))
	}
	return statuses
}

func (c *core) scopeStatusOf(now scoped.ScopeStatus) ScopeStatus {
	reflector := now.Reflector
	status := ScopeStatus{
		Scope:           scopeOf(now.Scope),
		Phase:           Phase(reflector.Phase),
		Synced:          now.Synced,
		Err:             reflector.Err,
		ErrSince:        reflector.ErrSince,
		Attempts:        reflector.Attempts,
		ResourceVersion: now.ResourceVersion,
		FreshAt:         reflector.FreshAt,
		Objects:         now.Objects,
		Quarantined:     now.Quarantined,
		Unkeyed:         now.Unkeyed,
		Sharded:         now.Sharded,
		Foreign:         now.Foreign,
	}
	if !status.FreshAt.IsZero() {
		status.Staleness = max(0, ageAt(c.clock.Now(), status.FreshAt))
	}
	return status
}

// ScopeView has the waits and the condition of one scope of an informer, as SharedInformer has
// those of all. Its methods are safe for concurrent use.
type ScopeView struct {
	core    *core
	scope   scope.Scope // canonical
	invalid error
}

var errNoScopes = errors.New("the informer has no Scopes")

// InScope returns a view of a scope. The scope need not be in the informer's Scopes when InScope is
// called: while it is not, the methods of the view return errors that wrap ErrNoScope.
func (s *SharedInformer[T]) InScope(scope Scope) ScopeView {
	canonical, err := scope.internal().Canonical()
	switch {
	case s.core.invalid != nil:
		err = s.core.invalid
	case s.options.Scopes == nil:
		err = fmt.Errorf("%s: %w", s.core.report.name, errNoScopes)
	case err != nil:
		err = fmt.Errorf("%s: scope of %v: %w", s.core.report.name, scope, err)
	}
	return ScopeView{&s.core, canonical, err}
}

// WaitForSync blocks until the scope has been listed. It may be called directly after Scopes.Add.
// It returns an error that wraps ErrNoScope if the scope is removed before, and the errors of
// SharedInformer.WaitForSync; see there why ctx needs a timeout.
func (v ScopeView) WaitForSync(ctx context.Context) error {
	if v.invalid != nil {
		return v.invalid
	}
	return v.core.wait(ctx, func(ctx context.Context) error { return v.core.engine.WaitForScope(ctx, v.scope) })
}

// WaitForResourceVersion blocks until the scope has been listed and has reached a resourceVersion;
// see SharedInformer.WaitForResourceVersion, also for why ctx needs a deadline.
func (v ScopeView) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	if v.invalid != nil {
		return v.invalid
	}
	return v.core.wait(ctx, func(ctx context.Context) error {
		return v.core.engine.WaitForScopeVersion(ctx, v.scope, resourceVersion)
	})
}

// Status returns the scope's condition, or an error if the informer does not hold it.
func (v ScopeView) Status() (ScopeStatus, error) {
	if v.invalid != nil {
		return ScopeStatus{Scope: scopeOf(v.scope)}, v.invalid
	}
	if now, held := v.core.engine.StatusOfScope(v.scope); held {
		return v.core.scopeStatusOf(now), nil
	}
	return ScopeStatus{Scope: scopeOf(v.scope)}, fmt.Errorf("%s: scope of %v: %w", v.core.report.name, v.scope, ErrNoScope)
}

// HealthCheck returns a function for a health endpoint; see SharedInformer.HealthCheck. The
// function returns an error that wraps ErrNoScope if the informer does not have the scope.
func (v ScopeView) HealthCheck(options HealthOptions) func(*http.Request) error {
	return func(*http.Request) error {
		status, err := v.Status()
		if err != nil {
			return err
		}
		return status.asStatus(v.core).unhealthy(v.core.clock.Now(), options)
	}
}

// asStatus returns the condition in the form that health checks read.
func (s ScopeStatus) asStatus(c *core) Status {
	status := Status{
		Name: fmt.Sprintf("%s, scope of %v,", c.report.name, s.Scope), Phase: s.Phase, Synced: s.Synced, Err: s.Err,
		FreshAt: s.FreshAt, Quarantined: s.Quarantined, Unkeyed: s.Unkeyed,
	}
	if c.engine.HasStopped() {
		status.Phase = PhaseStopped
	}
	return status
}

// waitForVersionOf is WaitForResourceVersion for the version of an object. If the informer has
// scopes, it waits only for those that match.
func (c *core) waitForVersionOf(ctx context.Context, obj Object, matches func(scope.Scope) bool) error {
	if c.scopes == nil {
		return c.engine.WaitForResourceVersion(ctx, obj.GetResourceVersion())
	}
	return c.engine.WaitForScopesOf(ctx, obj.GetResourceVersion(), matches)
}

// covers returns a function that reports whether an object can be in a scope, whatever its labels.
func covers(obj Object) func(scope.Scope) bool {
	return func(s scope.Scope) bool { return s.Covers(obj.GetNamespace(), string(obj.GetUID())) }
}

// matches returns a function that reports whether an object is in a scope. Field selectors of other
// fields than name and namespace are taken to match.
func matches(obj Object) func(scope.Scope) bool {
	return func(s scope.Scope) bool {
		return covers(obj)(s) && s.Matches(obj.GetLabels(), obj.GetName(), obj.GetNamespace())
	}
}

// checkScopes returns ErrOutOfScope for an object that is in none of the scopes.
func (c *core) checkScopes(obj Object) error {
	if c.scopes == nil || slices.ContainsFunc(c.scopes.All(), matches(obj)) {
		return nil
	}
	return fmt.Errorf("%w: none of its Scopes has the object: %w", ErrOutOfScope, ErrNoScope)
}
