package fake

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Fault is what goes wrong with one request. Its parts may be combined; the zero value is an ordinary answer.
type Fault struct {
	// Delay is how long the request takes before anything else happens to it, on the bubble's clock inside one. It ends early with the
	// request's context or TimeoutSeconds.
	Delay time.Duration
	// Hold, if not nil, keeps the request waiting until it is closed, after Delay and ended by the same. The answer is read from the
	// collection after the wait.
	Hold <-chan struct{}
	// Err, if not nil, is the answer.
	Err error

	// ResourceVersion, if not empty, makes a list be answered from a replica that has come no further than this version, whatever
	// version was asked for.
	ResourceVersion string
	// EditList, if not nil, is given a list's answer, a private copy, and returns what is answered in its place.
	EditList func(list runtime.Object) runtime.Object

	// CloseAfterEvents, if positive, closes a watch after that many events, bookmarks counted; if negative, before the first.
	CloseAfterEvents int
	// CloseIn, if positive, closes a watch after that time.
	CloseIn time.Duration
	// Silent makes a watch a dead connection: it sends nothing, and neither its TimeoutSeconds nor CloseWatches ends it, only Stop,
	// its context and CloseIn.
	Stall bool
	// EditEvent, if not nil, is given each event of a watch, a private copy, and returns what is sent in its place: nothing, the event, others.
	// It must not use the ListerWatcher.
	EditEvent func(event watch.Event) []watch.Event
}

// DropInitialEventsEndBookmark is a Fault's EditEvent that keeps back the bookmark which ends a WatchList's initial events.
func DropInitialEventsEndBookmark(event watch.Event) []watch.Event {
	if obj, ok := event.Object.(metav1.Object); ok && event.Type == watch.Bookmark {
		if _, isEnd := obj.GetAnnotations()[metav1.InitialEventsAnnotationKey]; isEnd {
			return nil
		}
	}
	return []watch.Event{event}
}

// InjectListFault lets a fault happen to the next n lists, after those that earlier calls were given; a negative n means all, until ClearFaults.
func (lw *ListerWatcher[T]) InjectListFault(n int, fault Fault) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.listFaults.add(n, fault)
}

// InjectWatchFault lets a fault happen to the next n watches, after those that earlier calls were given; a negative n means all, until ClearFaults.
func (lw *ListerWatcher[T]) InjectWatchFault(n int, fault Fault) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.watchFaults.add(n, fault)
}

// ClearFaults takes back all faults that no request has met yet.
func (lw *ListerWatcher[T]) ClearFaults() {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.listFaults, lw.watchFaults = nil, nil
}

// CloseWatches closes all open watches, as a server that restarts does. Events that were sent before can still be received.
func (lw *ListerWatcher[T]) CloseWatches() {
	for _, s := range lw.open() {
		if !s.fault.Stall {
			s.finish(nil)
			s.pump()
		}
	}
}

// Send puts an event of the test's own into all open watches, after what they have still to send: an [ErrorEvent], an object of another kind, an old
// event again. The collection does not change. Each watch gets its own copy of the object, which may be nil.
func (lw *ListerWatcher[T]) Send(event watch.Event) {
	for _, s := range lw.open() {
		s.send(event)
	}
}

// Bookmark makes all open watches that allow bookmarks send one, at the current version.
func (lw *ListerWatcher[T]) Bookmark() {
	lw.memory.Bookmark()
	lw.deliver()
}

// BookmarkEvery makes the watches opened from now on send a bookmark each period, where they allow it. Without it bookmarks are sent
// only by Bookmark and at the end of initial events.
func (lw *ListerWatcher[T]) BookmarkEvery(period time.Duration) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.bookmarkPeriod = period
}

// faults is a queue of faults for one verb.
type faults []pendingFault

type pendingFault struct {
	left  int // negative: no end
	fault Fault
}

func (f *faults) add(n int, fault Fault) {
	if n != 0 {
		*f = append(*f, pendingFault{n, fault})
	}
}

// take returns the next request's fault, or none.
func (f *faults) take() Fault {
	if len(*f) == 0 {
		return Fault{}
	}
	head := &(*f)[0]
	fault := head.fault
	if head.left > 0 {
		head.left--
	}
	if head.left == 0 {
		*f = (*f)[1:]
	}
	return fault
}

// before does what happens to a request before it is answered.
func (f Fault) before(ctx context.Context, opts metav1.ListOptions) error {
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
