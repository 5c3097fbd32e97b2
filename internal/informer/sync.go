package informer

import (
	"context"
	"fmt"
)

// StoreSynced tells whether the store holds a first full state.
func (i *Informer[V]) StoreHasSynced() bool {
	_, ok := i.store.Synced()
	return ok
}

// HasSynced tells whether StoreSynced, and every handler has been told of all of it.
func (i *Informer[V]) HasSynced() bool {
	if !i.StoreHasSynced() {
		return false
	}
	for _, h := range i.current() {
		if !h.HasSynced() {
			return false
		}
	}
	return true
}

// WaitForStore waits until StoreSynced. Its error says what kept the informer from it:
// the last error of the reflector, joined with ctx's, or ErrStopped.
func (i *Informer[V]) WaitForStoreSync(ctx context.Context) error {
	return i.await(ctx, i.reflector.Synced(), nil)
}

// WaitForSync waits until HasSynced. Its error is as that of WaitForStore, or names the
// handler. Handlers that are removed meanwhile are not waited for.
func (i *Informer[V]) WaitForSync(ctx context.Context) error {
	if err := i.WaitForStoreSync(ctx); err != nil {
		return err
	}
	for _, h := range i.current() {
		if err := i.await(ctx, h.synced, h.done); err != nil {
			return fmt.Errorf("handler %s: %w", h.config.Name, err)
		}
	}
	return nil
}

func (i *Informer[V]) await(ctx context.Context, event, moot <-chan struct{}) error {
	select {
	case <-event:
		return nil
	default:
	}
	select {
	case <-event:
		return nil
	case <-ctx.Done():
		return i.because(i.name+" has not synced", context.Cause(ctx))
	case <-i.stopped:
		return i.because(i.name+" has not synced", ErrStopped)
	case <-moot:
		return nil
	}
}

// because returns an error with its reason and, if there is one, the last error of the
// reflector, which will be the cause of both.
func (i *Informer[V]) because(what string, why error) error {
	if err := i.reflector.Status().Err; err != nil {
		return fmt.Errorf("%s: %w; last error: %w", what, why, err)
	}
	return fmt.Errorf("%s: %w", what, why)
}
