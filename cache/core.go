// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/informer"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
)

// core is what all informers have, whatever the type of their objects.
type core struct {
	engine  *informer.Informer
	runner  func(ctx context.Context) error // the engine's Run or, of an informer of package clientgo, its own
	source  informer.Source
	kind    string // of the objects, empty if it is not known
	report  *reporter
	clock   clock.Clock
	invalid error // why it cannot run
	// detect, if set, checks for mutations during Run; see SharedInformer.detectMutations.
	detect func(ctx context.Context) (stop func())
	// key returns an object's key, and admits an error if the informer does not hold it. written is
	// the server's object, of which obj may be a part.
	key    func(obj Object) (string, error)
	admits func(obj, written Object) error
	scopes *scope.Set // nil if the informer has the whole collection
}

func (c *core) run(ctx context.Context) error {
	if c.invalid != nil {
		return c.invalid
	}
	if c.detect != nil {
		defer c.detect(ctx)()
	}
	defer c.report.end()
	return c.runner(c.report.begin(ctx))
}

func (c *core) status() Status {
	loop := c.engine.Reflector().Status()
	if c.invalid != nil {
		loop = reflector.Status{Phase: reflector.Phase(PhaseInvalid), Err: c.invalid}
	}
	synced := c.engine.StoreHasSynced()
	if scopes := c.engine.Scopes(); scopes != nil && scopes.LacksScopes() {
		synced = false
	}
	s := newStatus(c.report.name, loop, c.source.Status(), synced, c.clock.Now())
	if c.invalid != nil {
		return s
	}
	if c.engine.HasStopped() { // also if the reflector waits for a function of the program
		s.Phase = PhaseStopped
	}
	contents := c.engine.Store()
	s.Store = StoreStatus{
		Objects: contents.Len(), PackedBytes: contents.PackedBytes(), Changes: c.engine.Changes(),
		IndexErrors: contents.IndexErrors(), OmitFieldsNotFound: c.engine.OmitFieldsNotFound(),
	}
	s.Store.Quarantined, s.Store.Unnamed = contents.QuarantineSize()
	for _, failed := range contents.QuarantinedKeys(maxQuarantinedKeys) {
		s.Store.QuarantinedKeys = append(s.Store.QuarantinedKeys, QuarantinedKey(failed))
	}
	for _, h := range c.engine.Handlers() {
		s.Handlers = append(s.Handlers, HandlerStatus(h))
	}
	return s
}

// notRunningAfter is how long a wait blocks before it logs that the informer is not running.
const notRunningAfter = 5 * time.Second

// wait calls a function that blocks until ctx ends. An informer that is not running may be about
// to be run by another goroutine; if it never is, the log and the error say so.
func (c *core) wait(ctx context.Context, wait func(context.Context) error) error {
	if c.invalid != nil {
		return c.invalid
	}
	if c.hasRun() {
		return wait(ctx)
	}
	done := make(chan struct{})
	defer close(done)
	go c.logNotRunning(ctx, done)
	err := wait(ctx)
	if err != nil && ctx.Err() != nil && !c.hasRun() {
		return fmt.Errorf("%w: %w", err, errNotStarted)
	}
	return err
}

func (c *core) hasRun() bool { return c.engine.Reflector().Phase() != reflector.Idle }

func (c *core) hasStopped() bool { return c.engine.HasStopped() }

func (c *core) logNotRunning(ctx context.Context, done <-chan struct{}) {
	timer := c.clock.NewTimer(notRunningAfter)
	defer timer.Stop()
	select {
	case <-timer.C():
		if !c.hasRun() {
			c.report.named(ctx).Info("Waiting for an informer that is not running: Run has not been called")
		}
	case <-done:
	}
}

func (c *core) waitForResourceVersion(ctx context.Context, resourceVersion string) error {
	return c.wait(ctx, func(ctx context.Context) error { return c.engine.WaitForResourceVersion(ctx, resourceVersion) })
}

