// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
)

// Run keeps the store and the handlers up to date until ctx ends. Then it waits for the last call
// of each handler, and returns nil, or ErrHandlerBlocked for handlers that did not return in time.
// A transform, filter or index function that does not return in time is ErrFunctionBlocked.
func (i *Informer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := i.begin(ctx); err != nil {
		return err
	}
	defer i.finish()
	var others sync.WaitGroup
	others.Go(func() { i.runCompactor(ctx) })
	others.Go(func() { i.awaitListed(ctx) })
	others.Go(func() { i.logFieldsNotFound(ctx) })
	ended, err := i.runReflector(ctx)
	cancel()
	others.Wait()
	return errors.Join(err, i.waitForHandlers(ended))
}

// runReflector runs the reflector until ctx ends, and waits until it has returned, for HandlerGrace
// at most. It runs the reflector in another goroutine, since a function of the user that does not
// return would block Run. A panic of that goroutine continues in Run's, whose caller can recover
// from it. ended is when ctx, or the reflector, ended.
func (i *Informer) runReflector(ctx context.Context) (ended time.Time, err error) {
	err = feed.ErrGoexit
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { feed.LogPanic(klog.FromContext(ctx), err) }() // the stack is not Run's
		defer feed.RecoverPanic("Run", &err)
		err = i.reflector.Run(ctx)
	}()
	select {
	case <-done:
		ended = i.config.Clock.Now()
	case <-ctx.Done():
		ended = i.config.Clock.Now()
		expired, stop := i.startGrace(ended)
		defer stop()
		select {
		case <-done:
		case <-expired:
			i.store.Abandon()
			return ended, fmt.Errorf("%s: %w", i.config.Name, ErrFunctionBlocked)
		}
	}
	if panicked, ok := errors.AsType[*feed.PanicError](err); ok {
		panic(panicked.Value)
	}
	return ended, err
}

// startGrace returns a channel that receives the time once HandlerGrace has passed since ended; nil
// if it is negative.
func (i *Informer) startGrace(ended time.Time) (expired <-chan time.Time, stop func()) {
	if i.config.HandlerGrace < 0 {
		return nil, func() {}
	}
	timer := i.config.Clock.NewTimer(max(0, i.config.HandlerGrace-i.config.Clock.Since(ended)))
	return timer.C(), func() { timer.Stop() }
}

// begin starts the handlers added before Run.
func (i *Informer) begin(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.returned.Load():
		return fmt.Errorf("%s: %w", i.config.Name, ErrStopped)
	case i.ctx != nil:
		return fmt.Errorf("%s: %w", i.config.Name, ErrAlreadyRunning)
	}
	i.ctx = ctx
	for _, h := range i.handlers {
		i.startHandler(h)
	}
	return nil
}

func (i *Informer) finish() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ctx = nil
	i.returned.Store(true)
	_ = i.HasListed() // the reflector holds no list back any more
	close(i.stopped)
	i.status.signal()
}

// waitForHandlers waits for the last call of each handler, for HandlerGrace after ended at most.
func (i *Informer) waitForHandlers(ended time.Time) error {
	i.mu.Lock()
	running := slices.Collect(maps.Keys(i.running)) // none is added once ctx has ended
	i.mu.Unlock()
	expired, stop := i.startGrace(ended)
	defer stop()
	var blocked []error
	timedOut := false
	for _, h := range running {
		if !timedOut {
			select {
			case <-h.done:
			case <-expired:
				timedOut = true
			}
		}
		if !h.isDone() {
			h.release()
			blocked = append(blocked, fmt.Errorf("%w: %s", ErrHandlerBlocked, h.config.Name))
		}
	}
	return errors.Join(blocked...)
}

// OmitFieldsNotFound returns the fields to omit that may be misspelled: no object has had them, and
// the type of the objects is not known to have them. It returns none before the first list with
// objects, which says nothing about fields.
func (i *Informer) OmitFieldsNotFound() []string {
	if _, stored := i.store.Synced(); i.config.NotFound == nil || !stored || i.store.IsCleared() || i.store.Len() == 0 {
		return nil
	}
	return i.config.NotFound()
}

// logFieldsNotFound logs the result of OmitFieldsNotFound after the first list.
func (i *Informer) logFieldsNotFound(ctx context.Context) {
	if i.config.NotFound == nil {
		return
	}
	select {
	case <-i.reflector.Synced():
	case <-ctx.Done(): // perhaps after the first list
	}
	if paths := i.OmitFieldsNotFound(); len(paths) > 0 {
		klog.FromContext(ctx).Info("Fields to omit were not found in any object of the first list", "fields", paths)
	}
}
