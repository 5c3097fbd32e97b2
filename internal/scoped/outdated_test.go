// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scoped

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/eventlog"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/store"
)

// laggingSource is empty at version 10. Its first watch begins with the creation of an object that
// was deleted since: by then, deletions has been called, and the collection is at latest.
type laggingSource struct {
	deletions func()
	latest    string
	lists     []metav1.ListOptions
	watches   int
}

func (s *laggingSource) List(_ context.Context, options metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	if s.lists = append(s.lists, options); len(s.lists) == 1 {
		return metav1.ListMeta{ResourceVersion: "10"}, nil
	}
	return metav1.ListMeta{ResourceVersion: s.latest}, nil
}

func (s *laggingSource) Watch(ctx context.Context, _ metav1.ListOptions, events feed.WatchSink) error {
	events.Opened()
	if s.watches++; s.watches == 1 {
		s.deletions()
		if err := events.Event(watch.Added, feed.Item{Key: "k", UID: "k", ResourceVersion: "11"}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func (*laggingSource) Traits() feed.Traits { return feed.Traits{} }

// A watch that lags behind deletions that the store has forgotten ends, and the scope is listed at
// a version that shows them.
func TestOutdatedEventCausesAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.New(store.Config{
			ScopeOf:  new(scope.Set).Of,
			ItemKeys: true,
			Key:      func(key any) (string, error) { return key.(string), nil },
			Decode:   func(item feed.Item) (any, error) { return item.Key, nil },
			Report:   func(key string, err error) { t.Errorf("%s: %v", key, err) },
			Log:      eventlog.New[store.Change](),
		})
		var feeds []*store.Feed
		for range 2 {
			part := s.AddScope(scope.Scope{})
			feeds = append(feeds, s.NewFeed(store.FeedConfig{Scopes: []*store.Scope{part}}))
		}
		ahead, behind := feeds[0], feeds[1]
		if err := ahead.Begin().Commit("10"); err != nil {
			t.Fatal(err)
		}
		version := 10
		apply := func(eventType watch.EventType, key string) {
			version++
			ahead.Apply(eventType, feed.Item{Key: key, UID: key, ResourceVersion: strconv.Itoa(version)})
		}
		source := &laggingSource{}
		source.deletions = func() {
			apply(watch.Added, "k")
			apply(watch.Deleted, "k")
			for n := range 10_000 { // as many as the store remembers
				apply(watch.Added, strconv.Itoa(n))
				apply(watch.Deleted, strconv.Itoa(n))
			}
			source.latest = strconv.Itoa(version)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		r := reflector.New(reflector.Config{Source: source, Sink: behind, NotOlderThan: behind.NotOlderThan})
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if len(source.lists) < 2 || source.lists[1].ResourceVersion != "12" {
			t.Errorf("lists %+v, want a second one that is not older than 12", source.lists)
		}
		if n := s.Len(); n != 0 {
			t.Errorf("%d objects that were deleted are stored", n)
		}
	})
}