// waitForObject blocks until the store has seen obj, which is what the informer keeps of written.
func (c *core) waitForObject(ctx context.Context, obj, written Object) error {
	if c.invalid != nil {
		return c.invalid
	}
	key, err := c.key(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", c.report.name, err)
	}
	if err := cmp.Or(c.admits(obj, written), c.checkScopes(obj)); err != nil {
		return fmt.Errorf("%s does not hold %q: %w", c.report.name, key, err)
	}
	if err := c.wait(ctx, func(ctx context.Context) error { return c.waitForVersionOf(ctx, obj, isScopeOf(obj)) }); err != nil {
		return err
	}
	switch err := c.engine.Store().KeyError(key); {
	case errors.Is(err, ErrNoScope):
		return fmt.Errorf("%w: %w", ErrNotSelected, err) // its scope was removed meanwhile
	case err != nil:
		return fmt.Errorf("%s has received %q at %s: %w", c.report.name, key, obj.GetResourceVersion(), err)
	}
	return nil
}

func (c *core) waitForDelete(ctx context.Context, obj Object) error {
	if c.invalid != nil {
		return c.invalid
	}
	key, err := c.key(obj)
	if err != nil {
		return fmt.Errorf("%s: %w", c.report.name, err)
	}
	err = c.wait(ctx, func(ctx context.Context) error {
		if obj.GetResourceVersion() != "" {
			if err := c.waitForVersionOf(ctx, obj, covers(obj)); err != nil {
				return err
			}
		}
		return c.engine.WaitForDelete(ctx, key, string(obj.GetUID()))
	})
	if errors.Is(err, ErrNoScope) {
		return fmt.Errorf("%w: %w", ErrNotSelected, err)
	}
	return err
}

func (c *core) scopeStatus() (statuses []ScopeStatus) {
	if scopes := c.engine.Scopes(); scopes != nil {
		for _, now := range scopes.ScopeStatus() {
			statuses = append(statuses, c.scopeStatusOf(now))
		}
	}
	return statuses
}

func (c *core) scopeStatusOf(now scoped.ScopeStatus) ScopeStatus {
	status := newStatus(c.report.name, now.Reflector, feed.RequestStatus{}, now.Synced, c.clock.Now())
	s := ScopeStatus{Scope: scopeOf(now.Scope), Status: status, Sharded: now.Sharded, OutOfScope: now.OutOfScope}
	s.Store.Objects, s.Store.Quarantined, s.Store.Unnamed = now.Objects, now.Quarantined, now.Unnamed
	return s
}

// waitForVersionOf is WaitForResourceVersion for the version of an object. If the informer has
// scopes, it waits only for those that match.
func (c *core) waitForVersionOf(ctx context.Context, obj Object, matches func(scope.Scope) bool) error {
	if c.scopes == nil {
		return c.engine.WaitForResourceVersion(ctx, obj.GetResourceVersion())
	}
	return c.engine.Scopes().WaitForScopesOf(ctx, obj.GetResourceVersion(), matches)
}

// covers returns a function that reports whether an object can be in a scope, whatever its labels.
func covers(obj Object) func(scope.Scope) bool {
	return func(s scope.Scope) bool { return s.MayHold(obj.GetNamespace(), obj.GetName(), string(obj.GetUID())) }
}

// isScopeOf returns a function that reports whether an object is in a scope. Field selectors of
// other fields than name and namespace are taken to match.
func isScopeOf(obj Object) func(scope.Scope) bool {
	return func(s scope.Scope) bool {
		return covers(obj)(s) && s.Matches(obj.GetLabels(), obj.GetName(), obj.GetNamespace())
	}
}

// checkScopes returns ErrNotSelected for an object that is in none of the scopes.
func (c *core) checkScopes(obj Object) error {
	if c.scopes == nil || slices.ContainsFunc(c.scopes.All(), isScopeOf(obj)) {
		return nil
	}
	return fmt.Errorf("%w: none of its Scopes has the object: %w", ErrNotSelected, ErrNoScope)
}
