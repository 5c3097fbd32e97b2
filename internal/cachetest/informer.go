package cachetest

import (
	"context"
	"time"

	"github.com/kinformer/kinformer/cache"
)

// Informer is an informer of one handler, as NewInformer of package cache makes it, with options.
type Informer[T cache.Object] struct {
	*cache.SharedInformer[T]
	Handler *cache.Registration // nil if the informer is invalid
}

// NewInformer returns an informer of one handler. An error in the arguments is returned by Run.
func NewInformer[T cache.Object](lw cache.ListerWatcher, example T, resyncPeriod time.Duration, handler cache.EventHandler[T], options cache.ReflectorOptions) (cache.Reader[T], *Informer[T]) {
	shared := cache.NewSharedInformer(lw, example, cache.InformerOptions[T]{
		Name:         options.Name,
		ResyncPeriod: resyncPeriod,
		ListMode:     options.ListMode,
		PageSize:     options.PageSize,
		Backoff:      options.Backoff,
		ErrorHandler: options.ErrorHandler,
		Logger:       options.Logger,
		Clock:        options.Clock,
	})
	registration, _ := shared.AddEventHandler(handler, cache.HandlerOptions{}) // Run returns the same error
	return shared.Store(), &Informer[T]{shared, registration}
}

// HasSynced reports whether the initial list has been stored and the handler's calls for it have
// returned.
func (i *Informer[T]) HasSynced() bool {
	return i.SharedInformer.HasSynced() && i.Handler != nil && i.Handler.HasSynced()
}

// WaitForSync blocks until HasSynced.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	if err := i.SharedInformer.WaitForSync(ctx); err != nil {
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

// LastSyncResourceVersion returns the resourceVersion that the store has reached.
func (i *Informer[T]) LastSyncResourceVersion() string { return i.Status().ResourceVersion }
