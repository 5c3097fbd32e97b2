// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

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
type stream[V any] struct {
	group     scope.Scope // see groupOf
	request   scope.Request
	held      []*heldScope // guarded by scopes.mu
	sink      *filterSink[V]
	reflector *reflector.Reflector
	joins     bool        // it will replace other streams, once it has caught up; used by the loop only
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

// list starts streams that list scopes: one for each scope, but one for several that differ only in
// their ranges.
func (s *scopes[V]) list(ctx context.Context, added []*heldScope) {
	groups := make(map[scope.Scope][]*heldScope)
	for _, held := range added {
		if held.scope.Hash.Field == "" {
			s.start(ctx, []*heldScope{held}, "")
			continue
		}
		groups[groupOf(held.scope)] = append(groups[groupOf(held.scope)], held)
	}
	for _, held := range groups {
		for _, chunk := range chunks(held, s.isSharded(held)) {
			s.start(ctx, chunk, "")
		}
	}
}

// groupOf returns what scopes whose streams can be joined have in common.
func groupOf(name scope.Scope) scope.Scope {
	name.Hash.First, name.Hash.Last = 0, 0
	return name
}

// start starts a stream that feeds scopes. If from is empty, the stream lists them. Otherwise it
// will replace other streams, and watches from that version.
func (s *scopes[V]) start(ctx context.Context, held []*heldScope, from string) {
	name := held[0].scope
	stream := &stream[V]{group: groupOf(name), request: scope.Join(namesOf(held)), held: held, joins: from != ""}
	stream.proven.Store(!stream.joins)
	stream.sink = &filterSink[V]{
		Feed:  s.informer.store.NewFeed(partsOf(held), locator(name), from),
		store: s.informer.store, filter: s.informer.sink.filter,
		listed: s.signal, changed: func() { s.progressed(stream) },
	}
	config := s.config
	config.Source, config.Sink, config.From = requestSource{config.Source, stream.request, &stream.sharded}, stream.sink, from
	config.NotOlderThan = stream.sink.NotOlderThan
	config.Report = s.reporter(stream, config.Report)
	if stream.joins {
		config.Recovered = nil
	}
	stream.reflector = reflector.New(config)
	ctx, stream.cancel = context.WithCancel(ctx)
	s.mu.Lock()
	s.streams = append(s.streams, stream)
	s.mu.Unlock()
	s.running.Go(func() { s.run(ctx, stream) })
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
func (s *scopes[V]) reporter(stream *stream[V], report func(context.Context, error)) func(context.Context, error) {
	return func(ctx context.Context, err error) {
		if !stream.proven.Load() {
			klog.FromContext(ctx).V(2).Info("Watches were not joined", "scope", stream.request.String(), "err", err)
			s.joinFailed.Store(true)
			stream.cancel()
			s.signal()
			return
		}
		if s.watched.Load() {
			s.signal()
		}
		if report != nil {
			report(ctx, &ScopeError{Scope: stream.request.String(), Namespace: stream.request.Namespace, Err: err})
		}
	}
}

// run runs a stream until its end, and passes it to the loop unless ctx has ended.
func (s *scopes[V]) run(ctx context.Context, stream *stream[V]) {
	stream.err = feed.ErrGoexit
	defer func() {
		feed.LogPanic(klog.FromContext(ctx), stream.err) // the stack is not Run's
		s.forget(stream)
		s.signal() // its group can be joined now
		select {
		case s.ended <- stream:
		case <-ctx.Done(): // it was ended
		}
	}()
	defer feed.RecoverPanic("Run", &stream.err)
	stream.err = stream.reflector.Run(ctx)
}

// forget removes a stream that has ended, and keeps its counts.
func (s *scopes[V]) forget(ended *stream[V]) {
	ended.sink.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	status := ended.reflector.Status()
	s.past = addCounts(s.past, status)
	for _, held := range ended.held {
		held.freshAt = latest(held.freshAt, status.FreshAt)
	}
	s.streams = slices.DeleteFunc(s.streams, func(other *stream[V]) bool { return other == ended })
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// stopStreams detaches all streams from a scope, and ends those that have no others.
func (s *scopes[V]) stopStreams(held *heldScope) {
	for _, stream := range s.streamsOf(held) {
		s.stopFeeding(stream, []*heldScope{held})
	}
}

// streamsOf returns the streams that feed a scope.
func (s *scopes[V]) streamsOf(held *heldScope) (streams []*stream[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.streams {
		if slices.Contains(stream.held, held) {
			streams = append(streams, stream)
		}
	}
	return streams
}

// locator returns how items are assigned to scopes that differ from one only in their ranges. It
// reads only keys and UIDs.
func locator(name scope.Scope) (locate store.Locate) {
	if name.Namespace != "" {
		locate.Accepts = func(item feed.Item) bool { return namespaceOf(item.Key) == name.Namespace }
	}
	switch name.Hash.Field {
	case scope.UID:
		locate.Hash = func(item feed.Item) uint64 { return scope.HashOf(item.UID) }
	case scope.Namespace:
		locate.Hash = func(item feed.Item) uint64 { return scope.HashOf(namespaceOf(item.Key)) }
	}
	return locate
}

func namespaceOf(key string) string {
	namespace, _, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return ""
	}
	return namespace
}
