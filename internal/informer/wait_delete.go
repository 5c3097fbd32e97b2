package informer

import (
	"context"
	"fmt"
	"slices"

	"github.com/kinformer/kinformer/internal/store"
)

// WaitForDelete blocks until the initial list has been stored and the store holds no object with
// this key and UID, as the server sent it. An empty UID stands for any. The error is ctx's or ErrStopped, with the last
// error of the reflector.
func (i *Informer[V]) WaitForDelete(ctx context.Context, key, uid string) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	_, cursor := i.store.SnapshotAndCursor()
	for i.store.HasUID(key, uid) {
		for changed := false; !changed; {
			select {
			case <-cursor.Ready():
			case <-ctx.Done():
				return i.waitError(fmt.Sprintf("%s still holds %q", i.name, key), context.Cause(ctx))
			case <-i.stopped:
				return i.waitError(fmt.Sprintf("%s still holds %q", i.name, key), ErrStopped)
			}
			batch, _ := cursor.TryNext()
			changed = slices.ContainsFunc(batch, func(c store.Change[V]) bool { return c.Key == key })
		}
	}
	return nil
}

// IsQuarantined reports whether the newest state of an object arrived and could not be stored.
func (i *Informer[V]) IsQuarantined(key string) bool { return i.store.IsQuarantined(key) }
