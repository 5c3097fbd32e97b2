// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// stream is a reflector that feeds one or more scopes.
type stream struct {
	group     scope.Scope // of its scopes, without a range
	request   scope.Request
	held      []*heldScope // guarded by Loop.mu
	feed      *store.Feed
	reflector *reflector.Reflector
	state     atomic.Int32
	sharded   atomic.Bool // the last list stated that it has the requested ranges alone
	joinErr   error       // with which it has failed to join others
	err       error       // with which it ended
	cancel    context.CancelFunc

	// The fields below belong to the loop's goroutine.
	from      string    // the version at which it joins others; empty once it has replaced them
	openSince time.Time // when it started, or its watch was last seen not to be open
	successor *stream   // that has replaced it
}

// The states of a stream. A joining one that receives an event, a bookmark or a list, or whose
// watch is open for joinInterval, becomes an owning one. With an error, it becomes a failed one,
// which ends.
const (
	owning  int32 = iota // its feed has the scopes
	joining              // those of other streams still have them
	failed
)

// requestSource restricts the requests of a source.
type requestSource struct {
	feed.Source
	request scope.Request
	sharded *atomic.Bool // see stream.sharded
}

func (s requestSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	list, err := s.Source.List(scope.WithRequest(ctx, s.request), options, add)
	if err == nil {
		s.sharded.Store(list.ShardInfo != nil && s.request.IsAnsweredBy(list.ShardInfo.Selector))
	}
	return list, err
}

func (s requestSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	return s.Source.Watch(scope.WithRequest(ctx, s.request), options, events)
}

// clearableStore is the store of a stream. The loop settles after it was cleared: scopes may wait
// for their removal.
type clearableStore struct {
	reflector.Clearable

	cleared func()
}

func (s clearableStore) Clear(ctx context.Context, why error, confirmed bool) bool {
	defer s.cleared()
	return s.Clearable.Clear(ctx, why, confirmed)
}

// list starts streams that list scopes: one for each scope, but one for several that differ only in
// their ranges.
func (l *Loop) list(ctx context.Context, added []*heldScope) {
	groups := make(map[scope.Scope][]*heldScope)
	for _, held := range added {
		if held.name.Hash.Field == "" {
			l.start(ctx, []*heldScope{held}, "")
			continue
		}
		groups[held.name.WithoutRange()] = append(groups[held.name.WithoutRange()], held)
	}
	for _, held := range groups {
		for _, chunk := range chunks(held, l.isSharded(held)) {
			l.start(ctx, chunk, "")
		}
	}
}

// start starts a stream that feeds scopes. If from is empty, the stream lists them. Otherwise it
// watches from that version, and joins other streams.
func (l *Loop) start(ctx context.Context, held []*heldScope, from string) {
	stream := &stream{group: held[0].name.WithoutRange(), request: scope.Join(namesOf(held)), held: held, from: from, openSince: l.clock.Now()}
	if from != "" {
		stream.state.Store(joining)
	}
	stream.feed = l.store.NewFeed(store.FeedConfig{
		Scopes: partsOf(held), From: from, Listed: l.signal,
		Progressed: func() {
			if stream.state.CompareAndSwap(joining, owning) || l.watched.Load() {
				l.signal()
			}
		},
	})
	config := l.config.Reflector
	config.Source, config.Sink, config.From = requestSource{config.Source, stream.request, &stream.sharded}, stream.feed, from
	config.NotOlderThan = stream.feed.NotOlderThan
	config.Store = clearableStore{config.Store, l.signal}
	config.Report = l.reporter(stream, config.Report)
	stream.reflector = reflector.New(config)
	streaming, cancel := context.WithCancel(ctx)
	stream.cancel = cancel
	l.mu.Lock()
	l.streams = append(l.streams, stream)
	l.mu.Unlock()
	l.running.Go(func() {
		l.run(streaming, stream)
		select {
		case l.ended <- stream:
		case <-ctx.Done():
		}
	})
}

// ScopeError is an error of the reflector that feeds a scope.
type ScopeError struct {
	Scope     string
	Namespace string // of the scope, if it has one
	Err       error
}

// Error names the scope.
func (e *ScopeError) Error() string { return "scope of " + e.Scope + ": " + e.Err.Error() }

// Cause returns the text of the reflector's error without the namespace, so that the errors of
// several namespaces that have one cause are equal.
func (e *ScopeError) Cause() string {
	if e.Namespace == "" {
		return e.Err.Error()
	}
	return strings.NewReplacer("/namespaces/"+e.Namespace+"/", "/namespaces/", strconv.Quote(e.Namespace), "").Replace(e.Err.Error())
}

// Unwrap returns the reflector's error.
func (e *ScopeError) Unwrap() error { return e.Err }

// reporter returns a stream's Report function. Its errors name the stream's scopes. If a stream
// fails before it has replaced others, the function ends that stream instead, and the others go on.
func (l *Loop) reporter(stream *stream, report func(context.Context, error)) func(context.Context, error) {
	return func(ctx context.Context, err error) {
		if stream.state.CompareAndSwap(joining, failed) {
			stream.joinErr = err
			stream.cancel()
			return
		}
		if l.watched.Load() {
			l.signal()
		}
		if report != nil {
			report(ctx, &ScopeError{Scope: stream.request.String(), Namespace: stream.request.Namespace, Err: err})
		}
	}
}

// run runs a stream until its end.
func (l *Loop) run(ctx context.Context, stream *stream) {
	stream.err = feed.ErrGoexit
	defer func() { feed.LogPanic(klog.FromContext(ctx), stream.err) }() // the stack is not Run's
	defer feed.RecoverPanic("Run", &stream.err)
	stream.err = stream.reflector.Run(ctx)
}

// forget removes a stream that has ended. It keeps its counts, and passes on what its history
// remembers.
func (l *Loop) forget(ctx context.Context, ended *stream) {
	if ended.state.Load() == failed {
		l.noteFailedJoin(ctx, ended)
	}
	if ended.successor != nil {
		ended.successor.reflector.Inherit(ended.reflector)
	}
	ended.feed.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	status := ended.reflector.Status()
	l.requests = l.requests.Add(status.Requests.Ended())
	for _, held := range ended.held {
		held.freshAt = latest(held.freshAt, status.FreshAt)
	}
	l.streams = slices.DeleteFunc(l.streams, func(other *stream) bool { return other == ended })
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// streamOf returns the stream that feeds a scope, nil if there is none.
func (l *Loop) streamOf(held *heldScope) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range l.streams {
		if stream.state.Load() == owning && slices.Contains(stream.held, held) {
			return stream
		}
	}
	return nil
}
