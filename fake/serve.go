// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/fault"
	"github.com/kinformer/kinformer/fake/internal/history"
)

// List returns copies of the objects in a list of their type: a generated type such as PodList, an
// UnstructuredList, or a PartialObjectMetadataList. Objects of a Go type that is not in client-go's
// scheme are in a metav1.List.
//
// A resourceVersion of "" or "0" requests the current state; "0" ignores Limit. Any other
// resourceVersion requests a state not older than it, or exactly that state with
// ResourceVersionMatch Exact, or with a Limit and no ResourceVersionMatch. List returns a 410 error
// if that state is no longer in the history, and a 504 error if the collection has not reached it.
func (lw *ListerWatcher[T]) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	f := lw.record("list", opts)
	if err := admit(ctx, opts, f); err != nil {
		return nil, err
	}
	page, err := lw.objects.List("", opts, f.Replica())
	if err != nil {
		return nil, err
	}
	list, err := lw.newList(page.Items, metav1.ListMeta{
		ResourceVersion:    history.FormatVersion(page.Version),
		Continue:           page.Continue,
		RemainingItemCount: page.Remaining,
		ShardInfo:          page.ShardInfo,
	})
	if err != nil || f.EditList == nil {
		return list, err
	}
	return f.EditList(list), nil
}

// Watch opens a watch. It ends when ctx is done, after TimeoutSeconds, by Stop, CloseWatches or
// Restore, after an ERROR event for a version that is no longer in the history, or by a fault.
//
// With SendInitialEvents, and at a resourceVersion of "" or "0" unless that is false, a watch
// starts with the current objects as ADDED events. Any other starts with the first change after its
// version.
//
// As from kube-apiserver, an ERROR event on the open watch reports 410 for a version that is no
// longer in the history. At a version that the collection has not reached, a WatchList gets an
// ERROR event with 504, and any other watch sends nothing until the collection has passed the
// version. A [Fault] can make Watch itself return an error.
func (lw *ListerWatcher[T]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	f := lw.record("watch", opts)
	if err := admit(ctx, opts, f); err != nil {
		return nil, err
	}
	cursor, err := lw.objects.Watch("", opts, f.Replica())
	if err != nil && !history.IsStreamError(err) {
		return nil, err
	}
	s := newStream(cursor, f, lw.remove)
	if err != nil {
		s.finish(err)
	}
	lw.start(ctx, s, opts)
	return s, nil
}

// start registers a stream, starts its timers and sends its first events.
func (lw *ListerWatcher[T]) start(ctx context.Context, s *stream, opts metav1.ListOptions) {
	lw.mu.Lock()
	lw.streams = append(lw.streams, s)
	period := lw.bookmarkPeriod
	lw.mu.Unlock()
	if opts.TimeoutSeconds != nil && !s.fault.Stall {
		s.closeIn(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	if s.fault.CloseIn > 0 {
		s.closeIn(s.fault.CloseIn)
	}
	if period > 0 {
		s.bookmarkEvery(period)
	}
	s.stopWith(ctx)
	s.pump()
}

// record adds a call to Requests and returns its fault.
func (lw *ListerWatcher[T]) record(verb string, opts metav1.ListOptions) fault.Fault {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	lw.requests = append(lw.requests, Request{Verb: verb, Options: *opts.DeepCopy(), Time: time.Now()})
	return lw.faults.Take(APIRequest{Verb: verb})
}

// deliver sends new events to the open watches.
func (lw *ListerWatcher[T]) deliver() {
	for _, s := range lw.open() {
		s.pump()
	}
}

// open returns a copy of the list of open streams.
func (lw *ListerWatcher[T]) open() []*stream {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	return slices.Clone(lw.streams)
}

// remove removes a closed stream. The stream calls it.
func (lw *ListerWatcher[T]) remove(s *stream) {
	lw.mu.Lock()
	defer lw.mu.Unlock()
	if i := slices.Index(lw.streams, s); i >= 0 {
		lw.streams = slices.Delete(lw.streams, i, i+1)
	}
}
