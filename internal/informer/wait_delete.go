// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
)

// WaitForDelete blocks until the initial list has been stored and the store holds no object with
// this key and UID, as the server sent it. An empty UID stands for any. An object of that key that
// exists and could never be stored may be the one. The error is ctx's or ErrStopped, with why the
// object could not be stored, or the last error of the reflector.
func (i *Informer[V]) WaitForDelete(ctx context.Context, key, uid string) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	_, cursor := i.store.SnapshotAndCursor()
	for {
		next := i.versions.add(anyVersion) // an object that was never stored leaves without a change
		if !i.mayHold(key, uid) {
			i.versions.remove(next)
			return nil
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

// mayHold reports whether the store holds an object, or cannot store it.
func (i *Informer[V]) mayHold(key, uid string) bool {
	failed := i.store.KeyError(key) != nil // before HasUID: it may be stored in between
	return i.store.HasUID(key, uid) || failed && !i.store.HasUID(key, "")
}

// holdError returns the error of a wait that ended because of cause.
func (i *Informer[V]) holdError(key string, cause error) error {
	if err := i.store.KeyError(key); err != nil {
		return fmt.Errorf("%s may still have %q: %w: %w", i.name, key, cause, err)
	}
	return i.waitError(fmt.Sprintf("%s still holds %q", i.name, key), cause)
}
