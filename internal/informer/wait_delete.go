// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/scope"
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
		next := i.versions.add(anyVersion) // an object that was never stored leaves without a change
		if gone, err := i.isGone(key, uid); gone || err != nil {
			i.versions.remove(next)
			return err
		}
		var ended error
		select {
		case <-next.reached:
		case <-cursor.Ready():
			_, _ = cursor.TryNext()
		case <-ctx.Done():
			ended = context.Cause(ctx)
		case <-i.stopped:
			ended = ErrStopped
		}
		i.versions.remove(next)
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
	if after == notCovered {
		return false, i.absentError(key, "")
	}
	return before == covered && after == covered, nil
}

// mayHold reports whether the store holds an object, or cannot store it.
func (i *Informer[V]) mayHold(key, uid string) bool {
	failed := i.store.Failure(key) != nil // before HasUID: it may be stored in between
	return i.store.HasUID(key, uid) || failed && !i.store.HasUID(key, "")
}

// coverage returns what the scopes say about an object with a key and a UID, which may be empty, that
// the store does not hold. A scope that is in the set, and not held yet, has not been listed.
func (i *Informer[V]) coverage(key, uid string) coverage {
	if i.scopes == nil {
		return covered
	}
	namespace, name := namespaceOf(key), nameOf(key)
	holds := func(held scope.Scope) (may, all bool) {
		may, all = held.MayHold(namespace, name)
		return may && (uid == "" || held.Covers(namespace, uid)), all
	}
	added := slices.ContainsFunc(i.scopes.set.All(), func(name scope.Scope) bool {
		may, _ := holds(name)
		return may && i.scopes.find(name) == nil
	})
	result := i.scopes.coverageOf(namespace, holds)
	if added && result == notCovered {
		return notListed
	}
	return result
}

// holdError returns the error of a wait that ended because of cause.
func (i *Informer[V]) holdError(key string, cause error) error {
	if err := i.store.Failure(key); err != nil {
		return fmt.Errorf("%s may still have %q: %w: %w", i.name, key, cause, err)
	}
	return i.waitError(fmt.Sprintf("%s still holds %q", i.name, key), cause)
}
