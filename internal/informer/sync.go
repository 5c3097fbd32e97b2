// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
)

// HasListed reports whether the initial list has been stored, and initialGate does not hold it
// back. Once it has reported true, it always does.
func (i *Informer) HasListed() bool {
	if scoped.IsClosed(i.listed) {
		return true
	}
	if _, stored := i.store.Synced(); !stored || !i.initial.isOpen() {
		return false
	}
	i.listOnce.Do(func() {
		close(i.listed)
		i.status.signal()
	})
	return true
}

// Listed returns a channel that is closed once HasListed reports true.
func (i *Informer) Listed() <-chan struct{} { return i.listed }

// awaitListed blocks until HasListed reports true or ctx ends. It updates the handlers then,
// because a handler without events to deliver does not notice that.
func (i *Informer) awaitListed(ctx context.Context) {
	select {
	case <-i.reflector.Synced():
	case <-ctx.Done():
		return
	}
	for !i.HasListed() && ctx.Err() == nil {
		i.initial.wait(ctx)
	}
	for _, h := range i.currentHandlers() {
		h.checkSynced()
	}
}

// StoreHasSynced reports whether HasListed does, and the server still serves the collection. It
// says nothing about handlers.
func (i *Informer) StoreHasSynced() bool { return i.HasListed() && !i.store.IsCleared() }

// HasSynced reports whether StoreHasSynced does, and every handler has received the initial list.
func (i *Informer) HasSynced() bool {
	isBehind := func(h *Handler) bool { return !h.HasSynced() }
	return i.StoreHasSynced() && !slices.ContainsFunc(i.currentHandlers(), isBehind)
}

// WaitForStoreSync blocks until StoreHasSynced reports true. If ctx ends first or the informer
// stops, the error wraps the context's cause or ErrStopped, and the reflector's last error.
func (i *Informer) WaitForStoreSync(ctx context.Context) error {
	err := i.wait(ctx, i.listed, nil, i.notSynced)
	for err == nil {
		next, cancel := i.store.Await(nil, store.AnyVersion)
		if i.StoreHasSynced() {
			cancel()
			return nil
		}
		err = i.wait(ctx, next, nil, i.notSynced)
		cancel()
	}
	return err
}

// WaitForSync blocks until HasSynced reports true. It returns the errors of WaitForStoreSync, and
// names the handler that has not synced. It does not wait for handlers that are removed meanwhile.
func (i *Informer) WaitForSync(ctx context.Context) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	for _, h := range i.currentHandlers() {
		if err := i.wait(ctx, h.synced, h.done, i.notSynced); err != nil {
			return fmt.Errorf("handler %s: %w", h.config.Name, err)
		}
	}
	return nil
}

func (i *Informer) notSynced() string { return i.config.Name + " has not synced" }

// wait blocks until done or removed is closed. If ctx ends first or the informer stops, it returns
// an error with the message.
func (i *Informer) wait(ctx context.Context, done, removed <-chan struct{}, message func() string) error {
	if scoped.IsClosed(done) {
		return nil
	}
	if cause := scoped.Wait(ctx, i.stopped, done, removed); cause != nil {
		return scoped.WaitError(message(), cause, i.reflector.Status().Err)
	}
	return nil
}

// WaitForResourceVersion blocks until an event, a bookmark or a list has brought the store to a
// resourceVersion. It returns an error at once if the version is not valid, and otherwise those of
// WaitForStoreSync.
func (i *Informer) WaitForResourceVersion(ctx context.Context, version string) error {
	if i.scopes != nil {
		return i.scopes.WaitForScopesOf(ctx, version, func(scope.Scope) bool { return true })
	}
	if err := scoped.CheckVersion(i.config.Name, version); err != nil {
		return err
	}
	message := func() string {
		return fmt.Sprintf("%s is at resourceVersion %q, not yet at %s", i.config.Name, i.store.ResourceVersion(), version)
	}
	for {
		reached, cancel := i.store.AwaitPresent(nil, version)
		if i.store.Absence() == nil && feed.Reaches(i.store.ResourceVersion(), version) {
			cancel()
			return nil
		}
		err := i.notServed(message)
		if err == nil {
			err = i.wait(ctx, reached, nil, message)
		}
		cancel()
		if err != nil {
			return err
		}
	}
}

