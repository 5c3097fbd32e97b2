// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinformer/kinformer/internal/scope"
)

// StoreHasSynced reports whether the initial list has been stored. It says nothing about handlers.
func (i *Informer[V]) StoreHasSynced() bool {
	_, ok := i.store.Synced()
	return ok
}

// HasSynced reports whether the initial list has been stored and delivered to every handler.
func (i *Informer[V]) HasSynced() bool {
	if !i.StoreHasSynced() {
		return false
	}
	for _, h := range i.currentHandlers() {
		if !h.HasSynced() {
			return false
		}
	}
	return true
}

// WaitForStoreSync blocks until StoreHasSynced reports true. If ctx ends first or the informer
// stops, the error wraps the context's cause or ErrStopped, and the reflector's last error.
func (i *Informer[V]) WaitForStoreSync(ctx context.Context) error {
	return i.wait(ctx, i.reflector.Synced(), nil)
}

// WaitForSync blocks until HasSynced reports true. It returns the errors of WaitForStoreSync, and
// names the handler that has not synced. It does not wait for handlers that are removed meanwhile.
func (i *Informer[V]) WaitForSync(ctx context.Context) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	for _, h := range i.currentHandlers() {
		if err := i.wait(ctx, h.synced, h.done); err != nil {
			return fmt.Errorf("handler %s: %w", h.config.Name, err)
		}
	}
	return nil
}

// wait blocks until synced or removed is closed. It returns an error if ctx ends first or the
// informer stops.
func (i *Informer[V]) wait(ctx context.Context, synced, removed <-chan struct{}) error {
	select {
	case <-synced:
		return nil
	default:
	}
	select {
	case <-synced:
		return nil
	case <-ctx.Done():
		return i.waitError(i.name+" has not synced", context.Cause(ctx))
	case <-i.stopped:
		return i.waitError(i.name+" has not synced", ErrStopped)
	case <-removed:
		return nil
	}
}

// waitError returns an error that wraps cause and, if there is one, the reflector's last error,
// which is probably the reason.
func (i *Informer[V]) waitError(message string, cause error) error {
	if err := i.reflector.Status().Err; err != nil {
		return fmt.Errorf("%s: %w; last error: %w", message, cause, err)
	}
	return fmt.Errorf("%s: %w", message, cause)
}

var errNoVersion = errors.New("no resourceVersion; objects of client-go's fake clientsets have none without fake.ListerWatcher.Serve")

// WaitForResourceVersion blocks until an event, a bookmark or a list has brought the store to a
// resourceVersion. It returns an error at once if the version is not valid. If ctx ends first or
// the informer stops, the error wraps the context's cause or ErrStopped, and the reflector's last
// error.
func (i *Informer[V]) WaitForResourceVersion(ctx context.Context, version string) error {
	if i.scopes != nil {
		return i.WaitForScopesOf(ctx, version, func(scope.Scope) bool { return true })
	}
	if err := i.checkVersion(version); err != nil {
		return err
	}
	reached, cancel := i.store.Await(nil, version)
	defer cancel()
	select {
	case <-reached:
		return nil
	default:
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return i.versionError(version, context.Cause(ctx))
	case <-i.stopped:
		return i.versionError(version, ErrStopped)
	}
}

// checkVersion returns an error for a version that no wait can end with.
func (i *Informer[V]) checkVersion(version string) error {
	if version == "" {
		return fmt.Errorf("%s: wait: %w", i.name, errNoVersion)
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("%s: wait for resourceVersion %q: %w", i.name, version, err)
	}
	return nil
}

func (i *Informer[V]) versionError(version string, cause error) error {
	return i.waitError(fmt.Sprintf("%s is at resourceVersion %q, not yet at %s", i.name, i.store.ResourceVersion(), version), cause)
}

// WaitForScope blocks until a scope has been listed; see scoped.Loop. The informer has scopes.
func (i *Informer[V]) WaitForScope(ctx context.Context, name scope.Scope) error {
	return i.scopes.WaitForScope(ctx, name)
}

// WaitForScopeVersion blocks until a scope has been listed and has reached a version. Its errors are
// those of WaitForScope and of WaitForResourceVersion.
func (i *Informer[V]) WaitForScopeVersion(ctx context.Context, name scope.Scope, version string) error {
	if err := i.checkVersion(version); err != nil {
		return err
	}
	return i.scopes.WaitForScopeVersion(ctx, name, version)
}

// WaitForScopesOf blocks until every scope that matches has reached a version or is removed. It
// returns the errors of WaitForResourceVersion.
func (i *Informer[V]) WaitForScopesOf(ctx context.Context, version string, matches func(scope.Scope) bool) error {
	if err := i.checkVersion(version); err != nil {
		return err
	}
	return i.scopes.WaitForScopesOf(ctx, version, matches)
}
