// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/storewriter"
)

// ItemReplacer is an optional interface of the store of a [Reflector]: it replaces the store's
// whole content, one object at a time. The reflector uses it for each complete list instead of
// Replace. With [Options].Streaming, only a few objects of a list are then in memory besides those
// that the store keeps.
type ItemReplacer interface {
	// BeginReplace is called before each request for the complete content: the initial list, a
	// relist, and every attempt to repeat one of them. The store's content must not change until
	// Commit. An earlier replacement that was not committed is void.
	BeginReplace() ItemReplacement
}

// ItemReplacement is the new content of a store while it arrives. Its methods, and those of the
// store except Resync, are called one at a time.
type ItemReplacement interface {
	// Add adds an object to the new content, in place of an earlier state of that object. An error
	// is logged, and the list goes on.
	Add(obj any) error
	// Delete removes an object from the new content. It is called for an object that was deleted
	// while a WatchList sent the initial state. An error is logged.
	Delete(obj any) error
	// Commit makes the new content the whole content of the store, in one step for its readers.
	// resourceVersion is that of the list. It is the last call. If Commit returns an error, the
	// list has failed and is repeated; the store's content must be unchanged.
	Commit(resourceVersion string) error
}

// storeSink is the sink of a Reflector: it writes to a store of client-go's interface, and passes
// on the versions.
type storeSink struct {
	*storewriter.Sink[any]

	store clientcache.ReflectorStore
	errs  *objectLog

	// reached is the last resourceVersion. After a list without a version, unordered is true until
	// the first event other than ADDED: the events before are the initial state in no order.
	reached   string
	unordered bool
}

func newStoreSink(store clientcache.ReflectorStore, objects codec.ObjectType, errs *objectLog) *storeSink {
	config := storewriter.Config[any]{
		Store:  store,
		Get:    func(feed.Item) (any, bool, error) { return nil, false, nil }, // the store cannot be read
		GoType: objects.GoType,
		Report: errs.report,
	}
	if store, ok := store.(interface {
		GetByKey(key string) (item any, exists bool, err error)
	}); ok {
		config.Get = func(item feed.Item) (any, bool, error) { return store.GetByKey(item.Key) }
	}
	if store, ok := store.(clientcache.TransformingStore); ok && store.Transformer() != nil {
		config.Transform = store.Transformer()
	}
	if store, ok := store.(ItemReplacer); ok {
		config.Begin = func() storewriter.List[any] { return store.BeginReplace() }
	}
	return &storeSink{Sink: storewriter.New(config), store: store, errs: errs}
}

func (s *storeSink) Apply(eventType watch.EventType, item feed.Item) feed.Outcome {
	outcome := s.Sink.Apply(eventType, item)
	if outcome == feed.Applied {
		s.unordered = s.unordered && eventType == watch.Added
		s.advance(item)
	}
	return outcome
}

// AdvanceVersion passes on the version of a bookmark.
func (s *storeSink) AdvanceVersion(resourceVersion string) {
	if store, ok := s.store.(clientcache.ReflectorBookmarkStore); ok {
		if err := store.Bookmark(resourceVersion); err != nil {
			s.errs.current().Error(err, "Failed to pass a bookmark to the store")
		}
	}
	s.unordered = false
	s.advance(feed.Item{ResourceVersion: resourceVersion})
}

// advance passes the version reached by an event on to a store that wants it.
func (s *storeSink) advance(item feed.Item) {
	resourceVersion := item.ResourceVersion
	if s.unordered || item.Unordered || !item.InOrder && feed.IsOlder(resourceVersion, s.reached) {
		return
	}
	s.reached = resourceVersion
	if store, ok := s.store.(clientcache.ResourceVersionUpdater); ok {
		store.UpdateResourceVersion(resourceVersion)
	}
}

func (s *storeSink) Begin() feed.Replacement { return replacement{s.Sink.Begin(), s} }

// replacement is a list that sets the version reached.
type replacement struct {
	feed.Replacement

	sink *storeSink
}

func (r replacement) Commit(resourceVersion string) error {
	err := r.Replacement.Commit(resourceVersion)
	if err == nil {
		r.sink.reached = resourceVersion
		r.sink.unordered = resourceVersion == "" || resourceVersion == "0"
	}
	return err
}
