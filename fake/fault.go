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

	"github.com/kinformer/kinformer/fake/internal/fault"
)

// Fault is a fault of one request: a call of List or Watch of a [ListerWatcher], or any request to
// an [APIServer]. Fields may be combined. The zero value is no fault.
type Fault struct {
	// Delay delays the request, before any other effect. If the request's context is done before
	// that, the request fails; that of a ListerWatcher fails after its TimeoutSeconds, too.
	Delay time.Duration
	// Hold, if not nil, blocks the request after Delay until the channel is closed. The request
	// fails as during Delay. It is served after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is the response, and the request writes nothing. An APIServer responds with
	// a 500 if it is not an API error.
	Err error

	// ResourceVersion, if not empty, makes a get, list or watch read from a replica that never
	// advances beyond this version, whatever version the request asks for. The response is 410 if
	// the version is no longer in the history.
	ResourceVersion string

	// CloseAfterEvents, if positive, closes a watch after that many events, including bookmarks. If
	// negative, the watch is closed without any event. The response is complete, without a broken
	// connection.
	CloseAfterEvents int
	// CloseIn, if positive, closes a watch after that time, with a complete response. With Stall,
	// it closes the connection of any other request to an APIServer after that time.
	CloseIn time.Duration
	// Stall makes a watch a dead connection: it is opened and sends nothing, not even bookmarks,
	// and neither its TimeoutSeconds nor CloseWatches close it. Other requests to an APIServer get
	// no response and write nothing. The connection stays open until the client closes it, CloseIn
	// has passed or the APIServer is closed.
	Stall bool

	// CutAfterBytes, if positive, closes the connection after that many bytes of the response body,
	// counted after compression. If negative, the connection is closed before the body. A write
	// takes effect all the same. Only an APIServer has this fault.
	CutAfterBytes int

	// EditWrite, if not nil, is called with the object that a create, update or patch writes,
	// before it is validated: with its defaults, and without what the server assigns, such as the
	// UID. The server writes the result, as that of a mutating webhook, which must be of the same
	// Go type. The argument is a copy and may be modified. EditWrite must not call methods of the
	// APIServer. It has no effect on its methods, such as Create. Only an APIServer has this fault.
	EditWrite func(obj runtime.Object) runtime.Object
	// EditList, if not nil, is called with the list, and List returns its result. The argument is a
	// copy and may be modified. Only a ListerWatcher has this fault.
	EditList func(list runtime.Object) runtime.Object
	// EditEvent, if not nil, is called with each event of a watch, except those of Send. The watch
	// sends the returned events, zero or more, in its place. The argument is a copy and may be
	// modified. EditEvent must not call methods of the ListerWatcher. Only a ListerWatcher has this
	// fault.
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
// before apply. A negative n means all further lists, until ClearFaults. It panics if the fault's
// ResourceVersion is invalid, or if only an APIServer has the fault.
func (lw *ListerWatcher[T]) InjectListFault(n int, fault Fault) {
	lw.inject(n, "list", fault)
}

// InjectWatchFault is like InjectListFault, for calls of Watch.
func (lw *ListerWatcher[T]) InjectWatchFault(n int, fault Fault) {
	lw.inject(n, "watch", fault)
}

func (lw *ListerWatcher[T]) inject(n int, verb string, f Fault) {
	if f.CutAfterBytes != 0 || f.EditWrite != nil {
		panic("fake.ListerWatcher: inject fault: CutAfterBytes and EditWrite are faults of an APIServer")
	}
	lw.faults.Add(n, func(r fault.Request) bool { return r.Verb == verb }, fault.Fault(f))
}

// ClearFaults removes all injected faults. Open watches keep theirs.
func (lw *ListerWatcher[T]) ClearFaults() {
	lw.faults.Clear()
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

// admit waits for the fault's Delay and Hold and returns its Err.
func admit(ctx context.Context, opts metav1.ListOptions, f fault.Fault) error {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 && !f.Stall {
		var cancel context.CancelFunc
		timeout := time.Duration(*opts.TimeoutSeconds) * time.Second
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, apierrors.NewTimeoutError("the request did not complete within "+timeout.String(), 0))
		defer cancel()
	}
	if !f.Wait(ctx.Done(), nil) || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return f.Err
}
