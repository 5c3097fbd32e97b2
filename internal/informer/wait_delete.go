// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"

	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
)

// WaitForDelete blocks until the initial list has been stored and the store holds no object with
// this key and UID, as the server sent it. An empty UID stands for any. An object of that key that
// exists and could never be stored may be the one. The error is ctx's or ErrStopped, with why the
// object could not be stored, or the last error of the reflector. If the informer has scopes, it
// waits until those that may hold the object have been listed; if there is none, or no more, the
// error wraps ErrNoScope.
func (i *Informer[V]) WaitForDelete(ctx context.Context, key, uid string) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	_, cursor := i.store.SnapshotAndCursor()
	for {
		next, cancel := i.store.Await(nil, store.AnyVersion) // an object that was never stored leaves without a change
		if gone, err := i.isGone(key, uid); gone || err != nil {
			cancel()
			return err
		}
		var ended error
		select {
		case <-next:
		case <-cursor.Ready():
			_, _ = cursor.TryNext()
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-i.stopped:
			ended = ErrStopped
		}
		cancel()
		if ended != nil {
			return i.holdError(key, ended)
		}
	}
}

// isGone reports whether an object does not exist. It returns an error if no scope may hold it.
func (i *Informer[V]) isGone(key, uid string) (gone bool, err error) {
	before := i.coverage(key, uid) // before mayHold: a scope may be listed in between
	if i.mayHold(key, uid) {
		return false, nil
	}
	after := i.coverage(key, uid) // after mayHold: it may be removed in between
	if after == scoped.NotCovered || after == scoped.Undecided {
		return false, i.scopes.AbsentError(key)
	}
	return before == scoped.Covered && after == scoped.Covered, nil
}

// mayHold reports whether the store holds an object, or cannot store it.
func (i *Informer[V]) mayHold(key, uid string) bool {
	failed := i.store.Failure(key) != nil // before HasUID: it may be stored in between
	return i.store.HasUID(key, uid) || failed && !i.store.HasUID(key, "")
}

// coverage returns what the scopes say about an object that the store does not hold.
func (i *Informer[V]) coverage(key, uid string) scoped.Coverage {
	if i.scopes == nil {
		return scoped.Covered
	}
	return i.scopes.CoverageOf(key, uid)
}

// holdError returns the error of a wait that ended because of cause.
func (i *Informer[V]) holdError(key string, cause error) error {
	if err := i.store.Failure(key); err != nil {
		return fmt.Errorf("%s may still have %q: %w: %w", i.name, key, cause, err)
	}
	return i.waitError(fmt.Sprintf("%s still holds %q", i.name, key), cause)
}
