// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"context"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// Informer is an informer with one handler, as cache.NewInformer returns it, but with options.
type Informer[T cache.Object] struct {
	*cache.SharedInformer[T]
	Handler *cache.Registration // nil if the informer is invalid
}

// NewInformer returns an informer with one handler. Run returns an error for invalid arguments.
// Its first list is at version 0, as if the options had StartAny, as tests of what follows count
// requests.
func NewInformer[T cache.Object](
	lw cache.ListerWatcher, example T, resyncPeriod time.Duration, handler cache.EventHandler[T], options cache.ReflectorOptions,
) (cache.Reader[T], *Informer[T]) {
	shared := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{
		Name:         options.Name,
		ResyncPeriod: resyncPeriod,
		WatchList:    options.WatchList,
		StartAny:     true,
		PageSize:     options.PageSize,
		Limits:       options.Limits,
		Backoff:      options.Backoff,
		ErrorHandler: options.ErrorHandler,
		Logger:       options.Logger,
		Clock:        options.Clock,
	})
	registration, _ := shared.AddEventHandler(handler, cache.HandlerOptions{}) // Run returns the same error
	return shared.Store(), &Informer[T]{shared, registration}
}

// HasDelivered reports whether the initial list has been stored and delivered: the handler's calls
// for it have returned.
func (i *Informer[T]) HasDelivered() bool {
	return i.HasSynced() && i.Handler != nil && i.Handler.HasSynced()
}

// WaitForDelivery blocks until HasDelivered returns true, the handler is removed, or ctx ends.
func (i *Informer[T]) WaitForDelivery(ctx context.Context) error {
	if err := i.WaitForSync(ctx); err != nil {
		return err
	}
	select {
	case <-i.Handler.Synced():
		return nil
	case <-i.Handler.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status returns the informer's status. Synced is the result of HasDelivered.
func (i *Informer[T]) Status() cache.Status {
	status := i.SharedInformer.Status()
	status.Synced = status.Synced && i.HasDelivered()
	return status
}

// LastSyncResourceVersion returns the resourceVersion that the store has reached.
func (i *Informer[T]) LastSyncResourceVersion() string { return i.Status().Freshness.ResourceVersion }
