// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Fault describes a fault of one List or Watch call of a [ListerWatcher]. Fields may be combined.
// The zero value is no fault.
type Fault struct {
	// Delay delays the call. If the call's context is done or its TimeoutSeconds have passed before
	// that, the call returns an error.
	Delay time.Duration
	// Hold, if not nil, blocks the call after Delay until the channel is closed. The context and
	// TimeoutSeconds end it as they end Delay. The request is served after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is returned by the call, after Delay and Hold.
	Err error

	// ResourceVersion, if not empty, makes a list read from a replica that never advances beyond
	// this version, whatever version the list requests.
	ResourceVersion string
	// EditList, if not nil, is called with the list, and List returns its result. The argument is a
	// copy and may be modified.
	EditList func(list runtime.Object) runtime.Object

	// CloseAfterEvents, if positive, closes a watch after that many events, including bookmarks. If
	// negative, the watch is closed without any event.
	CloseAfterEvents int
	// CloseIn, if positive, closes a watch after that time.
	CloseIn time.Duration
	// Stall makes a watch a dead connection: it sends nothing, and neither its TimeoutSeconds nor
	// CloseWatches close it. Only Stop, its context and CloseIn do.
	Stall bool
	// EditEvent, if not nil, is called with each event of a watch, except those of Send. The watch
	// sends the returned events, zero or more, in its place. The argument is a copy and may be
	// modified. EditEvent must not call methods of the ListerWatcher.
	EditEvent func(event watch.Event) []watch.Event
}

// DropInitialEventsEndBookmark is an EditEvent function for a [Fault]. It drops the bookmark that
// marks the end of a WatchList's initial events.
func DropInitialEventsEndBookmark(event watch.Event) []watch.Event {
	if obj, ok := event.Object.(metav1.Object); ok && event.Type == watch.Bookmark {
		if _, isEnd := obj.GetAnnotations()[metav1.InitialEventsAnnotationKey]; isEnd {
			return nil
		}
	}
	return []watch.Event{event}
}

// InjectListFault applies fault to the next n calls of List, after those to which faults injected
// before apply. A negative n means all further lists, until ClearFaults.
func (lw *ListerWatcher[T]) InjectListFault(n int, fault Fault) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.listFaults.add(n, fault)
}

// InjectWatchFault applies fault to the next n calls of Watch, after those to which faults injected
// before apply. A negative n means all further watches, until ClearFaults.
func (lw *ListerWatcher[T]) InjectWatchFault(n int, fault Fault) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.watchFaults.add(n, fault)
}

// ClearFaults removes all faults that no call has used yet. Open watches keep theirs.
func (lw *ListerWatcher[T]) ClearFaults() {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.listFaults, lw.watchFaults = nil, nil
}

// CloseWatches closes all open watches, as a restart of the server does. Watches deliver the events
// of earlier writes before they end.
func (lw *ListerWatcher[T]) CloseWatches() {
	for _, s := range lw.open() {
		if !s.fault.Stall {
			s.finish(nil)
			s.pump()
		}
	}
}

// Send sends event to all open watches, after the events of earlier writes. The event may be an
// [ErrorEvent], a duplicate, or have an object of another kind or none. The collection does not
// change. Each watch receives its own copy of the object.
func (lw *ListerWatcher[T]) Send(event watch.Event) {
	for _, s := range lw.open() {
		s.inject(event)
	}
}

// Bookmark sends a bookmark with the current resourceVersion to all open watches that allow
// bookmarks.
func (lw *ListerWatcher[T]) Bookmark() {
	lw.memory.Bookmark()
	lw.deliver()
}

// BookmarkEvery makes watches opened later, if they allow bookmarks, send one each period. By
// default, bookmarks are sent only by Bookmark and at the end of initial events, so that
// Status.Freshness.Staleness of an informer grows while nothing changes. API servers send one about
// every minute.
func (lw *ListerWatcher[T]) BookmarkEvery(period time.Duration) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.bookmarkPeriod = period
}

// faults is the queue of faults for one verb.
type faults []pendingFault

type pendingFault struct {
	remaining int // calls; negative if unlimited
	fault     Fault
}

func (f *faults) add(n int, fault Fault) {
	if n != 0 {
		*f = append(*f, pendingFault{n, fault})
	}
}

// take returns the fault of the next call and removes it if this was its last use. Without any, it
// returns the zero Fault.
func (f *faults) take() Fault {
	if len(*f) == 0 {
		return Fault{}
	}
	head := &(*f)[0]
	fault := head.fault
	if head.remaining > 0 {
		head.remaining--
	}
	if head.remaining == 0 {
		*f = (*f)[1:]
	}
	return fault
}

// admit waits for Delay and Hold and returns Err.
func (f Fault) admit(ctx context.Context, opts metav1.ListOptions) error {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 && !f.Stall {
		var cancel context.CancelFunc
		timeout := time.Duration(*opts.TimeoutSeconds) * time.Second
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, apierrors.NewTimeoutError("the request did not complete within "+timeout.String(), 0))
		defer cancel()
	}
	if err := f.wait(ctx); err != nil {
		return err
	}
	return f.Err
}

func (f Fault) wait(ctx context.Context) error {
	if f.Delay > 0 {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
