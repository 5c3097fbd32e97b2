// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
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
