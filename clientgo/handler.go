// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/informer"
)

const (
	minResyncPeriod = time.Second
	panicDelay      = time.Second // after a panic that did not end the process
)

func (s *sharedIndexInformer) AddEventHandler(handler clientcache.ResourceEventHandler) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientcache.HandlerOptions{})
}

func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler clientcache.ResourceEventHandler, resyncPeriod time.Duration) (clientcache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, clientcache.HandlerOptions{ResyncPeriod: &resyncPeriod})
}

func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler clientcache.ResourceEventHandler, options clientcache.HandlerOptions) (clientcache.ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, errors.New("the handler is nil")
	}
	logger := klog.Background()
	if options.Logger != nil {
		logger = *options.Logger
	}
	resync := s.options.ResyncPeriod
	if options.ResyncPeriod != nil {
		resync = *options.ResyncPeriod
	}
	if resync > 0 && resync < minResyncPeriod {
		s.errors.named(logger).Info("Warning: resync period is too short, using the minimum",
			"handler", fmt.Sprintf("%T", handler), "resyncPeriod", resync, "minimum", minResyncPeriod)
		resync = minResyncPeriod
	}
	return s.addHandler(handler, logger, resync)
}

// addHandler adds a handler with a resync period of any length.
func (s *sharedIndexInformer) addHandler(handler clientcache.ResourceEventHandler, panicLogger klog.Logger, resync time.Duration) (clientcache.ResourceEventHandlerRegistration, error) {
	name, logger := fmt.Sprintf("%T", handler), s.errors.named(panicLogger)
	_, filters := asFiltering(handler)
	added, err := s.engine.Add(informer.HandlerConfig{
		Name:        name,
		Logger:      logger,
		PanicLogger: panicLogger, // logs as client-go does
		OnPanic: func(_ context.Context, key string, _ any) {
			logger.Error(nil, "Handler failed on an object", "handler", name, "key", key)
		},
		OnEvent:    deliverTo(handler),
		EveryEvent: !s.options.CoalesceWhenBehind,
		Resync:     resync,
		PanicDelay: panicDelay,

		WithoutOldOfDeletions: !filters,
	})
	if err != nil { // an ErrStopped
		return nil, fmt.Errorf("handler %T was not added to shared informer because it has stopped already", handler)
	}
	return &registration{handler: added, informer: s, name: name}, nil
}

// asFiltering returns a handler as the FilteringResourceEventHandler that it may be.
func asFiltering(handler clientcache.ResourceEventHandler) (filter clientcache.FilteringResourceEventHandler, ok bool) {
	if pointer, ok := handler.(*clientcache.FilteringResourceEventHandler); ok {
		return *pointer, true
	}
	filter, ok = handler.(clientcache.FilteringResourceEventHandler)
	return filter, ok
}

func deliverTo(handler clientcache.ResourceEventHandler) func(informer.Event) {
	return func(e informer.Event) {
		switch e.Type {
		case informer.Add:
			handler.OnAdd(e.New, e.InInitialList)
		case informer.Update:
			handler.OnUpdate(e.Old, e.New)
		default:
			deliverDeletion(handler, &e)
		}
	}
}

// deliverDeletion calls OnDelete with the object's last known state. Whether a
// FilteringResourceEventHandler passes a deletion on depends on the state that was last delivered:
// the last known one may be newer, if Options.Filter refuses it or events were coalesced, and such
// an object would never be deleted if FilterFunc refuses that state.
func deliverDeletion(handler clientcache.ResourceEventHandler, e *informer.Event) {
	if filter, ok := asFiltering(handler); ok {
		delivered := e.Old
		if delivered == nil { // it could not be decoded
			delivered = e.Final
		}
		if filter.FilterFunc(delivered) {
			deliverDeletion(filter.Handler, e)
		}
		return
	}
	if e.FinalStateUnknown {
		handler.OnDelete(clientcache.DeletedFinalStateUnknown{Key: e.Key, Obj: e.Final})
		return
	}
	handler.OnDelete(e.Final)
}

// RemoveEventHandler removes a handler. It does not wait for a call in progress, and may be
// repeated. It ignores the handlers of other informers.
func (s *sharedIndexInformer) RemoveEventHandler(handle clientcache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("invalid key type %T", handle)
	}
	if r.informer == s {
		r.handler.Cancel()
	}
	return nil
}

type registration struct {
	handler  *informer.Handler
	informer *sharedIndexInformer
	name     string
}

func (r *registration) HasSynced() bool { return r.handler.HasSynced() }

func (r *registration) HasSyncedChecker() clientcache.DoneChecker {
	return doneChecker{r.informer.name + " + event handler " + r.name, r.handler.Synced()}
}

// ShutdownChan returns a channel that is closed after the handler's last call.
// clientcache.ShutDownEventHandler uses it.
func (r *registration) ShutdownChan() <-chan struct{} { return r.handler.Done() }