// notServed returns an error while the server does not serve the collection.
func (i *Informer) notServed(message func() string) error {
	if status := i.reflector.Status(); status.Phase == reflector.NotServed {
		return fmt.Errorf("%s: %w", message(), status.Err)
	}
	return nil
}

// WaitForDelete blocks until the initial list has been stored and the store holds no object with
// this key and UID, as the server sent it. An empty UID stands for any. An object of that key that
// exists and could never be stored may be the one. The error is ctx's or ErrStopped, with why the
// object could not be stored, or the last error of the reflector. If the informer has scopes, it
// waits until those that may hold the object have been listed; if there is none, or no more, the
// error wraps ErrNoScope.
func (i *Informer) WaitForDelete(ctx context.Context, key, uid string) error {
	return i.waitForDelete(ctx, key, uid, i.mayHold)
}

// WaitForTermination is WaitForDelete that also returns nil once the object has a
// deletionTimestamp.
func (i *Informer) WaitForTermination(ctx context.Context, key, uid string) error {
	return i.waitForDelete(ctx, key, uid, i.mayHoldActive)
}

// waitForDelete blocks until no object of a key and UID exists for which mayHold reports true.
func (i *Informer) waitForDelete(ctx context.Context, key, uid string, mayHold func(key, uid string) bool) error {
	stillHolds := func() string { return fmt.Sprintf("%s may still have %q", i.config.Name, key) }
	if _, err := i.absence(stillHolds); err != nil {
		return err
	}
	if err := i.wait(ctx, i.reflector.Synced(), nil, i.notSynced); err != nil {
		return err
	}
	_, cursor := i.store.SnapshotAndCursor()
	for {
		next, cancel := i.store.Await(nil, store.AnyVersion) // an object that was never stored leaves without a change
		// Before isGone: a list may end the absence in between.
		absent, why := i.absence(stillHolds)
		gone, err := i.isGone(key, uid, mayHold)
		if !absent { // after isGone: the objects leave the store once it has the error
			absent, why = i.absence(stillHolds)
		}
		if absent {
			gone, err = false, why
		}
		if gone || err != nil {
			cancel()
			return err
		}
		cause := scoped.Wait(ctx, i.stopped, next, cursor.Ready())
		cancel()
		if cause != nil {
			return i.holdError(key, cause)
		}
		_, _ = cursor.TryNext()
	}
}

// absence reports whether the store lacks the objects of the collection, which may exist. It
// returns an error if the server does not serve them, and none once they are about to be listed
// again.
func (i *Informer) absence(message func() string) (absent bool, err error) {
	if i.store.Absence() == nil {
		return false, nil
	}
	return true, i.notServed(message)
}

// isGone reports whether no object exists for which mayHold reports true. It returns an error if no
// scope may hold it.
func (i *Informer) isGone(key, uid string, mayHold func(key, uid string) bool) (gone bool, err error) {
	before := i.coverage(key, uid) // before mayHold: a scope may be listed in between
	if mayHold(key, uid) {
		return false, nil
	}
	after := i.coverage(key, uid) // after mayHold: it may be removed in between
	if after == scoped.NotCovered || after == scoped.Undecided {
		return false, i.scopes.AbsentError(key, "")
	}
	return before == scoped.Covered && after == scoped.Covered, nil
}

// mayHold reports whether the store holds an object, or cannot store it.
func (i *Informer) mayHold(key, uid string) bool {
	failed := i.store.Failure(key) != nil // before HasUID: it may be stored in between
	return i.store.HasUID(key, uid) || failed && !i.store.HasUID(key, "")
}

// mayHoldActive is mayHold for an object without a deletionTimestamp.
func (i *Informer) mayHoldActive(key, uid string) bool {
	if !i.mayHold(key, uid) {
		return false
	}
	value, exists := i.store.Get(key)
	return !exists || i.config.Terminating == nil || !i.config.Terminating(value)
}

// coverage returns what the scopes say about an object that the store does not hold.
func (i *Informer) coverage(key, uid string) scoped.Coverage {
	if i.scopes == nil {
		return scoped.Covered
	}
	return i.scopes.CoverageOf(key, uid)
}

func (i *Informer) holdError(key string, cause error) error {
	if err := i.store.Failure(key); err != nil {
		return fmt.Errorf("%s may still have %q: %w: %w", i.config.Name, key, cause, err)
	}
	return scoped.WaitError(fmt.Sprintf("%s still holds %q", i.config.Name, key), cause, i.reflector.Status().Err)
}
