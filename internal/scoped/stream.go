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
	joins     bool        // it will replace other streams, once it has caught up; used by the loop's goroutine alone
	proven    atomic.Bool // it has received an event or a bookmark, or started with a list
	sharded   atomic.Bool // the last list stated that it has the requested ranges alone
	err       error       // with which it ended
	cancel    context.CancelFunc
}

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

// vacatableStore is the store of a stream. The loop settles after it was vacated: scopes may wait
// for their removal.
type vacatableStore struct {
	reflector.Vacatable

	vacated func()
}

func (s vacatableStore) Vacate(ctx context.Context, why error, confirmed bool) bool {
	defer s.vacated()
	return s.Vacatable.Vacate(ctx, why, confirmed)
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
// will replace other streams, and watches from that version.
func (l *Loop) start(ctx context.Context, held []*heldScope, from string) {
	stream := &stream{group: held[0].name.WithoutRange(), request: scope.Join(namesOf(held)), held: held, joins: from != ""}
	stream.proven.Store(!stream.joins)
	stream.feed = l.store.NewFeed(store.FeedConfig{
		Scopes: partsOf(held), From: from, Listed: l.signal,
		Progressed: func() {
			if stream.proven.CompareAndSwap(false, true) || l.watched.Load() {
				l.signal()
			}
		},
	})
	config := l.config.Reflector
	config.Source, config.Sink, config.From = requestSource{config.Source, stream.request, &stream.sharded}, stream.feed, from
	config.NotOlderThan = stream.feed.NotOlderThan
	config.Store = vacatableStore{config.Store, l.signal}
	config.Report = l.reporter(stream, config.Report)
	if stream.joins {
		config.Recovered = nil
	}
	stream.reflector = reflector.New(config)
	ctx, stream.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	l.streams = append(l.streams, stream)
	l.mu.Unlock()
	l.running.Go(func() { l.run(ctx, stream) })
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
		if !stream.proven.Load() {
			klog.FromContext(ctx).V(2).Info("Watches were not joined", "scope", stream.request.String(), "err", err)
			l.joinFailed.Store(true)
			stream.cancel()
			l.signal()
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

// run runs a stream until its end, and passes it to the loop unless ctx has ended.
func (l *Loop) run(ctx context.Context, stream *stream) {
	stream.err = feed.ErrGoexit
	defer func() {
		feed.LogPanic(klog.FromContext(ctx), stream.err) // the stack is not Run's
		l.forget(stream)
		l.signal() // its group can be joined now
		select {
		case l.ended <- stream:
		case <-ctx.Done(): // it was ended
		}
	}()
	defer feed.RecoverPanic("Run", &stream.err)
	stream.err = stream.reflector.Run(ctx)
}

// forget removes a stream that has ended, and keeps its counts.
func (l *Loop) forget(ended *stream) {
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

func (l *Loop) streamsOf(held *heldScope) (streams []*stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range l.streams {
		if slices.Contains(stream.held, held) {
			streams = append(streams, stream)
		}
	}
	return streams
}
